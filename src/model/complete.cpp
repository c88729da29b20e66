#include "model/complete.h"

namespace reef::model {

Task<Outcome> complete(Provider& provider, const Request& request) {
  const DeltaSink nobody = [](const Delta&) {};
  co_return co_await provider.stream(request, nobody);
}

}  // namespace reef::model
