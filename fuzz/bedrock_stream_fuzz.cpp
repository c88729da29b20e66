// The input is a list of frames without lengths and checksums (u8 kind, u8 length, payload); these
// are added here, so that the code behind the checks is fuzzed.
#include "decoder_fuzz.h"
#include "model/bedrock/bedrock.h"
#include "model/bedrock/event_stream.h"

namespace {

using reef::model::bedrock::crc32;

std::string number(std::size_t value, int bytes) {
  std::string out;
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>((value >> (8 * i)) & 0xFF);
  return out;
}

std::string frame(std::string_view name, std::string_view value, std::string_view payload) {
  const auto header = [](std::string_view key, std::string_view text) {
    return number(key.size(), 1) + std::string(key) + '\7' + number(text.size(), 2) +
           std::string(text);
  };
  const bool exception = name == ":exception-type";
  const auto head =
      header(":message-type", exception ? "exception" : "event") + header(name, value);
  auto out = number(16 + head.size() + payload.size(), 4) + number(head.size(), 4);
  out += number(crc32(out), 4);
  out += head;
  out += payload;
  return out + number(crc32(out), 4);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const reef::model::BedrockCodec codec({"us-east-1", "http://localhost", "k", {}});
  constexpr std::string_view kEvents[] = {"messageStart",      "contentBlockStart",
                                          "contentBlockDelta", "contentBlockStop",
                                          "messageStop",       "metadata"};
  std::string bytes;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  while (rest.size() >= 2) {
    const auto kind = static_cast<unsigned char>(rest[0]) % 7U;
    const auto payload = rest.substr(2, static_cast<unsigned char>(rest[1]));
    rest.remove_prefix(2 + payload.size());
    bytes += kind < 6 ? frame(":event-type", kEvents[kind], payload)
                      : frame(":exception-type", "throttlingException", payload);
  }
  reef::model::fuzz_decoder(codec, reinterpret_cast<const std::uint8_t*>(bytes.data()),
                            bytes.size());
  return 0;
}
