#include "organise/toml_blocks.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "base/text.h"
#include "base/toml_lines.h"
#include "base/utf8.h"

namespace reef::organise {
namespace {

std::string place_of(std::string_view file, const toml::node& node) {
  return fmt::format("{}:{}", file, node.source().begin.line);
}

bool is_one_line(std::string_view text) {
  return text.size() <= kTextBytesMax && text.find('\n') == std::string_view::npos &&
         utf8::printable(text) == text;
}

std::string to_text(const toml::table& table) {
  std::ostringstream out;
  out << toml::toml_formatter(table) << '\n';
  return out.str();
}

// Returns the text with the lines of one block replaced by `fresh`; nullopt when the block does not
// have lines of its own.
std::optional<std::string> cut(std::string_view text, const toml::node& block,
                               std::string_view fresh) {
  auto lines = split_lines(text);
  const std::size_t begin = block.source().begin.line;  // counted from 1
  if (begin == 0 || begin > lines.size() || !trim(lines[begin - 1], kBlanks).starts_with("[["))
    return std::nullopt;
  std::size_t end = begin;
  while (end < lines.size() && !trim(lines[end], kBlanks).starts_with('[')) ++end;
  // Comments right before the next block belong to that one.
  if (end < lines.size())
    while (end > begin &&
           (trim(lines[end - 1], kBlanks).empty() || trim(lines[end - 1], kBlanks)[0] == '#'))
      --end;
  const auto first = lines.begin() + static_cast<std::ptrdiff_t>(begin) - 1;
  const auto place = lines.erase(first, lines.begin() + static_cast<std::ptrdiff_t>(end));
  const auto added = split_lines(fresh);
  lines.insert(place, added.begin(), added.end());
  return join_lines(lines);
}

// An edit by lines counts only if it parses to what was wanted.
std::string checked(std::optional<std::string> attempt, const toml::table& wanted) {
  if (attempt) {
    const auto again = parse_toml(*attempt, "");
    if (again && *again == wanted) return *std::move(attempt);
  }
  return to_text(wanted);
}

}  // namespace

Result<toml::table> parse_toml(std::string_view text, std::string_view file) {
  if (text.size() > kFileBytesMax)
    return Error(Errc::too_large, fmt::format("{}: {} bytes are more than the {} it may have", file,
                                              text.size(), kFileBytesMax));
  try {
    return toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    return Error(Errc::invalid, fmt::format("{}:{}: {}", file, error.source().begin.line,
                                            utf8::excerpt(error.description(), 200)));
  }
}

std::string Block::place(const toml::node& node) const {
  return place_of(file_, node);
}

std::string Block::text(std::string_view key) {
  known_.emplace_back(key);
  const auto* node = table_.get(key);
  if (!node) return {};
  const auto value = node->value_exact<std::string>();
  if (!value) {
    refuse(key, "must be a string");
    return {};
  }
  if (!is_one_line(*value)) {
    refuse(key, fmt::format("must be one line of at most {} bytes", kTextBytesMax));
    return {};
  }
  return *value;
}

std::string Block::required(std::string_view key) {
  auto value = text(key);
  if (value.empty()) refuse(key, "is missing");
  return value;
}

void Block::refuse(std::string_view key, std::string_view why) {
  if (error_) return;
  const auto* node = table_.get(key);
  error_ = Error(Errc::invalid,
                 fmt::format("{}: {}.{}: {}", place(node ? *node : table_), name_, key, why));
}

Status Block::check(Status status) {
  if (!status && !error_)
    error_ = Error(Errc::invalid, fmt::format("{}: {}", place(table_), status.error().what));
  return status;
}

Status Block::finish(std::vector<std::string>& warnings) {
  if (error_) return *error_;
  for (const auto& [key, node] : table_)
    if (std::find(known_.begin(), known_.end(), key.str()) == known_.end())
      warnings.push_back(fmt::format("{}: {}.{}: unknown key, ignored", place(node), name_,
                                     utf8::excerpt(key.str())));
  return Ok{};
}

Status read_blocks(const toml::table& root, std::string_view file,
                   const std::vector<BlockKind>& kinds, std::vector<std::string>& warnings) {
  for (const auto& [key, node] : root)
    if (std::none_of(kinds.begin(), kinds.end(),
                     [&](const BlockKind& kind) { return kind.name == key.str(); }))
      warnings.push_back(fmt::format("{}: {}: unknown key, ignored", place_of(file, node),
                                     utf8::excerpt(key.str())));
  for (const auto& kind : kinds) {
    const auto* node = root.get(kind.name);
    if (!node) continue;
    const auto refuse = [&](const toml::node& where, std::string_view why) -> Status {
      return Error(Errc::invalid, fmt::format("{}: {}: {}", place_of(file, where), kind.name, why));
    };
    const auto* list = node->as_array();
    if (!list) return refuse(*node, fmt::format("must be written [[{}]]", kind.name));
    if (list->size() > kind.count_max)
      return refuse(
          *node, fmt::format("{} are more than the {} there may be", list->size(), kind.count_max));
    for (const auto& item : *list) {
      const auto* table = item.as_table();
      if (!table) return refuse(item, fmt::format("must be written [[{}]]", kind.name));
      Block block(*table, file, kind.name);
      kind.read(block);
      REEF_CHECK(block.finish(warnings));
    }
  }
  return Ok{};
}

Status check_fields(const Fields& fields) {
  for (const auto& [key, value] : fields)
    if (!is_one_line(value))
      return Error(Errc::invalid,
                   fmt::format("{} must be one line of at most {} bytes", key, kTextBytesMax));
  return Ok{};
}

std::string block_text(std::string_view name, const Fields& fields) {
  auto out = fmt::format("[[{}]]\n", name);
  for (const auto& [key, value] : fields)
    if (!value.empty()) out += fmt::format("{} = {}\n", key, toml_quoted(value));
  return out;
}

std::string with_block(std::string_view text, std::string_view name, std::optional<std::size_t> at,
                       const Fields& fields) {
  auto before = parse_toml(text, "");
  auto wanted = before ? *before : toml::table();
  auto* list = wanted.get_as<toml::array>(name);
  if (!list) list = wanted.insert_or_assign(name, toml::array()).first->second.as_array();
  auto* element = at ? list->get(*at) : nullptr;
  auto table = element && element->is_table() ? *element->as_table() : toml::table();
  for (const auto& [key, value] : fields) {
    if (value.empty()) {
      table.erase(key);
    } else {
      table.insert_or_assign(key, value);
    }
  }
  auto fresh = block_text(name, fields);
  toml::table rest;
  for (const auto& [key, node] : table)
    if (std::none_of(fields.begin(), fields.end(),
                     [&](const auto& field) { return field.first == key.str(); }))
      node.visit([&](const auto& value) { rest.insert_or_assign(key.str(), value); });
  if (!rest.empty()) fresh += to_text(rest);

  std::optional<std::string> attempt;
  if (element && before) {
    attempt = cut(text, *before->get_as<toml::array>(name)->get(*at), fresh);
    list->replace(list->cbegin() + static_cast<std::ptrdiff_t>(*at), std::move(table));
  } else {
    attempt = std::string(text);
    if (!attempt->empty() && !attempt->ends_with('\n')) *attempt += '\n';
    if (!attempt->empty()) *attempt += '\n';
    *attempt += fresh;
    list->push_back(std::move(table));
  }
  return checked(std::move(attempt), wanted);
}

std::string without_block(std::string_view text, std::string_view name, std::size_t at) {
  const auto before = parse_toml(text, "");
  if (!before) return std::string(text);
  auto wanted = *before;
  auto* list = wanted.get_as<toml::array>(name);
  if (!list || at >= list->size()) return std::string(text);
  auto attempt = cut(text, *before->get_as<toml::array>(name)->get(at), "");
  list->erase(list->cbegin() + static_cast<std::ptrdiff_t>(at));
  if (list->empty()) wanted.erase(name);
  return checked(std::move(attempt), wanted);
}

}  // namespace reef::organise
