// A persistent full-text index in one directory. It belongs to one thread at a time; only the steps
// of jobs run elsewhere.
//
// Documents belong to groups. The changing attributes of a group (status, labels) stay with the
// caller and come in as a filter; the fixed ones of a document (time, role) are stored with it.
//
// Documents are searchable once added and durable once a flush is finished. After a crash the
// caller must add again what lies after the covered number of each group, and all groups that the
// index does not know.
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
  std::vector<float> weights;  // one per field, at most kFieldsMax; all above 0
  // A flush is wanted when memory holds this many bytes or documents.
  std::size_t memory_bytes_max = 24 * 1024 * 1024;
  std::uint32_t memory_documents_max = 16 * 1024;
  // This many segments of about one size are merged into one; segments larger than the second limit
  // are left alone.
  std::size_t merge_segments = 6;
  std::uint32_t merge_documents_max = 4 * 1024 * 1024;
  // Segments of at least this size keep the worth of common words from search to search.
  std::uint32_t rough_documents_min = 8 * 1024;
};

// Work on files. The index plans and finishes it; the steps in between run on any thread.
class Job {
 public:
  // Does a bounded piece of work; true when none is left. After an error the job is over.
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
  // The new segment, once it is done; null when no document is left.
  Result<std::shared_ptr<const Segment>> opened_ = std::shared_ptr<const Segment>();
  std::uint64_t number_ = 0;            // of the new segment
  std::vector<std::uint64_t> sources_;  // of a merge
  std::vector<Covered> covered_;        // of a flush or a bulk
};

// The index's list of files, to be written on any thread.
class ManifestWrite {
 public:
  Status write();

 private:
  friend class Index;
  Files* files_ = nullptr;
  std::string directory_;
  std::string bytes_;
  std::vector<std::string> obsolete_;  // files that nothing needs once the manifest is written
};

// Takes in many documents beside the index, on any thread but only one at a time. A search finds
// them only after Index::begin_bulk.
class Bulk {
 public:
  // `bytes` is about how much memory will be used.
  explicit Bulk(std::size_t bytes = 0) { segment_->expect(bytes); }
  void add(const DocumentRow& row, std::span<const FieldText> fields) {
    segment_->add(row, fields, tokenizer_);
  }
  // Nothing can be added afterwards. Calling it here spares the index the time.
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
    // Says what was damaged or of another version and was dropped. The groups concerned are gone;
    // the caller adds them again, like any group that the index does not know.
    std::vector<std::string> problems;
  };
  // Makes the directory when it is missing. Files that are not part of the index are removed.
  static Result<Opened> open(Files& files, std::string directory, IndexOptions options);
  ~Index();

  // --- groups ---
  // Returns the number of a group, a new one when the name is new. Names have at most 255 bytes.
  std::uint32_t group(std::string_view name);
  std::optional<std::uint32_t> find_group(std::string_view name) const;
  std::string_view group_name(std::uint32_t group) const;  // empty when there is no such group
  std::uint64_t covered(std::uint32_t group) const;
  // After a restart covered() gives this number, once a flush that starts after this call is done.
  void set_covered(std::uint32_t group, std::uint64_t covered);
  std::vector<std::uint32_t> groups() const;

  // --- documents ---
  // At most one text per field; phrases are not found behind the first kWordsMax words of a text. A
  // key may be used more than once.
  void add(const DocumentRow& row, std::span<const FieldText> fields);
  // Returns how many documents were removed.
  std::size_t remove(std::uint32_t group, std::uint64_t key);
  void remove_group(std::uint32_t group);
  std::uint64_t documents() const;  // without deleted ones

  // --- search ---
  // Prepares the query after replacing optional words that no document has in any form by the
  // nearest word that some documents have, if there is one.
  Searcher prepare_mended(Query& query);
  // The searcher is valid until the index changes; `query` is copied.
  Searcher prepare(const Query& query);
  // Returns the nearest documents of the same group by key, up to this many on each side, in order.
  std::vector<Hit> neighbours(const Hit& hit, std::size_t before, std::size_t after) const;
  // Returns the documents within `reach` places of one of these and not among them, each once, by
  // group and key. Only these two fields of their rows are filled in; fill_row does the rest.
  std::vector<Hit> around(std::span<const Hit> hits, std::size_t reach) const;
  void fill_row(Hit& hit) const { hit.row = part(hit.unit).source.row(hit.document); }
  // Returns all documents of a group in the order of keys.
  std::vector<Hit> documents_of(std::uint32_t group) const;
  // Visits every document that the statistics cover, including deleted ones.
  void visit_stored(const std::function<void(const DocumentRow&, bool deleted)>& f) const;
  Statistics statistics() const;

  // --- files ---
  bool wants_flush() const;
  // A caller that adds many documents at once may let this grow beyond what wants_flush asks for:
  // larger segments spare merges.
  std::size_t memory_bytes() const { return memory_segment_->memory_bytes(); }
  // True when a restart would lose something or make the caller add it again.
  bool dirty() const;
  // Plans writing the documents in memory to a file; nullopt when there are none or a flush is
  // under way.
  std::optional<Job> begin_flush();
  // Takes in a frozen bulk, which must hold all documents of these groups so far; they are
  // searchable at once. Plans writing it to a file; any number of these jobs may be under way. When
  // the job fails, the groups are removed together with everything added to them since.
  struct BulkGroup {
    std::uint32_t group = 0;
    std::uint64_t covered = 0;
  };
  Job begin_bulk(const Bulk& bulk, std::span<const BulkGroup> groups);
  // Plans a merge if one is due and none is under way. A thorough merge, for idle times, leaves few
  // segments: each at least four times as large as all smaller ones together, or a single one when
  // a good part of the documents came in bulks.
  std::optional<Job> begin_merge(bool thorough = false);
  // Puts the job's result in place; failed jobs must come here, too. After an error everything
  // stays searchable and the next flush tries again. The result is durable once the manifest is
  // written.
  Status put_in_place(Job job);
  // Plans writing the manifest if it is out of date and no write is under way. Later changes go
  // into the next manifest.
  std::optional<ManifestWrite> begin_manifest();
  void end_manifest(ManifestWrite write, bool written);
  bool manifest_under_way() const { return manifest_under_way_; }
  // Puts the job in place and writes the manifest, on this thread.
  Status finish(Job job);
  // Does a whole flush on this thread.
  Status flush();
  // Drops the segments that searches or merges found damaged, with all documents of their groups.
  // Returns the names of these groups; the index no longer knows them.
  std::vector<std::string> drop_damaged();
  bool damaged() const;

  std::uint64_t file_bytes() const;
  // Gives back the memory in which files are mapped; the system's cache supplies again what is
  // needed.
  void release_files() const;
  std::size_t file_count() const { return files_parts_.size(); }

 private:
  struct Part {
    std::uint64_t number = 0;  // 0: in memory
    std::uint64_t bulk = 0;    // in memory: the number that its file will have
    std::uint64_t bytes = 0;
    Source source;
    Tombstones deleted;
    // Made when a file is first searched.
    std::unique_ptr<Norms> norms;
    std::unique_ptr<RoughShelf> rough;
    std::vector<std::uint32_t> groups;
    bool merging = false;
    bool fresh = false;  // came in a bulk and has not been merged with all others since
  };
  struct Group {
    std::string name;  // empty when the group is gone
    std::uint64_t covered = 0;
    bool stored = false;  // in a finished flush
    std::uint64_t stored_covered = 0;
    // Set while the group's bulk is being written; behind_bulk is what finished flushes cover if
    // the bulk succeeds.
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
  // True when the segment of the hit holds its whole group.
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
  std::vector<Job::Covered> frozen_covered_;  // covered by frozen_
  Part memory_;
  std::shared_ptr<MemorySegment> memory_segment_;  // the segment in memory_
  bool flushing_ = false;
  bool merging_ = false;
  bool manifest_stale_ = false;
  bool manifest_under_way_ = false;
  std::vector<std::string> obsolete_;  // files that the next manifest no longer needs

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
