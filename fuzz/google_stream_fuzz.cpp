#include "decoder_fuzz.h"
#include "model/google/google.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const reef::model::GoogleCodec codec(reef::model::GoogleOptions{"http://localhost", "k"});
  reef::model::fuzz_decoder(codec, data, size);
  return 0;
}
