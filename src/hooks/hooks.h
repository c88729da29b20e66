// Table of contents of hooks/: what agents can do besides talking, one folder each.
//
//   ask_user/ask_user_hook.h          ask_user
//   delegate/delegate_hook.h          delegate
//   instructions/instructions_hook.h  Reef.md and AGENTS.md of a turn's folder
//   mcp/mcp_hook.h                    tools, resources and prompts of MCP servers
//   memory/memory_hook.h              remember, forget, recall
//   os/os_hook.h                      bash, read, write, edit, ls, grep, glob, submit_plan
//   sessions/sessions_hook.h          search_sessions, list_messages
//   skill/skill_hook.h                skill, /name
//   tasks/tasks_hook.h                lists turns and tool calls among what runs
//   title/title_hook.h                set_title
#pragma once

#include "hooks/ask_user/ask_user_hook.h"
#include "hooks/delegate/delegate_hook.h"
#include "hooks/instructions/instructions_hook.h"
#include "hooks/mcp/mcp_hook.h"
#include "hooks/memory/memory_hook.h"
#include "hooks/os/os_hook.h"
#include "hooks/sessions/sessions_hook.h"
#include "hooks/skill/skill_hook.h"
#include "hooks/tasks/tasks_hook.h"
#include "hooks/title/title_hook.h"
