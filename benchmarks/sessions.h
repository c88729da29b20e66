// The tables of the group `sessions`. Each function measures, prints and leaves nothing running.
#pragma once

#include <string>

#include "base/result.h"
#include "pi.h"

namespace reef::benchmarks {

// Each makes its files under `scratch`.
Status print_appends(const std::string& scratch);
Status print_contexts(const std::string& scratch, const Result<Pi>& pi);
Status print_lists(const std::string& scratch, const Result<Pi>& pi);

// Runs in a separate process, so that its peak of memory is that of opening one session; prints
// what Pi::open prints. Returns an exit code.
int open_context_here(const std::string& home, const std::string& id);

}  // namespace reef::benchmarks
