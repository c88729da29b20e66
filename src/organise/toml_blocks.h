// The common shape of the three files: lists of [[blocks]] with texts in them. Reading names the
// line of an error; editing changes one block and leaves every other line as it is, comments
// included. Pure functions.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <toml++/toml.h>

#include "base/result.h"

namespace reef::organise {

inline constexpr std::size_t kFileBytesMax = 1U << 20;
inline constexpr std::size_t kTextBytesMax = 1024;

// Errors begin with `file`.
Result<toml::table> parse_toml(std::string_view text, std::string_view file);

// Reads one block; remembers the first error and which keys were asked for.
class Block {
 public:
  Block(const toml::table& table, std::string_view file, std::string_view name)
      : table_(table), file_(file), name_(name) {}

  // Returns an empty text when the key is absent. Control characters are refused, so texts are one
  // line.
  std::string text(std::string_view key);
  std::string required(std::string_view key);
  void refuse(std::string_view key, std::string_view why);
  Status check(Status status);  // refuses an error, and returns it

  // Call it last. Keys that nobody asked for become warnings.
  Status finish(std::vector<std::string>& warnings);

 private:
  std::string place(const toml::node& node) const;

  const toml::table& table_;
  std::string_view file_;
  std::string_view name_;
  std::vector<std::string> known_;
  std::optional<Error> error_;
};

struct BlockKind {
  std::string_view name;  // as in [[name]]
  std::size_t count_max;
  std::function<void(Block&)> read;
};
// Reads all blocks of the kinds a file may hold, in order within each kind.
Status read_blocks(const toml::table& root, std::string_view file,
                   const std::vector<BlockKind>& kinds, std::vector<std::string>& warnings);

// The texts of one block in the order in which they are written; empty ones are left out.
using Fields = std::vector<std::pair<std::string_view, std::string>>;

// Refuses texts that could not be read back: several lines, control characters, too long.
Status check_fields(const Fields& fields);
std::string block_text(std::string_view name, const Fields& fields);
// Returns the text with block number `at` of that name replaced (keys not in `fields` stay), or
// with a new block at the end when `at` is nullopt. `text` must be valid TOML.
std::string with_block(std::string_view text, std::string_view name, std::optional<std::size_t> at,
                       const Fields& fields);
std::string without_block(std::string_view text, std::string_view name, std::size_t at);

}  // namespace reef::organise
