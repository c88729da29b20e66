// Table of contents of hooks/: what agents can do beside talking, one folder each.
//
//   memory/memory_hook.h      remember, forget, recall
//   os/os_hook.h              bash, read, write, edit, ls, grep, glob, submit_plan
//   sessions/sessions_hook.h  search_sessions, list_messages
#pragma once

#include "hooks/memory/memory_hook.h"
#include "hooks/os/os_hook.h"
#include "hooks/sessions/sessions_hook.h"
