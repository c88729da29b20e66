#include "search/index.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/assert.h"

namespace reef::search {
namespace {

constexpr std::string_view kSuffix = ".seg";
constexpr std::size_t kGroupNameBytesMax = 255;

}  // namespace

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
  Opened out;
  if (const auto there = files.stat_path(directory); there && !there->directory) {
    out.problems.push_back(directory + " is not a directory; it is now " + directory + ".damaged");
    REEF_CHECK(files.rename(directory, directory + ".damaged"));
  }
  REEF_CHECK(make_directories(files, directory));
  out.index.reset(new Index(files, std::move(directory), std::move(options)));
  REEF_CHECK(out.index->load(out.problems));
  return out;
}

Status Index::load(std::vector<std::string>& problems) {
  REEF_TRY(const auto names, files_.list(directory_));
  const auto path = directory_ + "/" + std::string(kManifestName);
  if (std::find(names.begin(), names.end(), kManifestName) == names.end())
    return discard_all(names);
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
  std::vector<std::string> kept{std::string(kManifestName)};
  std::vector<std::uint32_t> lost;
  for (auto& segment : manifest->segments) {
    auto opened = open_segment(segment);
    if (opened) {
      kept.push_back(fmt::format("{}{}", segment.number, kSuffix));
      continue;
    }
    // A failing disk must not make us throw the index away.
    if (opened.error().code != Errc::corrupt && opened.error().code != Errc::not_found)
      return opened;
    problems.push_back(opened.error().what);
    lost.insert(lost.end(), segment.groups.begin(), segment.groups.end());
    manifest_stale_ = true;
  }
  for (const auto group : lost) remove_group(group);
  // A flush may have written documents of a group whose bulk was never written.
  std::size_t orphans = 0;
  for (auto& part : files_parts_)
    for (const auto group : part.groups)
      if (group_name(group).empty()) remove_documents(part, group, nullptr, orphans);
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

}  // namespace reef::search
