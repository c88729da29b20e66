// The first byte selects the API: 'r' is Responses, anything else Chat Completions.
#include "decoder_fuzz.h"
#include "model/openai/openai.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace reef::model;
  static const auto endpoint = openai::endpoint_at("http://localhost", "k");
  static const openai::ChatCodec chat(openai::ChatSettings{endpoint});
  static const openai::ResponsesCodec responses(endpoint);
  if (size == 0) return 0;
  if (data[0] == 'r') {
    fuzz_decoder(responses, data + 1, size - 1);
  } else {
    fuzz_decoder(chat, data + 1, size - 1);
  }
  return 0;
}
