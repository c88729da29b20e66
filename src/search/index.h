// A persistent full-text index in one directory. One thread at a time, its owner's; only the steps
// of jobs run elsewhere.
//
// Documents belong to groups. What changes about a group (status, labels) stays with the caller and
// comes in as a filter; what is fixed about a document (time, role) is stored with it.
//
// Documents are searchable once added and durable once a flush is finished. After a crash the
// caller reads again what lies after the covered number of each group, and groups the index does
// not know.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/files.h"
#include "search/manifest.h"
#include "search/searcher.h"

namespace reef::search {

struct IndexOptions {
  std::vector<float> weights;  // of the fields, at most kFieldsMax; all above 0
  // Then a flush is wanted.
  std::size_t memory_bytes_max = 24 * 1024 * 1024;
  std::uint32_t memory_documents_max = 16 * 1024;
  // So many segments of about one size become one; larger ones than the last are left alone.
  std::size_t merge_segments = 6;
  std::uint32_t merge_documents_max = 4 * 1024 * 1024;
  // In segments from this size on, what common words are worth is kept from search to search.
  std::uint32_t rough_documents_min = 8 * 1024;
};

// Work on files, planned and finished by the index, done on any thread in between.
class Job {
 public:
  // A bounded piece of work; true when there is no more. After an error the job is over.
  Result<bool> step();

 private:
  friend class Index;
  struct Covered {
    std::uint32_t group;
    std::uint64_t covered;
  };
  enum class Kind : std::uint8_t { flush, merge, bulk };

  std::unique_ptr<Build> build_;
  Kind kind_ = Kind::flush;
  bool done_ = false;
  // The new segment, once it is done; nothing where no document is left.
  Result<std::shared_ptr<const Segment>> opened_ = std::shared_ptr<const Segment>();
  std::uint64_t number_ = 0;            // of the new segment
  std::vector<std::uint64_t> sources_;  // of a merge
  std::vector<Covered> covered_;        // of a flush or a bulk
};

// What the files of the index are, to be written down on any thread.
class ManifestWrite {
 public:
  Status write();

 private:
  friend class Index;
  Files* files_ = nullptr;
  std::string directory_;
  std::string bytes_;
  std::vector<std::string> obsolete_;  // files that are not needed once it is written
};

// Many documents at once, taken in beside the index: any thread, one at a time. Nothing is found
// before the index has it.
class Bulk {
 public:
  // About so much memory will be used.
  explicit Bulk(std::size_t bytes = 0) { segment_->expect(bytes); }
  void add(const DocumentRow& row, std::span<const FieldText> fields) {
    segment_->add(row, fields, tokenizer_);
  }
  // Nothing is added any more. Done here it spares the index the time.
  void freeze() { segment_->freeze(); }
  std::size_t memory_bytes() const { return segment_->memory_bytes(); }
  std::uint32_t size() const { return segment_->size(); }

 private:
  friend class Index;
  std::shared_ptr<MemorySegment> segment_ = std::make_shared<MemorySegment>();
  Tokenizer tokenizer_;
};

class Index {
 public:
  struct Opened {
    std::unique_ptr<Index> index;
    // What was damaged or of another version and had to be dropped; groups are missing then and the
    // caller adds them again, as it does with any group the index does not know.
    std::vector<std::string> problems;
  };
  // Makes the directory when it is missing. Files that are not part of the index are removed.
  static Result<Opened> open(Files& files, std::string directory, IndexOptions options);
  ~Index();

  // --- groups ---
  // The number of a group, a new one when there is none. Names are at most 255 bytes.
  std::uint32_t group(std::string_view name);
  std::optional<std::uint32_t> find_group(std::string_view name) const;
  std::string_view group_name(std::uint32_t group) const;  // empty: no such group
  std::uint64_t covered(std::uint32_t group) const;
  // What the caller will be told after a restart, once a flush that starts after this call is done.
  void set_covered(std::uint32_t group, std::uint64_t covered);
  std::vector<std::uint32_t> groups() const;

  // --- documents ---
  // At most one text per field; behind kWordsMax words of a text no phrases are found. A key
  // may be used more than once.
  void add(const DocumentRow& row, std::span<const FieldText> fields);
  // How many there were.
  std::size_t remove(std::uint32_t group, std::uint64_t key);
  void remove_group(std::uint32_t group);
  std::uint64_t documents() const;  // without deleted ones

  // --- search ---
  // Words that may be missing and that no document has, nor one of their forms, become the nearest
  // word that some have, when there is one.
  Searcher prepare_mended(Query& query);
  // Good until the index changes; `query` is copied.
  Searcher prepare(const Query& query);
  // The nearest documents of the same group by key, up to so many on each side, in order.
  std::vector<Hit> neighbours(const Hit& hit, std::size_t before, std::size_t after) const;
  // The documents within `reach` places of one of these and not among them, each once, by group and
  // key. Of their rows only these two are filled in; fill_row does the rest.
  std::vector<Hit> around(std::span<const Hit> hits, std::size_t reach) const;
  void fill_row(Hit& hit) const { hit.row = part(hit.unit).source.row(hit.document); }
  // All of a group, in the order of keys.
  std::vector<Hit> documents_of(std::uint32_t group) const;
  // Everything the statistics cover, deleted documents included.
  void visit_stored(const std::function<void(const DocumentRow&, bool deleted)>& f) const;
  Statistics statistics() const;

  // --- files ---
  bool wants_flush() const;
  // Who adds many documents at once may wait for more than wants_flush asks for: larger segments
  // spare merges.
  std::size_t memory_bytes() const { return memory_segment_->memory_bytes(); }
  // Something would be lost or read again after a restart.
  bool dirty() const;
  // Plans writing down what is in memory; nothing while one is under way.
  std::optional<Job> begin_flush();
  // Takes in a frozen bulk, which holds all documents of these groups so far: they are found from
  // now on. Plans writing it down; any number may be under way. When that fails the groups are
  // removed, with what was added to them since.
  struct BulkGroup {
    std::uint32_t group = 0;
    std::uint64_t covered = 0;
  };
  Job begin_bulk(const Bulk& bulk, std::span<const BulkGroup> groups);
  // Plans a merge when there is one to do; nothing while one is under way. A thorough one, for when
  // nothing else is to be done, leaves few segments: each at least four times all smaller ones, or,
  // where a good part came as bulks, one.
  std::optional<Job> begin_merge(bool thorough = false);
  // Puts the job's result in place, also that of a failed one. On an error everything stays
  // searchable and the next flush tries again. Durable once the manifest is written.
  Status put_in_place(Job job);
  // Plans writing the manifest where it is behind; nothing while one is under way. What changes
  // meanwhile is in the next one.
  std::optional<ManifestWrite> begin_manifest();
  void end_manifest(ManifestWrite write, bool written);
  bool manifest_under_way() const { return manifest_under_way_; }
  // All three here and now.
  Status finish(Job job);
  // All of it here and now.
  Status flush();
  // Drops segments found damaged while searching or merging, with all documents of their groups.
  // Returns the names of these groups: they are unknown now.
  std::vector<std::string> drop_damaged();
  bool damaged() const;

  std::uint64_t file_bytes() const;
  // Gives back the memory in which files are mapped; what is needed comes again from the system's
  // cache.
  void release_files() const;
  std::size_t file_count() const { return files_parts_.size(); }

 private:
  struct Part {
    std::uint64_t number = 0;  // 0: in memory
    std::uint64_t bulk = 0;    // in memory: the number it will have
    std::uint64_t bytes = 0;
    Source source;
    Tombstones deleted;
    // Of a file, once it is searched.
    std::unique_ptr<Norms> norms;
    std::unique_ptr<RoughShelf> rough;
    std::vector<std::uint32_t> groups;
    bool merging = false;
    bool fresh = false;  // of a bulk, and not merged with all others since
  };
  struct Group {
    std::string name;  // empty: gone
    std::uint64_t covered = 0;
    bool stored = false;  // in a finished flush
    std::uint64_t stored_covered = 0;
    // In a bulk that is being written down; and what finished flushes cover if that succeeds.
    bool in_bulk = false;
    std::uint64_t behind_bulk = 0;
  };

  Index(Files& files, std::string directory, IndexOptions options);
  Status load(std::vector<std::string>& problems);
  Status discard_all(const std::vector<std::string>& names);
  Status open_segment(ManifestSegment& segment);
  void new_memory();
  std::string path_of(std::uint64_t number) const;
  void for_parts(const std::function<void(const Part&)>& f) const;
  const Part& part(std::uint32_t unit) const;
  // The segment of the hit holds its whole group.
  bool alone(const Hit& hit) const;
  std::vector<Part*> parts();
  std::vector<Unit> units();
  void remove_documents(Part& part, std::uint32_t group, const std::uint64_t* key,
                        std::size_t& count);
  std::vector<Part*> too_alike();
  std::vector<Part*> all_if_fresh();
  Status install(Job& job);
  void cover(const Job& job);
  void drop_bulk(const Job& job);
  void carry_deletes(const Job& job, std::span<Part* const> sources, Part& into) const;
  Status write_manifest_now();
  std::vector<std::string> drop(const std::vector<std::uint64_t>& numbers);

  Files& files_;
  std::string directory_;
  IndexOptions options_;
  Tokenizer tokenizer_;
  Stemmer stemmer_;

  std::vector<Part> files_parts_;
  std::vector<Part> bulks_;                   // being written down
  std::optional<Part> frozen_;                // being written down
  std::vector<Job::Covered> frozen_covered_;  // with it
  Part memory_;
  std::shared_ptr<MemorySegment> memory_segment_;  // of memory_
  bool flushing_ = false;
  bool merging_ = false;
  bool manifest_stale_ = false;
  bool manifest_under_way_ = false;
  std::vector<std::string> obsolete_;  // files the next manifest does not need any more

  std::vector<Group> groups_;
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const {
      return std::hash<std::string_view>()(name);
    }
  };
  std::unordered_map<std::string, std::uint32_t, NameHash, std::equal_to<>> by_name_;
  std::uint64_t next_segment_ = 1;
};

}  // namespace reef::search
