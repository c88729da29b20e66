// Sorted keys with small values, compressed by the bytes that neighbours share and searched in
// place.
//
//   bytes   := block*
//   block   := varint offset, 16 entries
//   entry   := u8 shared * 16 + suffix bytes (a half of 15 is followed by a varint of the excess,
//              shared first), suffix, varint extent * 2 + (value has not 3 bytes),
//              varint value bytes if so, value
//   offsets := u32 per block
//
// Each entry may own a piece of data stored elsewhere, in the same order and without gaps. The
// extent is the length of that piece; the sum of all extents before it is where it begins.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "search/checked_file.h"
#include "search/packing.h"

namespace reef::search {

class DictionaryWriter {
 public:
  // Keys must be added in ascending order.
  void add(std::string_view key, std::string_view value, std::uint64_t extent = 0);
  std::uint32_t size() const { return size_; }
  const std::string& bytes() const { return bytes_; }
  const std::string& offsets() const { return offsets_; }

 private:
  std::string bytes_;
  std::string offsets_;
  std::string last_;
  std::uint64_t extents_ = 0;
  std::uint32_t size_ = 0;
};

class Dictionary {
 public:
  static constexpr std::uint32_t kEntriesPerBlock = 16;

  Dictionary() = default;
  // `file` must own the bytes; it checks what is read.
  Dictionary(const CheckedFile* file, std::string_view bytes, std::string_view offsets,
             std::uint32_t size)
      : file_(file), bytes_(bytes), offsets_(offsets), size_(size) {}

  std::uint32_t size() const { return size_; }
  struct Entry {
    std::uint32_t ordinal = 0;
    std::string_view value;
    std::uint64_t offset = 0;
    std::uint64_t extent = 0;
  };
  std::optional<Entry> find(std::string_view key) const;
  std::optional<Entry> at(std::uint32_t ordinal) const;

  // Walks entries in order. `next` returns false at the end and where the bytes are damaged.
  class Walk {
   public:
    Walk() = default;
    bool next();
    const std::string& key() const { return key_; }
    const Entry& entry() const { return entry_; }
    // Skips whole blocks whose keys start with `beginning`, as the current key does.
    void pass(std::string_view beginning);
    // Returns the bytes that have been read and will not be read again.
    std::string_view passed() const;

   private:
    friend class Dictionary;
    const Dictionary* dictionary_ = nullptr;
    std::uint32_t ordinal_ = 0;  // number of the entry after the current one
    ByteReader at_;
    std::string key_;
    Entry entry_;
  };
  Walk walk() const { return walk_from_block(0); }
  // Walks from the first key that is not before `key`; the first `next` moves to it.
  Walk walk_from(std::string_view key) const;

 private:
  // An entry as it is stored; meaningless when the reader is not ok afterwards.
  struct Raw {
    std::uint64_t shared;
    std::string_view suffix;
    std::uint64_t extent;
    std::string_view value;
  };
  static Raw read_entry(ByteReader& in);
  Walk walk_from_block(std::uint32_t block) const;
  std::string_view block(std::uint32_t number) const;
  std::string_view first_key(std::uint32_t block) const;
  void damaged() const;
  std::uint32_t block_of(std::string_view key) const;
  std::uint32_t blocks() const { return static_cast<std::uint32_t>(offsets_.size() / 4); }

  const CheckedFile* file_ = nullptr;
  std::string_view bytes_;
  std::string_view offsets_;
  std::uint32_t size_ = 0;
};

}  // namespace reef::search
