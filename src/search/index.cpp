#include "search/index.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/assert.h"
#include "search/spelling.h"

namespace reef::search {
namespace {

// A word that was mended may not be the one that was meant.
constexpr float kMendedWeight = 0.8F;

constexpr std::string_view kManifest = "manifest";
constexpr std::string_view kSuffix = ".seg";
constexpr std::size_t kGroupNameBytesMax = 255;
// What one step of a job handles: some milliseconds.
constexpr std::size_t kStepPostings = 200'000;
// Segments up to this size count as the smallest.
constexpr std::uint32_t kTierDocuments = 2048;
// One of so many documents deleted: the segment is written anew.
constexpr std::uint32_t kDeletedShare = 4;
// Of a thorough merge: a segment this many times as large as all smaller ones is left alone.
constexpr std::uint32_t kAlike = 4;
// One of so many documents came in a bulk: a thorough merge makes one segment of all.
constexpr std::uint64_t kFreshShare = 4;

}  // namespace

Result<bool> Job::step() {
  if (done_) return true;
  REEF_TRY(done_, build_->step(kStepPostings));
  if (done_ && build_->documents() > 0) opened_ = build_->open();
  return done_;
}

Status ManifestWrite::write() {
  // The names of the segments must be durable before the manifest speaks of them.
  REEF_CHECK(files_->sync_directory(directory_));
  REEF_CHECK(replace_atomically(*files_, directory_ + "/" + std::string(kManifest), bytes_));
  for (const auto& path : obsolete_)
    static_cast<void>(files_->remove(path).ok());  // what stays is removed by the next open
  return Ok{};
}

Index::Index(Files& files, std::string directory, IndexOptions options)
    : files_(files), directory_(std::move(directory)), options_(std::move(options)) {
  REEF_ASSERT(options_.weights.size() <= kFieldsMax);
  for (const auto weight : options_.weights) REEF_ASSERT(weight > 0);
  new_memory();
}

Index::~Index() = default;

void Index::new_memory() {
  memory_segment_ = std::make_shared<MemorySegment>();
  memory_ = Part{};
  memory_.source.memory = memory_segment_;
}

std::string Index::path_of(std::uint64_t number) const {
  return fmt::format("{}/{}{}", directory_, number, kSuffix);
}

// --- opening ---

Result<Index::Opened> Index::open(Files& files, std::string directory, IndexOptions options) {
  REEF_CHECK(make_directories(files, directory));
  Opened out;
  out.index.reset(new Index(files, std::move(directory), std::move(options)));
  REEF_CHECK(out.index->load(out.problems));
  return out;
}

Status Index::load(std::vector<std::string>& problems) {
  REEF_TRY(const auto names, files_.list(directory_));
  const auto path = directory_ + "/" + std::string(kManifest);
  if (std::find(names.begin(), names.end(), kManifest) == names.end()) return discard_all(names);
  REEF_TRY(const auto bytes, read_all(files_, path));
  auto manifest = read_manifest(bytes);
  if (!manifest) {
    problems.push_back(manifest.error().what);
    return discard_all(names);
  }
  next_segment_ = manifest->next_segment;
  groups_.resize(manifest->next_group);
  by_name_.reserve(manifest->groups.size());
  for (auto& group : manifest->groups) {
    by_name_.emplace(group.name, group.number);
    groups_[group.number] = {std::move(group.name), group.covered, true, group.covered};
  }
  std::vector<std::string> kept{std::string(kManifest)};
  std::vector<std::uint32_t> lost;
  for (auto& segment : manifest->segments) {
    auto opened = open_segment(segment);
    if (opened) {
      kept.push_back(fmt::format("{}{}", segment.number, kSuffix));
      continue;
    }
    // A disk that fails is no reason to throw an index away.
    if (opened.error().code != Errc::corrupt && opened.error().code != Errc::not_found)
      return opened;
    problems.push_back(opened.error().what);
    lost.insert(lost.end(), segment.groups.begin(), segment.groups.end());
    manifest_stale_ = true;
  }
  for (const auto group : lost) remove_group(group);
  // Written down before the bulk their group began with, which never was.
  std::size_t orphans = 0;
  for (auto& part : files_parts_)
    for (const auto group : part.groups)
      if (groups_[group].name.empty()) remove_documents(part, group, nullptr, orphans);
  for (const auto& name : names)
    if (std::find(kept.begin(), kept.end(), name) == kept.end())
      REEF_CHECK(files_.remove(directory_ + "/" + name));
  return Ok{};
}

Status Index::discard_all(const std::vector<std::string>& names) {
  for (const auto& name : names) REEF_CHECK(files_.remove(directory_ + "/" + name));
  return Ok{};
}

Status Index::open_segment(ManifestSegment& segment) {
  REEF_TRY(auto file, CheckedFile::open(files_, path_of(segment.number), segment.bytes));
  REEF_TRY(auto opened, Segment::open(std::move(file)));
  if (opened->size() != segment.documents)
    return Error(Errc::corrupt, path_of(segment.number) + " is another segment");
  auto& part = files_parts_.emplace_back();
  part.number = segment.number;
  part.bytes = segment.bytes;
  part.source.file = std::move(opened);
  part.deleted = std::move(segment.deleted);
  part.groups = segment.groups;
  return Ok{};
}

// --- groups ---

std::uint32_t Index::group(std::string_view name) {
  REEF_ASSERT(!name.empty() && name.size() <= kGroupNameBytesMax);
  const auto [at, added] =
      by_name_.try_emplace(std::string(name), static_cast<std::uint32_t>(groups_.size()));
  if (added) groups_.push_back({.name = std::string(name)});
  return at->second;
}

std::optional<std::uint32_t> Index::find_group(std::string_view name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return std::nullopt;
  return found->second;
}

std::string_view Index::group_name(std::uint32_t group) const {
  return group < groups_.size() ? std::string_view(groups_[group].name) : std::string_view();
}

std::uint64_t Index::covered(std::uint32_t group) const {
  return group < groups_.size() ? groups_[group].covered : 0;
}

void Index::set_covered(std::uint32_t group, std::uint64_t covered) {
  REEF_ASSERT(group < groups_.size() && !groups_[group].name.empty());
  groups_[group].covered = covered;
}

std::vector<std::uint32_t> Index::groups() const {
  std::vector<std::uint32_t> out;
  out.reserve(by_name_.size());
  for (std::uint32_t n = 0; n < groups_.size(); ++n)
    if (!groups_[n].name.empty()) out.push_back(n);
  return out;
}

// --- documents ---

void Index::add(const DocumentRow& row, std::span<const FieldText> fields) {
  REEF_ASSERT(row.group < groups_.size() && !groups_[row.group].name.empty());
  memory_segment_->add(row, fields, tokenizer_);
}

std::vector<Index::Part*> Index::parts() {
  std::vector<Part*> out;
  for (auto& part : files_parts_) out.push_back(&part);
  for (auto& part : bulks_) out.push_back(&part);
  if (frozen_) out.push_back(&*frozen_);
  out.push_back(&memory_);
  return out;
}

void Index::for_parts(const std::function<void(const Part&)>& f) const {
  for (const auto& part : files_parts_) f(part);
  for (const auto& part : bulks_) f(part);
  if (frozen_) f(*frozen_);
  f(memory_);
}

void Index::remove_documents(Part& part, std::uint32_t group, const std::uint64_t* key,
                             std::size_t& count) {
  const auto remove = [&](std::uint32_t document) {
    if (!part.deleted.add(document)) return;
    ++count;
    if (part.number != 0) manifest_stale_ = true;
  };
  if (part.source.memory) {
    for (const auto document : part.source.memory->of_group(group))
      if (!key || part.source.memory->row(document).key == *key) remove(document);
    return;
  }
  const auto& file = *part.source.file;
  auto [begin, end] = file.of_group(group);
  if (key) begin = file.lower_bound(begin, end, *key);
  for (auto document = begin; document < end && (!key || file.key(document) == *key); ++document)
    remove(document);
}

std::size_t Index::remove(std::uint32_t group, std::uint64_t key) {
  std::size_t count = 0;
  for (auto* part : parts()) remove_documents(*part, group, &key, count);
  return count;
}

void Index::remove_group(std::uint32_t group) {
  if (group >= groups_.size() || groups_[group].name.empty()) return;
  std::size_t count = 0;
  for (auto* part : parts()) remove_documents(*part, group, nullptr, count);
  by_name_.erase(groups_[group].name);
  if (groups_[group].stored) manifest_stale_ = true;
  groups_[group] = {};
}

std::uint64_t Index::documents() const {
  std::uint64_t out = 0;
  for_parts([&](const Part& part) { out += part.source.size() - part.deleted.count; });
  return out;
}

Statistics Index::statistics() const {
  Statistics out;
  for_parts([&](const Part& part) {
    out += part.source.memory ? part.source.memory->statistics() : part.source.file->statistics();
  });
  return out;
}

void Index::visit_stored(const std::function<void(const DocumentRow&, bool)>& f) const {
  for_parts([&](const Part& part) {
    for (std::uint32_t d = 0; d < part.source.size(); ++d)
      f(part.source.row(d), part.deleted.has(d));
  });
}

// --- search ---

Searcher Index::prepare(const Query& query) {
  return {units(), query, options_.weights, stemmer_};
}

std::vector<Unit> Index::units() {
  std::vector<Unit> units;
  for (auto* part : parts()) {
    if (part->source.file && !part->norms)
      part->norms = std::make_unique<Norms>(part->source.lengths());
    units.push_back({&part->source, &part->deleted, part->norms.get()});
  }
  return units;
}

Searcher Index::prepare_mended(Query& query) {
  auto searcher = prepare(query);
  bool mended = false;
  for (std::size_t c = 0; c < query.clauses.size(); ++c) {
    auto& clause = query.clauses[c];
    if (clause.kind != Clause::Kind::word || clause.occur != Clause::Occur::optional ||
        !clause.forms || !Stemmer::applies(clause.terms[0]) ||
        mistakes_allowed(clause.terms[0]) == 0 || searcher.knows(c))
      continue;
    if (auto nearest = nearest_word(units(), clause.terms[0]); !nearest.empty()) {
      clause.terms[0] = std::move(nearest);
      clause.weight *= kMendedWeight;
      mended = true;
    }
  }
  if (mended) searcher = prepare(query);
  return searcher;
}

std::vector<Hit> Index::documents_of(std::uint32_t group) const {
  std::vector<Hit> out;
  std::uint32_t unit = 0;
  for_parts([&](const Part& part) {
    const auto add = [&](std::uint32_t document) {
      if (!part.deleted.has(document))
        out.push_back({.unit = unit, .document = document, .row = part.source.row(document)});
    };
    if (part.source.memory) {
      for (const auto document : part.source.memory->of_group(group)) add(document);
    } else {
      const auto [begin, end] = part.source.file->of_group(group);
      for (auto document = begin; document < end; ++document) add(document);
    }
    ++unit;
  });
  std::stable_sort(out.begin(), out.end(),
                   [](const Hit& a, const Hit& b) { return a.row.key < b.row.key; });
  return out;
}

const Index::Part& Index::part(std::uint32_t unit) const {
  if (unit < files_parts_.size()) return files_parts_[unit];
  unit -= static_cast<std::uint32_t>(files_parts_.size());
  if (unit < bulks_.size()) return bulks_[unit];
  return frozen_ && unit == bulks_.size() ? *frozen_ : memory_;
}

bool Index::alone(const Hit& hit) const {
  const auto has = [&](const Part& part) {
    if (part.source.memory) return !part.source.memory->of_group(hit.row.group).empty();
    return std::binary_search(part.groups.begin(), part.groups.end(), hit.row.group);
  };
  if (frozen_ && has(*frozen_)) return false;
  if (has(memory_) || std::any_of(bulks_.begin(), bulks_.end(), has)) return false;
  for (std::uint32_t unit = 0; unit < files_parts_.size(); ++unit)
    if (unit != hit.unit && has(files_parts_[unit])) return false;
  return true;
}

std::vector<Hit> Index::around(std::span<const Hit> hits, std::size_t reach) const {
  // Documents of a segment are in the order of groups and keys, so their numbers say who stands
  // where.
  const auto code = [](const Hit& hit) { return std::uint64_t{hit.unit} << 32 | hit.document; };
  std::vector<std::uint64_t> near;
  std::vector<std::uint64_t> given;
  near.reserve(hits.size() * reach * 2);
  given.reserve(hits.size());
  for (const auto& hit : hits) {
    given.push_back(code(hit));
    if (hit.unit >= files_parts_.size() || !alone(hit)) {
      for (const auto& one : neighbours(hit, reach, reach)) near.push_back(code(one));
      continue;
    }
    const auto& own = part(hit.unit);
    const auto& file = *own.source.file;
    const auto take = [&](std::uint32_t document, std::size_t& taken) {
      if (file.group(document) != hit.row.group) return false;
      if (own.deleted.has(document) || file.key(document) == hit.row.key) return true;
      near.push_back(std::uint64_t{hit.unit} << 32 | document);
      return ++taken < reach;
    };
    std::size_t taken = 0;
    for (auto d = hit.document; d > 0 && take(d - 1, taken); --d) {
    }
    taken = 0;
    for (auto d = hit.document + 1; d < file.size() && take(d, taken); ++d) {
    }
  }
  std::sort(near.begin(), near.end());
  near.erase(std::unique(near.begin(), near.end()), near.end());
  std::sort(given.begin(), given.end());
  std::vector<Hit> out;
  out.reserve(near.size());
  auto skip = given.begin();
  for (const auto one : near) {
    while (skip != given.end() && *skip < one) ++skip;
    if (skip != given.end() && *skip == one) continue;
    const auto unit = static_cast<std::uint32_t>(one >> 32);
    const auto document = static_cast<std::uint32_t>(one);
    out.push_back({.unit = unit, .document = document, .row = part(unit).source.row(document)});
  }
  const auto by_place = [](const Hit& a, const Hit& b) {
    return std::tie(a.row.group, a.row.key) < std::tie(b.row.group, b.row.key);
  };
  if (!std::is_sorted(out.begin(), out.end(), by_place))
    std::sort(out.begin(), out.end(), by_place);
  return out;
}

std::vector<Hit> Index::neighbours(const Hit& hit, std::size_t before, std::size_t after) const {
  std::vector<Hit> lower;
  std::vector<Hit> higher;
  if (hit.unit < files_parts_.size() && alone(hit)) {
    const auto& own = files_parts_[hit.unit];
    const auto& file = *own.source.file;
    const auto take = [&](std::uint32_t document, std::vector<Hit>& to, std::size_t most) {
      if (to.size() == most || file.group(document) != hit.row.group) return false;
      if (!own.deleted.has(document) && file.key(document) != hit.row.key)
        to.push_back({.unit = hit.unit, .document = document, .row = file.row(document)});
      return true;
    };
    for (auto d = hit.document; d > 0 && take(d - 1, lower, before); --d) {
    }
    for (auto d = hit.document + 1; d < file.size() && take(d, higher, after); ++d) {
    }
    std::reverse(lower.begin(), lower.end());
    lower.insert(lower.end(), higher.begin(), higher.end());
    return lower;
  }
  std::uint32_t unit = 0;
  const auto wanted = hit.row.key;
  for_parts([&](const Part& part) {
    const auto add = [&](std::vector<Hit>& to, std::uint32_t document) {
      if (part.deleted.has(document)) return false;
      to.push_back({.unit = unit, .document = document, .row = part.source.row(document)});
      return true;
    };
    if (part.source.memory) {
      for (const auto document : part.source.memory->of_group(hit.row.group)) {
        const auto key = part.source.memory->row(document).key;
        if (key != wanted) add(key < wanted ? lower : higher, document);
      }
    } else {
      const auto& file = *part.source.file;
      const auto [begin, end] = file.of_group(hit.row.group);
      const auto middle = file.lower_bound(begin, end, wanted);
      std::size_t taken = 0;
      for (auto d = middle; d > begin && taken < before; --d) taken += add(lower, d - 1) ? 1 : 0;
      taken = 0;
      for (auto d = middle; d < end && taken < after; ++d)
        if (file.key(d) != wanted) taken += add(higher, d) ? 1 : 0;
    }
    ++unit;
  });
  const auto by_key = [](const Hit& a, const Hit& b) { return a.row.key < b.row.key; };
  std::stable_sort(lower.begin(), lower.end(), by_key);
  std::stable_sort(higher.begin(), higher.end(), by_key);
  if (lower.size() > before)
    lower.erase(lower.begin(), lower.end() - static_cast<std::ptrdiff_t>(before));
  if (higher.size() > after) higher.resize(after);
  lower.insert(lower.end(), higher.begin(), higher.end());
  return lower;
}

// --- files ---

bool Index::wants_flush() const {
  return !flushing_ && (frozen_ || memory_segment_->size() >= options_.memory_documents_max ||
                        memory_segment_->memory_bytes() >= options_.memory_bytes_max);
}

bool Index::dirty() const {
  return frozen_ || memory_segment_->size() > 0 || manifest_stale_ ||
         std::any_of(groups_.begin(), groups_.end(), [](const Group& group) {
           return !group.name.empty() && (!group.stored || group.covered != group.stored_covered);
         });
}

std::optional<Job> Index::begin_flush() {
  if (flushing_) return std::nullopt;
  Job job;
  // After a failure the frozen documents are tried again; what came later waits for the next flush.
  const bool again = frozen_.has_value();
  if (!again && memory_segment_->size() > 0) {
    frozen_ = std::move(memory_);
    new_memory();
  }
  if (!again) {
    for (std::uint32_t n = 0; n < groups_.size(); ++n)
      if (!groups_[n].name.empty() &&
          (!groups_[n].stored || groups_[n].covered != groups_[n].stored_covered))
        job.covered_.push_back({n, groups_[n].covered});
  }
  std::vector<Build::Input> inputs;
  if (frozen_) inputs.push_back({frozen_->source, frozen_->deleted});
  job.number_ = next_segment_++;
  job.build_ =
      std::make_unique<Build>(files_, path_of(job.number_), std::move(inputs), options_.weights);
  flushing_ = true;
  return job;
}

Job Index::begin_bulk(const Bulk& bulk, std::span<const BulkGroup> groups) {
  Job job;
  job.kind_ = Job::Kind::bulk;
  job.number_ = next_segment_++;
  auto& part = bulks_.emplace_back();
  part.bulk = job.number_;
  part.source.memory = bulk.segment_;
  for (const auto& group : groups) {
    auto& known = groups_[group.group];
    if (known.name.empty()) {
      // Removed while it was taken in.
      std::size_t gone = 0;
      remove_documents(part, group.group, nullptr, gone);
      continue;
    }
    known.covered = group.covered;
    known.in_bulk = true;
    job.covered_.push_back({group.group, group.covered});
  }
  std::vector<Build::Input> inputs(1);
  inputs[0] = {part.source, part.deleted};
  job.build_ =
      std::make_unique<Build>(files_, path_of(job.number_), std::move(inputs), options_.weights);
  return job;
}

std::optional<Job> Index::begin_merge(bool thorough) {
  if (merging_) return std::nullopt;
  std::vector<Part*> chosen;
  std::unordered_map<unsigned, std::vector<Part*>> tiers;
  for (auto& part : files_parts_) {
    if (part.source.file->file().damaged()) continue;
    const auto size = part.source.size();
    if (part.deleted.count > 0 && part.deleted.count >= size / kDeletedShare) {
      chosen = {&part};
      break;
    }
    const auto live = size - part.deleted.count;
    if (live > options_.merge_documents_max) continue;
    unsigned tier = 0;
    for (std::uint64_t most = kTierDocuments; live > most; most *= options_.merge_segments) ++tier;
    tiers[tier].push_back(&part);
  }
  if (chosen.empty() && thorough) chosen = all_if_fresh();
  if (chosen.empty()) {
    // The smallest tier that is full: it costs least.
    unsigned best = UINT32_MAX;
    for (const auto& [tier, members] : tiers)
      if (members.size() >= options_.merge_segments && tier < best) best = tier;
    if (best != UINT32_MAX)
      chosen = tiers[best];
    else if (thorough)
      chosen = too_alike();
    if (chosen.empty()) return std::nullopt;
  }
  Job job;
  job.kind_ = Job::Kind::merge;
  std::vector<Build::Input> inputs;
  for (auto* part : chosen) {
    part->merging = true;
    job.sources_.push_back(part->number);
    inputs.push_back({part->source, part->deleted});
  }
  job.number_ = next_segment_++;
  job.build_ =
      std::make_unique<Build>(files_, path_of(job.number_), std::move(inputs), options_.weights);
  merging_ = true;
  return job;
}

// Everything, when much of it was never merged with the rest.
std::vector<Index::Part*> Index::all_if_fresh() {
  std::vector<Part*> all;
  std::uint64_t documents = 0, fresh = 0;
  for (auto& part : files_parts_) {
    if (part.source.file->file().damaged()) return {};
    all.push_back(&part);
    documents += part.source.size();
    if (part.fresh) fresh += part.source.size();
  }
  const bool worth = all.size() > 1 && fresh * kFreshShare >= documents &&
                     documents <= options_.merge_documents_max;
  return worth ? all : std::vector<Part*>();
}

// The segments that are less than four times as large as all smaller ones together, with these.
std::vector<Index::Part*> Index::too_alike() {
  std::vector<Part*> by_size;
  for (auto& part : files_parts_)
    if (!part.source.file->file().damaged() && part.source.size() <= options_.merge_documents_max)
      by_size.push_back(&part);
  std::sort(by_size.begin(), by_size.end(),
            [](const Part* a, const Part* b) { return a->source.size() < b->source.size(); });
  std::size_t count = 0;
  std::uint64_t smaller = 0;
  for (std::size_t n = 0; n < by_size.size(); ++n) {
    const std::uint64_t size = by_size[n]->source.size();
    if (n > 0 && size < smaller * kAlike) count = n + 1;
    smaller += size;
  }
  by_size.resize(count);
  return by_size;
}

// Documents deleted while the job ran.
void Index::carry_deletes(const Job& job, std::span<Part* const> sources, Part& into) const {
  for (std::size_t n = 0; n < sources.size(); ++n) {
    const auto& now = sources[n]->deleted;
    if (now.count == job.build_->inputs()[n].deleted.count) continue;
    for (std::uint32_t d = 0; d < sources[n]->source.size(); ++d) {
      if (!now.has(d)) continue;
      if (const auto number = job.build_->renumbered(n, d); number != Build::kGone)
        into.deleted.add(number);
    }
  }
}

Status Index::install(Job& job) {
  Part made;
  if (job.build_->documents() > 0) {
    REEF_TRY(made.source.file, std::move(job.opened_));
    made.number = job.number_;
    made.bytes = job.build_->bytes();
    made.groups = job.build_->groups();
  }
  const bool merge = job.kind_ == Job::Kind::merge;
  const bool flush = job.kind_ == Job::Kind::flush;
  std::vector<Part*> sources;
  if (merge) {
    for (const auto number : job.sources_)
      for (auto& part : files_parts_)
        if (part.number == number) sources.push_back(&part);
    // One was dropped meanwhile: the result would bring its documents back.
    if (sources.size() != job.sources_.size()) {
      for (auto* part : sources) part->merging = false;
      obsolete_.push_back(job.build_->path());
      return Ok{};
    }
  } else if (flush && frozen_) {
    sources.push_back(&*frozen_);
  } else if (!flush) {
    for (auto& part : bulks_)
      if (part.bulk == job.number_) sources.push_back(&part);
  }
  if (made.number != 0) carry_deletes(job, sources, made);
  made.fresh =
      job.kind_ == Job::Kind::bulk ||
      (sources.size() < files_parts_.size() &&
       std::any_of(sources.begin(), sources.end(), [](const Part* p) { return p->fresh; }));
  if (merge) {
    for (const auto* part : sources) obsolete_.push_back(path_of(part->number));
    std::erase_if(files_parts_, [&](const Part& part) {
      return std::find(job.sources_.begin(), job.sources_.end(), part.number) != job.sources_.end();
    });
  } else {
    if (flush)
      frozen_.reset();
    else
      std::erase_if(bulks_, [&](const Part& part) { return part.bulk == job.number_; });
    cover(job);
  }
  if (made.number != 0) files_parts_.push_back(std::move(made));
  manifest_stale_ = true;
  return Ok{};
}

// What a finished flush or bulk makes durable of its groups.
void Index::cover(const Job& job) {
  for (const auto& [number, covered] : job.covered_) {
    auto& group = groups_[number];
    if (group.name.empty()) continue;
    if (job.kind_ == Job::Kind::flush && group.in_bulk) {
      group.behind_bulk = covered;
      continue;
    }
    group.stored = true;
    group.stored_covered = std::max(covered, std::exchange(group.behind_bulk, 0));
    group.in_bulk = false;
  }
}

void Index::drop_bulk(const Job& job) {
  std::erase_if(bulks_, [&](const Part& part) { return part.bulk == job.number_; });
  for (const auto& one : job.covered_) remove_group(one.group);
}

Status Index::put_in_place(Job job) {
  const bool merge = job.kind_ == Job::Kind::merge;
  if (merge) merging_ = false;
  if (job.kind_ == Job::Kind::flush) flushing_ = false;
  Status installed = Ok{};
  if (job.done_)
    installed = install(job);
  else
    installed = Error(Errc::internal, "a job of the index was not done");
  if (!installed) {
    if (merge)
      for (auto& part : files_parts_)
        if (std::find(job.sources_.begin(), job.sources_.end(), part.number) != job.sources_.end())
          part.merging = false;
    if (job.kind_ == Job::Kind::bulk) drop_bulk(job);
    if (job.done_) obsolete_.push_back(job.build_->path());
  }
  return installed;
}

Status Index::finish(Job job) {
  REEF_CHECK(put_in_place(std::move(job)));
  return write_manifest_now();
}

std::optional<ManifestWrite> Index::begin_manifest() {
  if (!manifest_stale_ || manifest_under_way_) return std::nullopt;
  Manifest manifest;
  manifest.next_segment = next_segment_;
  manifest.next_group = static_cast<std::uint32_t>(groups_.size());
  for (const auto& part : files_parts_)
    manifest.segments.push_back(
        {part.number, part.bytes, part.source.size(), part.deleted, part.groups});
  for (std::uint32_t n = 0; n < groups_.size(); ++n)
    if (groups_[n].stored)
      manifest.groups.push_back({n, groups_[n].stored_covered, groups_[n].name});
  ManifestWrite out;
  out.files_ = &files_;
  out.directory_ = directory_;
  out.bytes_ = write_manifest(manifest);
  out.obsolete_ = std::exchange(obsolete_, {});
  manifest_stale_ = false;
  manifest_under_way_ = true;
  return out;
}

void Index::end_manifest(ManifestWrite write, bool written) {
  manifest_under_way_ = false;
  if (written) return;
  manifest_stale_ = true;
  obsolete_.insert(obsolete_.end(), write.obsolete_.begin(), write.obsolete_.end());
}

Status Index::write_manifest_now() {
  auto write = begin_manifest();
  if (!write) return Ok{};
  auto written = write->write();
  end_manifest(*std::move(write), written.ok());
  return written;
}

Status Index::flush() {
  if (flushing_ || manifest_under_way_ || !bulks_.empty())
    return Error(Errc::busy, "the index is being written already");
  while (dirty()) {
    auto job = begin_flush();
    for (;;) {
      auto done = job->step();
      if (!done) {
        static_cast<void>(finish(*std::move(job)).ok());  // says only that it failed
        return std::move(done).error().with("write the index");
      }
      if (*done) break;
    }
    REEF_CHECK(finish(*std::move(job)));
  }
  return Ok{};
}

bool Index::damaged() const {
  return std::any_of(files_parts_.begin(), files_parts_.end(),
                     [](const Part& part) { return part.source.file->file().damaged(); });
}

std::vector<std::string> Index::drop_damaged() {
  std::vector<std::uint64_t> numbers;
  for (const auto& part : files_parts_)
    if (part.source.file->file().damaged()) numbers.push_back(part.number);
  return numbers.empty() ? std::vector<std::string>() : drop(numbers);
}

std::vector<std::string> Index::drop(const std::vector<std::uint64_t>& numbers) {
  std::vector<std::uint32_t> lost;
  for (const auto& part : files_parts_) {
    if (std::find(numbers.begin(), numbers.end(), part.number) == numbers.end()) continue;
    lost.insert(lost.end(), part.groups.begin(), part.groups.end());
    obsolete_.push_back(path_of(part.number));
  }
  std::erase_if(files_parts_, [&](const Part& part) {
    return std::find(numbers.begin(), numbers.end(), part.number) != numbers.end();
  });
  std::vector<std::string> names;
  for (const auto group : lost) {
    if (const auto name = group_name(group); !name.empty()) names.emplace_back(name);
    remove_group(group);
  }
  manifest_stale_ = true;
  return names;
}

std::uint64_t Index::file_bytes() const {
  std::uint64_t out = 0;
  for (const auto& part : files_parts_) out += part.bytes;
  return out;
}

void Index::release_files() const {
  for (const auto& part : files_parts_) {
    const auto& file = part.source.file->file();
    file.release(file.content());
  }
}

}  // namespace reef::search
