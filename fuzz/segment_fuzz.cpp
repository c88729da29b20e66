// Reads a segment with wrong content but correct checksums: reading must stay inside it.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unistd.h>

#include "base/assert.h"
#include "search/build.h"
#include "search/cursor.h"

namespace {

using namespace reef;
using namespace reef::search;

constexpr std::uint32_t kDocuments = 300;

std::string make_content() {
  auto memory = std::make_shared<MemorySegment>();
  Tokenizer tokenizer;
  for (std::uint32_t d = 0; d < kDocuments; ++d) {
    const auto text = "paint painted word" + std::to_string(d % 40) + " number" + std::to_string(d);
    const FieldText fields[] = {{1, text}, {2, "title paint"}};
    memory->add({.group = d / 50, .key = d, .time_ms = d, .facets = d % 3},
                std::span(fields).first(d % 7 == 0 ? 2 : 1), tokenizer);
  }
  PosixFiles files;
  const auto path = "/tmp/segment_fuzz." + std::to_string(::getpid());
  Build build(files, path, {{.source = {.memory = memory, .file = nullptr}, .deleted = {}}},
              {1, 2});
  for (;;) {
    const auto done = build.step(1'000'000);
    REEF_ASSERT(done.ok());
    if (*done) break;
  }
  auto file = CheckedFile::open(files, path, build.bytes());
  REEF_ASSERT(file.ok());
  std::string out((*file)->content());
  REEF_ASSERT(files.remove(path).ok());
  return out;
}

void read_everything(const Segment& segment) {
  const FieldScales scales({}, segment.statistics());
  Postings postings;
  std::vector<std::uint32_t> positions;
  auto walk = segment.vocabulary().walk();
  for (std::size_t terms = 0; terms < 2000 && walk.next(); ++terms) {
    const auto entry = segment.entry(walk.entry());
    if (!entry) continue;
    static_cast<void>(segment.read(*entry, postings));
    Cursor cursor(segment, *entry, 1);
    std::uint32_t before = 0;
    for (auto d = cursor.seek(0); d != Cursor::kEnd; d = cursor.seek(d + 1)) {
      REEF_ASSERT(d < segment.size() && d >= before);
      before = d;
      static_cast<void>(scales.impact(segment.lengths(), d, cursor.payload()));
      static_cast<void>(cursor.bound(d, d + 100));
      if (d % 16 == 0) static_cast<void>(cursor.positions(positions));
      static_cast<void>(segment.row(d));
    }
  }
  for (const auto* term : {"paint", "title", "number7", "", "zzz"}) {
    static_cast<void>(segment.find(term));
    for (const auto number : segment.with_stem(term))
      static_cast<void>(segment.vocabulary().at(number));
    auto from = segment.vocabulary().walk_from(term);
    static_cast<void>(from.next());
  }
  for (std::uint32_t group = 0; group < 8; ++group) {
    const auto [begin, end] = segment.of_group(group);
    REEF_ASSERT(begin <= end && end <= segment.size());
    static_cast<void>(segment.lower_bound(begin, end, group * 60));
  }
}

}  // namespace

// Each patch of the content has two bytes of place (from the end if the first bit is set) and one
// of value.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string valid = make_content();
  auto content = valid;
  for (std::size_t i = 0; i + 2 < size; i += 3) {
    const std::size_t place = (std::size_t{data[i] & 0x7FU} << 8 | data[i + 1]) % content.size();
    content[(data[i] & 0x80) != 0 ? content.size() - 1 - place : place] =
        static_cast<char>(data[i + 2]);
  }
  const auto file = seal(std::move(content));
  auto checked = CheckedFile::over(file);
  REEF_ASSERT(checked.ok());
  auto segment = Segment::open(*std::move(checked));
  if (segment) read_everything(**segment);
  return 0;
}
