// Any file of a dumped memory must be accepted or refused with a reason; what was accepted must be
// the same after another dump and load. The first line is the file's name.
#include <cstddef>
#include <cstdint>

#include "base/assert.h"
#include "memory/dump.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace reef::memory;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto line = bytes.substr(0, bytes.find('\n'));
  const auto text = bytes.substr(std::min(size, line.size() + 1));
  const auto contents = from_tree({{"notes/" + std::string(line) + ".md", std::string(text)},
                                   {"archives/other.md", std::string(text)},
                                   {"memory.json", std::string(line)}},
                                  7);
  const auto alone = from_tree({{"notes/" + std::string(line) + ".md", std::string(text)}}, 7);
  for (const auto* loaded : {&contents, &alone}) {
    if (!*loaded) {
      REEF_ASSERT(loaded->error().code == reef::Errc::invalid ||
                  loaded->error().code == reef::Errc::too_large);
      continue;
    }
    const auto again = from_tree(to_tree(**loaded), 8);
    REEF_ASSERT(again.ok());
    REEF_ASSERT(*serialize(*again) == *serialize(**loaded));
    REEF_ASSERT(*parse(*serialize(**loaded)) == **loaded);
  }
  return 0;
}
