// Table of contents of hooks/: what agents can do beside talking, one folder each.
//
//   ask_user/ask_user_hook.h  ask_user
//   memory/memory_hook.h      remember, forget, recall
//   sessions/sessions_hook.h  search_sessions, list_messages
#pragma once

#include "hooks/ask_user/ask_user_hook.h"
#include "hooks/memory/memory_hook.h"
#include "hooks/sessions/sessions_hook.h"
