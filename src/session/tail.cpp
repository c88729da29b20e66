#include "session/tail.h"

#include <algorithm>

#include "base/text.h"
#include "session/transcript.h"

namespace reef::session {
namespace {

constexpr std::uint64_t kBlockBytes = 64U << 10;

// Reads lines from the last to the first.
class BackwardLines {
 public:
  explicit BackwardLines(const ByteSource& source) : source_(source), at_(source.size) {}

  std::uint64_t bytes_read() const { return bytes_read_; }
  // nullopt before the first line.
  Result<std::optional<std::string>> next() {
    if (done_) return std::optional<std::string>();
    if (first_) {
      first_ = false;
      // The newline that ends the file ends its last line and begins none.
      REEF_CHECK(fill());
      if (!held_.empty() && held_.back() == '\n') held_.pop_back();
      if (held_.empty() && at_ == 0) {
        done_ = true;
        return std::optional<std::string>();
      }
    }
    for (;;) {
      const auto newline = held_.rfind('\n');
      if (newline != std::string::npos) {
        std::optional<std::string> line(held_.substr(newline + 1));
        held_.resize(newline);
        return line;
      }
      if (at_ == 0) {
        done_ = true;
        std::optional<std::string> line(std::move(held_));
        held_.clear();
        return line;
      }
      REEF_CHECK(fill());
    }
  }

 private:
  Status fill() {
    const auto size = std::min(at_, std::max<std::uint64_t>(kBlockBytes, held_.size()));
    if (size == 0) return Ok{};
    REEF_TRY(auto block, source_.read(at_ - size, size));
    if (block.size() != size)
      return Error(Errc::io, "the transcript became shorter while it was read");
    bytes_read_ += size;
    at_ -= size;
    held_.insert(0, block);
    return Ok{};
  }

  const ByteSource& source_;
  std::uint64_t at_;  // everything from here on has been read
  std::string held_;  // read and not yet returned
  std::uint64_t bytes_read_ = 0;
  bool first_ = true;
  bool done_ = false;
};

// Returns the branch from where the context begins to the leaf; nullopt when only the forward
// reader can tell.
Result<std::optional<std::vector<Entry>>> read_branch(BackwardLines& lines) {
  const std::optional<std::vector<Entry>> cannot_tell;
  std::vector<Entry> branch;  // leaf first
  std::optional<std::string> wanted;
  std::optional<std::string> stop_at;
  for (;;) {
    REEF_TRY(const auto line, lines.next());
    if (!line) return cannot_tell;  // the parent was not found, or there is no header
    const auto text = trim(*line, kBlanks);
    if (text.empty()) continue;
    auto parsed = json::parse_lenient(text);
    if (!parsed || !parsed->is_object()) return cannot_tell;
    auto& body = parsed->get_object();
    if (header_from(body)) return cannot_tell;
    const auto* parent = body.if_contains("parentId");
    const bool linked = parent && (parent->is_null() || parent->is_string());
    auto entry = entry_from(std::move(body));
    if (!entry || entry->id.text.empty() || !linked) return cannot_tell;

    if (!branch.empty() && entry->id.text != wanted) continue;
    const bool is_root = !entry->parent;
    if (!is_root) wanted = entry->parent->text;
    if (entry->type == "compaction" && !stop_at) stop_at = std::string(first_kept(*entry));
    const bool is_last = stop_at && entry->id.text == *stop_at;
    branch.push_back(std::move(*entry));
    if (is_root || is_last) break;
  }
  std::reverse(branch.begin(), branch.end());
  return std::optional<std::vector<Entry>>(std::move(branch));
}

}  // namespace

ByteSource source_of(std::string_view bytes) {
  return ByteSource{bytes.size(), [bytes](std::uint64_t offset, std::uint64_t size) {
                      return Result<std::string>(std::string(bytes.substr(offset, size)));
                    }};
}

Result<Tail> read_tail_forwards(const ByteSource& source) {
  REEF_TRY(const auto bytes, source.read(0, source.size));
  const Transcript transcript(read_transcript(bytes));
  Tail tail;
  tail.bytes = source.size;
  tail.bytes_read = source.size;
  if (const auto* leaf = transcript.leaf()) tail.leaf = leaf->id;
  tail.context = build_context(transcript.branch());
  tail.damage = transcript.damage().size();
  if (!transcript.header().body.empty()) tail.version = transcript.header().version;
  return tail;
}

Result<Tail> read_tail(const ByteSource& source) {
  BackwardLines lines(source);
  REEF_TRY(const auto branch, read_branch(lines));
  if (!branch) return read_tail_forwards(source);
  std::vector<const Entry*> pointers;
  pointers.reserve(branch->size());
  for (const auto& entry : *branch) pointers.push_back(&entry);
  Tail tail;
  tail.bytes = source.size;
  tail.bytes_read = lines.bytes_read();
  tail.leaf = branch->back().id;
  tail.context = build_context(pointers);
  return tail;
}

}  // namespace reef::session
