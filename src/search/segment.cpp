#include "search/segment.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/assert.h"

namespace reef::search {
namespace {

// The sections of the content, in the order of the table at its end.
enum Section : std::size_t {
  kLengths,
  kTable,
  kGroups,
  kKeys,
  kTimes,
  kFacets,
  kPostings,
  kTerms,
  kTermOffsets,
  kStems,
  kStemOffsets,
  kSections,
};

// The content ends with the summary, whose size is fixed so that it can be found from the end.
constexpr std::size_t kSummaryBytes =
    kSections * 16 + 4 * sizeof(std::uint32_t) + kFieldsMax * (8 + 8 + 4);

// A bound on a term's impacts in one byte: 0.05 * 1.03^code.
constexpr float kCodeBase = 0.05F;
constexpr float kCodeRatio = 1.03F;

std::uint8_t impact_code(float impact) {
  std::uint8_t code = 0;
  for (float bound = kCodeBase; bound < impact && code < 255; bound *= kCodeRatio) ++code;
  return code;
}

const std::array<float, 256>& impact_bounds() {
  static const auto bounds = [] {
    std::array<float, 256> out{};
    float bound = kCodeBase;
    for (auto& value : out) {
      value = bound;
      bound *= kCodeRatio;
    }
    out[255] = 1e9F;
    return out;
  }();
  return bounds;
}

std::uint16_t impact_steps(float impact) {
  return static_cast<std::uint16_t>(std::min(std::ceil(impact / kImpactStep), 65535.0F));
}

Error nonsense(std::string_view what) {
  return {Errc::corrupt, "segment: " + std::string(what)};
}

}  // namespace

std::uint32_t span_of(const Lengths& lengths, std::uint32_t document) {
  const auto length = lengths.documents[document];
  if ((length & kManyFields) == 0) return std::max(length & 0xFFFF, 1U);
  const auto of = lengths.of(document);
  std::uint32_t sum = 1;
  for (std::size_t i = 0; i < of.fields; ++i) sum += of.words[i] + kFieldGap;
  return sum;
}

namespace {

// Writes numbers below `span` in as few bits as possible: some take `bits`, the others one more.
struct Below {
  unsigned bits;
  std::uint32_t short_codes;
};
Below below(std::uint32_t span) {
  const auto bits = static_cast<unsigned>(std::bit_width(span)) - 1;
  return {bits, (2U << bits) - span};
}

unsigned rice_bits(std::uint32_t span, std::size_t count) {
  return static_cast<unsigned>(std::bit_width(span / static_cast<std::uint32_t>(count) / 2));
}

}  // namespace

void put_positions(BitWriter& out, std::uint32_t span, std::span<const std::uint32_t> positions) {
  if (positions.size() == 1) {
    const auto [bits, short_codes] = below(span);
    if (positions[0] < short_codes) return out.put(positions[0], bits);
    const auto code = positions[0] + short_codes;
    out.put(code >> 1, bits);
    return out.put(code & 1, 1);
  }
  if (positions.empty()) return;
  const auto bits = rice_bits(span, positions.size());
  std::uint32_t before = 0;
  for (const auto position : positions) {
    const auto gap = position - before;
    out.put_unary(gap >> bits);
    out.put(gap & ((1U << bits) - 1), bits);
    before = position;
  }
}

void get_positions(BitReader& in, std::uint32_t span, std::uint32_t count,
                   std::vector<std::uint32_t>& out) {
  if (count == 0) return;
  if (count == 1) {
    const auto [bits, short_codes] = below(span);
    const auto code = in.get(bits);
    out.push_back(code < short_codes ? code : (code << 1 | in.get(1)) - short_codes);
    return;
  }
  const auto bits = rice_bits(span, count);
  std::uint32_t position = 0;
  for (; count > 0 && in.ok(); --count) {
    const auto high = in.get_unary();
    position += high << bits | in.get(bits);
    out.push_back(position);
  }
}

bool BlockReader::full(std::string_view bytes, std::uint32_t before, std::uint32_t size,
                       std::uint32_t* documents, std::uint32_t* payloads) {
  ByteReader in(bytes);
  if (!get_block(in, documents) || !get_block(in, payloads)) return false;
  // `before` is the largest number at the start of a list, so the addition wraps and the first
  // document may be 0.
  std::uint64_t at = before == UINT32_MAX ? 0 : std::uint64_t{before} + 1;
  for (std::size_t i = 0; i < kBlock; ++i) {
    at += documents[i];
    documents[i] = static_cast<std::uint32_t>(at);
    payloads[i] += 1;
    ++at;
  }
  return at <= size;
}

bool BlockReader::rest(std::string_view bytes, std::uint32_t before, std::uint32_t size,
                       std::uint32_t count, std::uint32_t* documents, std::uint32_t* payloads) {
  ByteReader in(bytes);
  std::uint64_t at = before == UINT32_MAX ? 0 : std::uint64_t{before} + 1;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto code = in.varint();
    at += code >> 1;
    documents[i] = static_cast<std::uint32_t>(at);
    payloads[i] = (code & 1) != 0 ? 1 : in.varint32();
    if (!in.ok() || at >= size) return false;
    ++at;
  }
  return true;
}

// --- reading ---

Result<std::shared_ptr<Segment>> Segment::open(std::unique_ptr<CheckedFile> file) {
  std::shared_ptr<Segment> out(new Segment);
  const auto content = file->content();
  if (content.size() < kSummaryBytes + kSlack) return nonsense("too short");
  const auto summary = content.substr(content.size() - kSummaryBytes);
  if (!file->check(summary)) return nonsense("the summary is damaged");
  ByteReader in(summary);
  std::array<std::string_view, kSections> sections;
  for (auto& section : sections) {
    const auto offset = in.fixed<std::uint64_t>();
    const auto size = in.fixed<std::uint64_t>();
    const auto most = content.size() - kSummaryBytes;
    if (offset > most || size > most - offset || offset % 8 != 0)
      return nonsense("a section lies outside");
    section = content.substr(offset, size);
  }
  out->size_ = in.fixed<std::uint32_t>();
  const auto terms = in.fixed<std::uint32_t>();
  const auto stems = in.fixed<std::uint32_t>();
  static_cast<void>(in.fixed<std::uint32_t>());
  std::array<float, kFieldsMax> weights{};
  out->statistics_.documents = out->size_;
  for (auto& value : out->statistics_.with_field) value = in.fixed<std::uint64_t>();
  for (auto& value : out->statistics_.words) value = in.fixed<std::uint64_t>();
  for (auto& value : weights) {
    value = in.fixed<float>();
    if (!(value > 0 && value < 1e6F)) return nonsense("a weight makes no sense");
  }
  for (std::size_t f = 0; f < kFieldsMax; ++f)
    if (out->statistics_.words[f] > 0 && out->statistics_.with_field[f] == 0)
      return nonsense("the statistics make no sense");
  out->scales_ = FieldScales(weights, out->statistics_);

  // The sections that scoring and filters use everywhere are checked now; postings and vocabulary
  // are checked as they are used.
  for (const auto s : {kLengths, kTable, kGroups, kKeys, kTimes, kFacets})
    if (!file->check(sections[s])) return nonsense("the documents are damaged");
  if (sections[kLengths].size() != std::size_t{out->size_} * 4)
    return nonsense("the number of documents makes no sense");
  out->lengths_.documents = {reinterpret_cast<const std::uint32_t*>(sections[kLengths].data()),
                             out->size_};
  out->lengths_.table = {reinterpret_cast<const std::uint16_t*>(sections[kTable].data()),
                         sections[kTable].size() / 2};
  out->groups_ = Column(sections[kGroups], out->size_);
  out->keys_ = Column(sections[kKeys], out->size_);
  out->times_ = Column(sections[kTimes], out->size_);
  out->facets_ = Column(sections[kFacets], out->size_);
  out->vocabulary_ = Dictionary(file.get(), sections[kTerms], sections[kTermOffsets], terms);
  out->stems_ = Dictionary(file.get(), sections[kStems], sections[kStemOffsets], stems);
  out->postings_ = sections[kPostings];
  out->file_ = std::move(file);
  return out;
}

DocumentRow Segment::row(std::uint32_t document) const {
  return {.group = group(document),
          .key = key(document),
          .time_ms = time_ms(document),
          .facets = static_cast<std::uint32_t>(facets_.at(document))};
}

std::pair<std::uint32_t, std::uint32_t> Segment::of_group(std::uint32_t wanted) const {
  const auto first_not = [&](auto before) {
    std::uint32_t low = 0;
    std::uint32_t high = size_;
    while (low < high) {
      const auto middle = low + (high - low) / 2;
      if (before(group(middle)))
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  };
  const auto begin = first_not([&](std::uint32_t g) { return g < wanted; });
  if (begin == size_ || group(begin) != wanted) return {begin, begin};
  return {begin, first_not([&](std::uint32_t g) { return g <= wanted; })};
}

std::uint32_t Segment::lower_bound(std::uint32_t begin, std::uint32_t end,
                                   std::uint64_t wanted) const {
  while (begin < end) {
    const auto middle = begin + (end - begin) / 2;
    if (key(middle) < wanted)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

std::optional<TermEntry> Segment::find(std::string_view term) const {
  const auto found = vocabulary_.find(term);
  if (!found) return std::nullopt;
  return entry(*found);
}

std::optional<TermEntry> Segment::entry(const Dictionary::Entry& place) const {
  ByteReader in(place.value);
  TermEntry out;
  out.df = in.varint32();
  out.impact = impact_bounds()[in.fixed<std::uint8_t>()];
  const auto documents = in.varint();
  const auto offset = place.offset;
  const auto all = postings_.size();
  const auto blocks = (std::uint64_t{out.df} + kBlock - 1) / kBlock;
  if (!in.ok() || out.df == 0 || out.df > size_ || offset > all || place.extent > all - offset ||
      documents > place.extent || (out.df >= kBlock && documents < blocks * sizeof(BlockInfo))) {
    file_->mark_damaged();
    return std::nullopt;
  }
  out.documents = postings_.substr(offset, documents);
  out.positions = postings_.substr(offset + documents, place.extent - documents);
  return out;
}

std::vector<std::uint32_t> Segment::with_stem(std::string_view stem) const {
  std::vector<std::uint32_t> out;
  const auto found = stems_.find(stem);
  if (!found) return out;
  ByteReader in(found->value);
  std::uint32_t at = 0;
  while (in.left() > 0 && in.ok()) {
    at += in.varint32();
    if (at >= vocabulary_.size()) break;
    out.push_back(at);
  }
  return out;
}

bool Segment::read(const TermEntry& entry, Postings& out) const {
  out.clear();
  const auto fail = [this] {
    file_->mark_damaged();
    return false;
  };
  if (!file_->check(entry.documents) || !file_->check(entry.positions)) return false;
  const std::size_t blocks = (entry.df + kBlock - 1) / kBlock;
  // Whole blocks are unpacked, even where the list ends earlier.
  out.documents.resize(blocks * kBlock);
  out.payloads.resize(blocks * kBlock);
  std::uint32_t before = UINT32_MAX;
  const auto data =
      entry.df < kBlock ? entry.documents : entry.documents.substr(blocks * sizeof(BlockInfo));
  for (std::size_t b = 0; b < blocks; ++b) {
    BlockInfo info;
    if (entry.df >= kBlock)
      std::memcpy(&info, entry.documents.data() + b * sizeof info, sizeof info);
    if (info.offset > data.size()) return fail();
    auto* documents = out.documents.data() + b * kBlock;
    auto* payloads = out.payloads.data() + b * kBlock;
    const auto bytes = data.substr(info.offset);
    const auto count = static_cast<std::uint32_t>(std::min(kBlock, entry.df - b * kBlock));
    const bool read = count == kBlock
                          ? BlockReader::full(bytes, before, size_, documents, payloads)
                          : BlockReader::rest(bytes, before, size_, count, documents, payloads);
    if (!read) return fail();
    before = documents[count - 1];
  }
  out.documents.resize(entry.df);
  out.payloads.resize(entry.df);
  out.position_ends.assign(entry.df, 0);
  if (entry.positions.empty()) return true;
  BitReader in({});
  for (std::size_t i = 0; i < entry.df; ++i) {
    if (i % kBlock == 0) {
      BlockInfo info;
      if (entry.df >= kBlock)
        std::memcpy(&info, entry.documents.data() + i / kBlock * sizeof info, sizeof info);
      in = BitReader(
          entry.positions.substr(std::min<std::size_t>(info.positions, entry.positions.size())));
    }
    const auto document = out.documents[i];
    get_positions(in, span_of(lengths_, document),
                  positions_of(lengths_, document, out.payloads[i]), out.positions);
    if (!in.ok()) return fail();
    out.position_ends[i] = static_cast<std::uint32_t>(out.positions.size());
  }
  return true;
}

// --- writing ---

Result<SegmentWriter> SegmentWriter::create(Files& files, std::string path, Documents documents,
                                            std::span<const float> weights) {
  REEF_TRY(auto file, CheckedFileWriter::create(files, std::move(path)));
  SegmentWriter out(std::move(file));
  const auto count = documents.rows.size();
  REEF_ASSERT(documents.lengths.size() == count);
  out.statistics_ = documents.statistics;
  out.weights_.assign(weights.begin(), weights.end());
  out.weights_.resize(kFieldsMax, 1);
  out.scales_ = FieldScales(out.weights_, out.statistics_);
  out.lengths_ = std::move(documents.lengths);
  out.table_ = std::move(documents.table);
  REEF_CHECK(out.section({reinterpret_cast<const char*>(out.lengths_.data()), count * 4}));
  REEF_CHECK(
      out.section({reinterpret_cast<const char*>(out.table_.data()), out.table_.size() * 2}));
  std::vector<std::uint64_t> column(count);
  const auto write = [&](auto value) {
    for (std::size_t i = 0; i < count; ++i) column[i] = value(documents.rows[i]);
    return out.section(pack_column(column));
  };
  REEF_CHECK(write([](const DocumentRow& row) { return std::uint64_t{row.group}; }));
  REEF_CHECK(write([](const DocumentRow& row) { return row.key; }));
  REEF_CHECK(write([](const DocumentRow& row) {
    return static_cast<std::uint64_t>(row.time_ms) ^ Segment::kSign;
  }));
  REEF_CHECK(write([](const DocumentRow& row) { return std::uint64_t{row.facets}; }));
  out.postings_begin_ = out.file_.offset();
  return out;
}

Status SegmentWriter::section(std::string_view bytes) {
  sections_.push_back(file_.offset());
  sections_.push_back(bytes.size());
  REEF_CHECK(file_.write(bytes));
  return file_.align();
}

Status SegmentWriter::add(std::string_view term, const Postings& postings, Stemmer& stemmer) {
  const Lengths lengths{lengths_, table_};
  const auto df = postings.documents.size();
  REEF_ASSERT(df > 0);
  buffer_.clear();
  infos_.clear();
  positions_.clear();
  BitWriter bits(positions_);
  float term_impact = 0;
  std::uint32_t before = UINT32_MAX;
  for (std::size_t from = 0; from < df; from += kBlock) {
    const auto count = std::min(kBlock, df - from);
    const auto* documents = postings.documents.data() + from;
    const auto* payloads = postings.payloads.data() + from;
    BlockInfo info;
    info.offset = static_cast<std::uint32_t>(buffer_.size());
    info.positions = static_cast<std::uint32_t>(positions_.size());
    info.last = documents[count - 1];
    float impact = 0;
    std::array<std::uint32_t, kBlock> gaps{};
    for (std::size_t i = 0; i < count; ++i) {
      impact = std::max(impact, scales_.impact(lengths, documents[i], payloads[i]));
      gaps[i] = documents[i] - before - 1;  // wraps at the start of a list; the reader wraps back
      before = documents[i];
    }
    if (count == kBlock) {
      std::array<std::uint32_t, kBlock> less{};
      for (std::size_t i = 0; i < kBlock; ++i) less[i] = payloads[i] - 1;
      put_block(buffer_, gaps.data());
      put_block(buffer_, less.data());
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        put_varint(buffer_, std::uint64_t{gaps[i]} << 1 | (payloads[i] == 1 ? 1 : 0));
        if (payloads[i] != 1) put_varint(buffer_, payloads[i]);
      }
    }
    if (!postings.positions.empty()) {
      for (std::size_t i = from; i < from + count; ++i) {
        const auto begin = i == 0 ? 0 : postings.position_ends[i - 1];
        put_positions(
            bits, span_of(lengths, postings.documents[i]),
            std::span(postings.positions).subspan(begin, postings.position_ends[i] - begin));
      }
      bits.finish();
    }
    info.impact = impact_steps(impact);
    term_impact = std::max(term_impact, impact);
    infos_.append(reinterpret_cast<const char*>(&info), sizeof info);
  }
  if (df < kBlock) infos_.clear();

  value_.clear();
  put_varint(value_, df);
  value_.push_back(static_cast<char>(impact_code(term_impact)));
  put_varint(value_, infos_.size() + buffer_.size());
  const auto number = vocabulary_.size();
  vocabulary_.add(term, value_, infos_.size() + buffer_.size() + positions_.size());
  if (Stemmer::applies(term)) stems_.emplace_back(stemmer.stem(term), number);
  own_stem_.push_back(!stems_.empty() && stems_.back().second == number &&
                      stems_.back().first == term);
  REEF_CHECK(file_.write(infos_));
  REEF_CHECK(file_.write(buffer_));
  return file_.write(positions_);
}

Result<std::uint64_t> SegmentWriter::finish() {
  sections_.push_back(postings_begin_);
  sections_.push_back(file_.offset() - postings_begin_);
  // Unpacking reads a little past the end.
  REEF_CHECK(file_.write(std::string(kSlack, '\0')));
  REEF_CHECK(file_.align());
  REEF_CHECK(section(vocabulary_.bytes()));
  REEF_CHECK(section(vocabulary_.offsets()));
  // A term that is its own stem and has no relatives needs no entry; its name finds it.
  std::sort(stems_.begin(), stems_.end());
  DictionaryWriter stems;
  for (std::size_t from = 0; from < stems_.size();) {
    auto to = from + 1;
    while (to < stems_.size() && stems_[to].first == stems_[from].first) ++to;
    if (to - from > 1 || !own_stem_[stems_[from].second]) {
      value_.clear();
      std::uint32_t before = 0;
      for (auto i = from; i < to; ++i) {
        put_varint(value_, stems_[i].second - before);
        before = stems_[i].second;
      }
      stems.add(stems_[from].first, value_);
    }
    from = to;
  }
  REEF_CHECK(section(stems.bytes()));
  REEF_CHECK(section(stems.offsets()));
  std::string summary;
  REEF_ASSERT(sections_.size() == kSections * 2);
  for (const auto value : sections_) put_fixed(summary, value);
  put_fixed(summary, static_cast<std::uint32_t>(lengths_.size()));
  put_fixed(summary, vocabulary_.size());
  put_fixed(summary, stems.size());
  put_fixed(summary, std::uint32_t{0});
  for (const auto value : statistics_.with_field) put_fixed(summary, value);
  for (const auto value : statistics_.words) put_fixed(summary, value);
  for (const auto value : weights_) put_fixed(summary, value);
  REEF_ASSERT(summary.size() == kSummaryBytes);
  REEF_CHECK(file_.write(summary));
  return file_.finish();
}

}  // namespace reef::search
