// Table of contents of context/: what fills a model's window, and what makes room in it. Pure
// functions over entries and messages; no files, no loop.
//
//   estimate.h    estimate, Estimator   how many tokens something is
//   cut.h         choose_cut            where a compaction cuts
//   files.h       files_of              which files were read and changed
//   facts.h       find_facts            what a summary must still say
//   summary.h     Prefix, accept        what a summariser is asked, and whether its answer will do
//   prune.h       prune                 old tool results, shortened in a request
//   silent.h      SilentGate            a reply that is not for anybody
#pragma once

#include "context/cut.h"
#include "context/estimate.h"
#include "context/facts.h"
#include "context/files.h"
#include "context/prune.h"
#include "context/silent.h"
#include "context/summary.h"
