#include "search/build.h"

#include <algorithm>
#include <tuple>

#include "base/assert.h"

namespace reef::search {
namespace {

// The pages that a merge has read are released whenever there are this many bytes of them.
constexpr std::size_t kReleaseBytes = 4 * 1024 * 1024;

}  // namespace

bool Tombstones::add(std::uint32_t document) {
  const auto word = document / 64;
  if (bits.size() <= word) bits.resize(word + 1);
  const auto bit = std::uint64_t{1} << (document % 64);
  if ((bits[word] & bit) != 0) return false;
  bits[word] |= bit;
  ++count;
  return true;
}

// The vocabulary of one input, in order.
class Build::Terms {
 public:
  explicit Terms(const Source& source) : source_(&source) {
    if (source.file)
      walk_ = source.file->vocabulary().walk();
    else
      sorted_ = source.memory->frozen() ? source.memory->sorted() : source.memory->sort_terms();
    // If the first entry is damaged, the first read finds it again, and so does the check at the
    // end.
    static_cast<void>(advance().ok());
  }

  bool done() const { return done_; }
  std::string_view term() const {
    return source_->memory ? source_->memory->text(sorted_[at_ - 1])
                           : std::string_view(walk_.key());
  }

  Status read(Postings& out) {
    out.clear();
    if (source_->memory) {
      source_->memory->read(sorted_[at_ - 1], out, scratch_);
      return Ok{};
    }
    const auto& file = *source_->file;
    const auto entry = file.entry(walk_.entry());
    if (!entry || !file.read(*entry, out)) return damaged();
    // A merge reads everything once, so the pages behind it must not stay resident.
    const auto* end = entry->positions.data() + entry->positions.size();
    if (!released_) released_ = entry->documents.data();
    if (static_cast<std::size_t>(end - released_) > kReleaseBytes) {
      file.file().release({released_, static_cast<std::size_t>(end - released_)});
      released_ = end;
    }
    return Ok{};
  }

  Status advance() {
    if (source_->memory) {
      done_ = at_ == sorted_.size();
      if (!done_) ++at_;
      return Ok{};
    }
    done_ = !walk_.next();
    if (source_->file->file().damaged()) return damaged();
    return Ok{};
  }

 private:
  static Error damaged() { return {Errc::corrupt, "a segment is damaged"}; }

  const Source* source_;
  Dictionary::Walk walk_;
  std::vector<std::uint32_t> sorted_;  // terms of a memory segment
  std::size_t at_ = 0;                 // index of the term after the current one
  std::vector<std::uint8_t> scratch_;
  const char* released_ = nullptr;
  bool done_ = false;
};

Build::Build(Files& files, std::string path, std::vector<Input> inputs, std::vector<float> weights)
    : files_(files),
      path_(std::move(path)),
      inputs_(std::move(inputs)),
      weights_(std::move(weights)) {}

Build::~Build() = default;

Status Build::start() {
  struct Place {
    std::uint32_t group;
    std::uint32_t input;
    std::uint64_t key;
    std::uint32_t document;
  };
  std::vector<Place> order;
  for (std::uint32_t n = 0; n < inputs_.size(); ++n) {
    const auto& [source, deleted] = inputs_[n];
    renumbered_.emplace_back(source.size(), kGone);
    for (std::uint32_t d = 0; d < source.size(); ++d) {
      if (deleted.has(d)) continue;
      const auto row = source.row(d);
      order.push_back({row.group, n, row.key, d});
    }
  }
  const auto before = [](const Place& a, const Place& b) {
    return std::tie(a.group, a.key, a.input, a.document) <
           std::tie(b.group, b.key, b.input, b.document);
  };
  const bool sorted = std::is_sorted(order.begin(), order.end(), before);
  if (!sorted) std::sort(order.begin(), order.end(), before);
  unchanged_ = sorted && inputs_.size() == 1 && order.size() == inputs_[0].source.size();

  documents_ = static_cast<std::uint32_t>(order.size());
  SegmentWriter::Documents documents;
  documents.rows.reserve(order.size());
  documents.lengths.reserve(order.size());
  documents.statistics.documents = order.size();
  for (const auto& place : order) {
    const auto& source = inputs_[place.input].source;
    renumbered_[place.input][place.document] = static_cast<std::uint32_t>(documents.rows.size());
    documents.rows.push_back(source.row(place.document));
    if (groups_.empty() || groups_.back() != place.group) groups_.push_back(place.group);
    const auto lengths = source.lengths();
    const auto of = lengths.of(place.document);
    for (std::size_t i = 0; i < of.fields; ++i) {
      documents.statistics.with_field[of.field[i]] += 1;
      documents.statistics.words[of.field[i]] += of.words[i];
    }
    if (of.fields == 1) {
      documents.lengths.push_back((std::uint32_t{of.field[0]} << 16) | of.words[0]);
      continue;
    }
    documents.lengths.push_back(kManyFields | static_cast<std::uint32_t>(documents.table.size()));
    std::uint16_t mask = 0;
    for (std::size_t i = 0; i < of.fields; ++i)
      mask |= static_cast<std::uint16_t>(1U << of.field[i]);
    documents.table.push_back(mask);
    for (std::size_t i = 0; i < of.fields; ++i)
      documents.table.push_back(static_cast<std::uint16_t>(of.words[i]));
  }
  if (documents_ == 0) return Ok{};
  REEF_TRY(auto writer, SegmentWriter::create(files_, path_, std::move(documents), weights_));
  writer_.emplace(std::move(writer));
  for (const auto& input : inputs_) terms_.emplace_back(input.source);
  read_.resize(inputs_.size());
  return Ok{};
}

Result<bool> Build::step(std::size_t postings) {
  if (renumbered_.empty()) {
    REEF_CHECK(start());
    if (documents_ == 0) return true;
  }
  std::size_t work = 0;
  while (work < postings) {
    if (std::all_of(terms_.begin(), terms_.end(), [](const Terms& t) { return t.done(); })) {
      for (const auto& input : inputs_)
        if (input.source.file && input.source.file->file().damaged())
          return Error(Errc::corrupt, "a segment is damaged");
      REEF_TRY(bytes_, writer_->finish());
      writer_.reset();
      return true;
    }
    if (auto added = add_next_term(work); !added) {
      writer_.reset();
      return std::move(added).error();
    }
  }
  return false;
}

Status Build::add_next_term(std::size_t& work) {
  std::string term;
  bool first = true;
  for (const auto& terms : terms_) {
    if (terms.done() || (!first && terms.term() >= term)) continue;
    term.assign(terms.term());
    first = false;
  }
  if (unchanged_) {
    REEF_CHECK(terms_[0].read(read_[0]));
    work += read_[0].documents.size() + 1;
    REEF_CHECK(writer_->add(term, read_[0], stemmer_));
    return terms_[0].advance();
  }
  items_.clear();
  for (std::size_t n = 0; n < terms_.size(); ++n) {
    if (terms_[n].done() || terms_[n].term() != term) continue;
    auto& list = read_[n];
    REEF_CHECK(terms_[n].read(list));
    work += list.documents.size() + 1;
    std::uint32_t begin = 0;
    for (std::size_t i = 0; i < list.documents.size(); ++i) {
      const auto end = list.position_ends[i];
      const auto document = renumbered_[n][list.documents[i]];
      if (document != kGone)
        items_.push_back(
            {document, list.payloads[i], std::span(list.positions).subspan(begin, end - begin)});
      begin = end;
    }
    REEF_CHECK(terms_[n].advance());
  }
  if (items_.empty()) return Ok{};
  const auto before = [](const Item& a, const Item& b) { return a.document < b.document; };
  if (!std::is_sorted(items_.begin(), items_.end(), before))
    std::sort(items_.begin(), items_.end(), before);
  merged_.clear();
  for (const auto& item : items_) {
    merged_.documents.push_back(item.document);
    merged_.payloads.push_back(item.payload);
    merged_.positions.insert(merged_.positions.end(), item.positions.begin(), item.positions.end());
    merged_.position_ends.push_back(static_cast<std::uint32_t>(merged_.positions.size()));
  }
  return writer_->add(term, merged_, stemmer_);
}

Result<std::shared_ptr<const Segment>> Build::open() const {
  REEF_TRY(auto file, CheckedFile::open(files_, path_, bytes_));
  REEF_TRY(std::shared_ptr<const Segment> segment, Segment::open(std::move(file)));
  return segment;
}

}  // namespace reef::search
