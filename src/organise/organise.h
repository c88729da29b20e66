// Table of contents of organise/: how sessions are sorted. docs/organise.md.
//
//   statuses.h      Statuses         statuses.toml: open and closed
//   labels.h        Labels           labels.toml: the tree, typed values, rules
//   rules.h         Rule             rules that find labels in a user's words
//   values.h        number_from ...  numbers and dates people write
//   filter.h        Filter           status:todo label:priority>=2 idle>3d
//   views.h         Views            views.toml: filters with a name
//   definitions.h   Definitions      the three files of a home: read, watched, changed
//   changes.h       Changes          changes of a session's metadata, checked first
#pragma once

#include "organise/changes.h"
#include "organise/definitions.h"
#include "organise/filter.h"
