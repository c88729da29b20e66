// Table of contents of skills/: folders with a SKILL.md by the rules of agentskills.io
// (docs/skills.md). It knows nothing about agents.
//
//   front_matter.h   read_front_matter   the part of YAML these files use
//   skill.h          Skill, parse_skill  one SKILL.md, its rules and limits
//   allowed_tools.h  allows              which calls allowed-tools lets through
//   shelf.h          Shelf               all skills of the configured folders
//   library.h        Library             the shelf for the loop
#pragma once

#include "skills/allowed_tools.h"
#include "skills/front_matter.h"
#include "skills/library.h"
#include "skills/shelf.h"
#include "skills/skill.h"
