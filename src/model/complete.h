// A reply for whom nobody watches: summaries, titles, tests of a provider.
#pragma once

#include "model/provider.h"

namespace reef::model {

// The whole reply. Cancelled as Provider::stream is; both outlive the task.
Task<Outcome> complete(Provider& provider, const Request& request);

}  // namespace reef::model
