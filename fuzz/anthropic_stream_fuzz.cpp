#include "decoder_fuzz.h"
#include "model/anthropic/anthropic.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const reef::model::AnthropicCodec codec(
      reef::model::AnthropicOptions{"http://localhost", "k"});
  reef::model::fuzz_decoder(codec, data, size);
  return 0;
}
