// Table of contents of context/: measures what fills a model's window and makes room in it. Pure
// functions over entries and messages; no files, no loop.
//
//   estimate.h    estimate, Estimator   how many tokens something is
//   cut.h         choose_cut            where a compaction cuts
//   files.h       files_of              which files were read and changed
//   facts.h       find_facts            facts that a summary must keep
//   summary.h     summary_words         the request to a summariser, and the check of its answer
//   prune.h       prune                 old tool results, shortened in a request
//   silent.h      SilentGate            replies that are for nobody
#pragma once

#include "context/cut.h"
#include "context/estimate.h"
#include "context/facts.h"
#include "context/files.h"
#include "context/prune.h"
#include "context/silent.h"
#include "context/summary.h"
