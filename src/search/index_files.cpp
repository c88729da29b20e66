// Index: the jobs on its files, and the manifest.

#include <algorithm>
#include <utility>

#include "search/index.h"

namespace reef::search {
namespace {

// One step of a job handles this many postings and takes some milliseconds.
constexpr std::size_t kStepPostings = 200'000;
// Segments up to this size count as the smallest.
constexpr std::uint32_t kTierDocuments = 2048;
// A segment is rewritten when one document in this many is deleted.
constexpr std::uint32_t kDeletedShare = 4;
// A thorough merge leaves a segment alone when it is this many times as large as all smaller ones.
constexpr std::uint32_t kAlike = 4;
// A thorough merge makes one segment of all when one document in this many came in a bulk.
constexpr std::uint64_t kFreshShare = 4;

}  // namespace

Result<bool> Job::step() {
  if (done_) return true;
  REEF_TRY(done_, build_->step(kStepPostings));
  if (done_ && build_->documents() > 0) opened_ = build_->open();
  return done_;
}

Status ManifestWrite::write() {
  // The names of the segments must be durable before the manifest mentions them.
  REEF_CHECK(files_->sync_directory(directory_));
  REEF_CHECK(replace_atomically(*files_, directory_ + "/" + std::string(kManifestName), bytes_));
  for (const auto& path : obsolete_)
    static_cast<void>(files_->remove(path).ok());  // a file left behind is removed by the next open
  return Ok{};
}

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
  // After a failure the frozen documents are tried again; later ones wait for the next flush.
  const bool again = frozen_.has_value();
  if (!again && memory_segment_->size() > 0) {
    frozen_ = std::move(memory_);
    new_memory();
  }
  if (!again) {
    frozen_covered_.clear();
    for (std::uint32_t n = 0; n < groups_.size(); ++n)
      if (!groups_[n].name.empty() &&
          (!groups_[n].stored || groups_[n].covered != groups_[n].stored_covered))
        frozen_covered_.push_back({n, groups_[n].covered});
  }
  job.covered_ = frozen_covered_;
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
      // The group was removed while the bulk was filled.
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
    // The smallest full tier costs least.
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

// Returns all segments when many of their documents were never merged with the rest.
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

// Returns the segments less than four times as large as all smaller ones together, and those
// smaller ones.
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

// Carries over the deletions made while the job ran.
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
    // A source was dropped meanwhile; the result would bring its documents back.
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

// Records what a finished flush or bulk makes durable of its groups.
void Index::cover(const Job& job) {
  for (const auto& [number, covered] : job.covered_) {
    auto& group = groups_[number];
    if (group.name.empty()) continue;
    if (job.kind_ == Job::Kind::flush && group.in_bulk) {
      group.behind_bulk = covered;
      continue;
    }
    group.stored = true;
    // A flush may have finished before a bulk that began earlier.
    group.stored_covered =
        std::max({covered, group.stored_covered, std::exchange(group.behind_bulk, 0)});
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
        static_cast<void>(finish(*std::move(job)).ok());  // `done` has the error
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
