// A reply without a stream: for summaries, titles and tests of a provider.
#pragma once

#include "model/provider.h"

namespace reef::model {

// Returns the whole reply. Cancelled like Provider::stream; both arguments must outlive the task.
Task<Outcome> complete(Provider& provider, const Request& request);

}  // namespace reef::model
