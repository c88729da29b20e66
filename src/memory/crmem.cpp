#include "memory/crmem.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "base/utf8.h"

namespace reef::memory {
namespace {

constexpr std::string_view kMagic("CRMEM\0", 6);
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHeaderBytes = 16;
constexpr std::size_t kBodyHeadBytes = 8 + 4;
// The size of an entry with empty texts and no aliases.
constexpr std::size_t kEntryBytesMin = 8 + 8 + 4 + 4 + 4 + 4;

Error bad_format(std::size_t at, std::string_view why) {
  return Error(Errc::corrupt, fmt::format("bad CRMEM format: byte {}: {}", at, why));
}

// Reads forward; every error names the byte and what was expected there.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  std::size_t at() const { return at_; }
  std::size_t left() const { return bytes_.size() - at_; }

  Result<std::string_view> take(std::uint64_t size, std::string_view what) {
    if (size > left())
      return bad_format(
          at_, fmt::format("the file ends in {} ({} bytes wanted, {} left)", what, size, left()));
    const auto taken = bytes_.substr(at_, size);
    at_ += size;
    return taken;
  }

  template <class T>
  Result<T> number(std::string_view what) {
    REEF_TRY(const auto taken, take(sizeof(T), what));
    T value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i)
      value |= static_cast<T>(static_cast<T>(static_cast<unsigned char>(taken[i])) << (8 * i));
    return value;
  }

  Result<std::string> text(std::string_view what) {
    REEF_TRY(const auto size, number<std::uint32_t>(what));
    const auto start = at_;
    REEF_TRY(const auto taken, take(size, what));
    if (!utf8::valid(taken)) return bad_format(start, fmt::format("{} is not valid UTF-8", what));
    return std::string(taken);
  }

  // Each item takes at least `bytes_min`, so a count beyond the bytes left is refused before it is
  // used.
  Result<std::uint32_t> count(std::size_t bytes_min, std::string_view what) {
    const auto start = at_;
    REEF_TRY(const auto count, number<std::uint32_t>(what));
    if (count > left() / bytes_min)
      return bad_format(start, fmt::format("{} is {}, more than the {} bytes that follow can hold",
                                           what, count, left()));
    return count;
  }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

Status read_header(Reader& reader) {
  REEF_TRY(const auto magic, reader.take(kMagic.size(), "the magic"));
  if (magic != kMagic) return bad_format(0, "the magic is not CRMEM");
  REEF_TRY(const auto version, reader.number<std::uint32_t>("the version"));
  if (version != kVersion)
    return bad_format(6, fmt::format("version {} is not known, only {}", version, kVersion));
  REEF_TRY(const auto flags, reader.number<std::uint16_t>("the flags"));
  if (flags != 0) return bad_format(10, fmt::format("unknown flags {:#x}", flags));
  REEF_TRY(const auto reserved, reader.number<std::uint32_t>("the header"));
  if (reserved != 0) return bad_format(12, "the reserved bytes are not zero");
  return Ok{};
}

Result<Entry> read_entry(Reader& reader) {
  Entry entry;
  REEF_TRY(entry.id, reader.number<std::uint64_t>("its id"));
  REEF_TRY(entry.created_at, reader.number<std::uint64_t>("its time"));
  const auto kind_at = reader.at();
  REEF_TRY(const auto kind, reader.number<std::uint32_t>("its kind"));
  if (kind > static_cast<std::uint32_t>(Kind::topic))
    return bad_format(kind_at, fmt::format("unknown kind {}", kind));
  entry.kind = static_cast<Kind>(kind);
  REEF_TRY(entry.name, reader.text("its name"));
  REEF_TRY(entry.content, reader.text("its content"));
  REEF_TRY(const auto aliases, reader.count(4, "its number of aliases"));
  entry.aliases.reserve(aliases);
  for (std::uint32_t i = 0; i < aliases; ++i) {
    REEF_TRY(auto alias, reader.text("an alias"));
    entry.aliases.push_back(std::move(alias));
  }
  return entry;
}

template <class T>
void put(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i)
    out.push_back(static_cast<char>(static_cast<unsigned char>(value >> (8 * i))));
}

Status put_count(std::string& out, std::size_t count, std::string_view what) {
  if (count > std::numeric_limits<std::uint32_t>::max())
    return Error(Errc::too_large, fmt::format("{} {} are more than CRMEM can hold", count, what));
  put(out, static_cast<std::uint32_t>(count));
  return Ok{};
}

Status put_text(std::string& out, std::string_view text) {
  REEF_CHECK(put_count(out, text.size(), "bytes of text"));
  out += text;
  return Ok{};
}

}  // namespace

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::note:
      return "note";
    case Kind::archive:
      return "archive";
    case Kind::topic:
      break;
  }
  return "topic";
}

EntryPtr Contents::find(std::string_view name) const {
  for (const auto& entry : entries)
    if (entry->name == name) return entry;
  for (const auto& entry : entries)
    if (std::find(entry->aliases.begin(), entry->aliases.end(), name) != entry->aliases.end())
      return entry;
  return nullptr;
}

bool operator==(const Contents& a, const Contents& b) {
  return a.next_id == b.next_id &&
         std::equal(a.entries.begin(), a.entries.end(), b.entries.begin(), b.entries.end(),
                    [](const EntryPtr& x, const EntryPtr& y) { return *x == *y; });
}

Result<Contents> parse(std::string_view bytes) {
  Reader reader(bytes);
  REEF_CHECK(read_header(reader));
  Contents contents;
  REEF_TRY(contents.next_id, reader.number<std::uint64_t>("the next id"));
  REEF_TRY(const auto count, reader.count(kEntryBytesMin, "the number of entries"));
  contents.entries.reserve(count);
  std::unordered_set<std::string_view> names;
  std::unordered_set<std::uint64_t> ids;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto start = reader.at();
    const auto where = fmt::format("entry {} of {}", i + 1, count);
    auto entry = read_entry(reader);
    if (!entry) return std::move(entry).error().with(where);
    contents.entries.push_back(std::make_shared<const Entry>(*std::move(entry)));
    const auto& kept = *contents.entries.back();
    if (!ids.insert(kept.id).second)
      return bad_format(start, fmt::format("id {} is there twice", kept.id)).with(where);
    if (!names.insert(kept.name).second)
      return bad_format(start, fmt::format("name '{}' is there twice", utf8::excerpt(kept.name)))
          .with(where);
  }
  if (reader.left() > 0)
    return bad_format(reader.at(), fmt::format("{} bytes follow the last entry", reader.left()));
  const auto by_id = [](const EntryPtr& a, const EntryPtr& b) { return a->id < b->id; };
  if (!std::is_sorted(contents.entries.begin(), contents.entries.end(), by_id)) {
    for (const auto& entry : contents.entries) contents.order.push_back(entry->id);
    std::sort(contents.entries.begin(), contents.entries.end(), by_id);
  }
  return contents;
}

std::vector<EntryPtr> in_file_order(const Contents& contents) {
  if (contents.order.empty()) return contents.entries;
  std::unordered_map<std::uint64_t, EntryPtr> left;
  for (const auto& entry : contents.entries) left.emplace(entry->id, entry);
  std::vector<EntryPtr> out;
  out.reserve(contents.entries.size());
  for (const auto id : contents.order)
    if (auto found = left.extract(id)) out.push_back(std::move(found.mapped()));
  for (const auto& entry : contents.entries)
    if (left.contains(entry->id)) out.push_back(entry);
  return out;
}

std::uint64_t serialized_bytes(const Contents& contents) {
  std::uint64_t bytes = kHeaderBytes + kBodyHeadBytes;
  for (const auto& entry : contents.entries) {
    bytes += kEntryBytesMin + entry->name.size() + entry->content.size();
    for (const auto& alias : entry->aliases) bytes += 4 + alias.size();
  }
  return bytes;
}

Result<std::string> serialize(const Contents& contents) {
  std::string out;
  out.reserve(serialized_bytes(contents));
  out += kMagic;
  put(out, kVersion);
  put(out, std::uint16_t{0});
  put(out, std::uint32_t{0});
  put(out, contents.next_id);
  REEF_CHECK(put_count(out, contents.entries.size(), "entries"));
  for (const auto& entry : in_file_order(contents)) {
    put(out, entry->id);
    put(out, entry->created_at);
    put(out, static_cast<std::uint32_t>(entry->kind));
    REEF_CHECK(put_text(out, entry->name));
    REEF_CHECK(put_text(out, entry->content));
    REEF_CHECK(put_count(out, entry->aliases.size(), "aliases"));
    for (const auto& alias : entry->aliases) REEF_CHECK(put_text(out, alias));
  }
  return out;
}

}  // namespace reef::memory
