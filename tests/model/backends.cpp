#include "model/backends.h"

namespace reef::model::test {

std::vector<Backend> all_backends() {
  return {openai_chat(), openai_responses(), azure_dated()};
}

}  // namespace reef::model::test
