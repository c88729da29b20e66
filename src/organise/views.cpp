#include "organise/views.h"

#include <fmt/format.h>

#include "base/assert.h"
#include "base/utf8.h"
#include "organise/toml_blocks.h"
#include "organise/values.h"

namespace reef::organise {
namespace {

constexpr std::size_t kViewsMax = 200;

struct BuiltIn {
  std::string_view id, name, filter;
};
constexpr BuiltIn kBuiltIn[] = {
    {"all", "All", ""},
    {"active", "Active", "-is:archived"},
    {"inbox", "Inbox", "-is:archived status:open"},
    {"completed", "Completed", "-is:archived status:closed"},
    {"archived", "Archived", "is:archived"},
    {"flagged", "Flagged", "is:flagged"},
    {"unread", "Unread", "is:unread"},
};

bool is_builtin(std::string_view id) {
  for (const auto& view : kBuiltIn)
    if (view.id == id) return true;
  return false;
}

Status check_own(std::string_view id) {
  if (is_builtin(id))
    return Error(Errc::invalid, fmt::format("view '{}' is built in and stays as it is", id));
  return Ok{};
}

Fields fields_of(const View& view) {
  return {
      {"id", view.id}, {"name", view.name == view.id ? "" : view.name}, {"filter", view.filter}};
}

Error no_view(std::string_view id, const std::vector<View>& list) {
  std::string known;
  for (const auto& view : list) known += fmt::format("{}{}", known.empty() ? "" : ", ", view.id);
  return Error(Errc::not_found, fmt::format("unknown view '{}'; there are: {}", utf8::excerpt(id),
                                            utf8::excerpt(known, 500)));
}

Result<std::vector<View>> read(std::string_view text, std::string_view file,
                               std::vector<std::string>& warnings) {
  REEF_TRY(const auto root, parse_toml(text, file));
  std::vector<View> saved;
  const auto read_one = [&](Block& block) {
    View view;
    view.id = block.required("id");
    view.name = block.text("name");
    view.filter = block.required("filter");
    if (view.name.empty()) view.name = view.id;
    static_cast<void>(block.check(check_id("view", view.id)));
    static_cast<void>(block.check(check_own(view.id)));
    for (const auto& other : saved)
      if (other.id == view.id) block.refuse("id", fmt::format("'{}' is there twice", view.id));
    if (auto filter = parse_filter(view.filter)) {
      view.parsed = *std::move(filter);
    } else {
      block.refuse("filter", filter.error().what);
    }
    saved.push_back(std::move(view));
  };
  REEF_CHECK(read_blocks(root, file, {{"view", kViewsMax, read_one}}, warnings));
  return saved;
}

Result<std::vector<View>> read_before_change(std::string_view text) {
  std::vector<std::string> ignored;
  return read(text, "views.toml", ignored);
}

std::optional<std::size_t> place_of(const std::vector<View>& saved, std::string_view id) {
  for (std::size_t i = 0; i < saved.size(); ++i)
    if (saved[i].id == id) return i;
  return std::nullopt;
}

Status check_view(const View& view) {
  if (view.filter.find_first_not_of(" \t") == std::string::npos)
    return Error(Errc::invalid, "a view needs a filter");
  if (auto filter = parse_filter(view.filter); !filter) return std::move(filter).error();
  return check_fields(fields_of(view));
}

}  // namespace

Views::Views() : Views(std::vector<View>()) {}

Views::Views(std::vector<View> saved) {
  for (const auto& builtin : kBuiltIn) {
    auto filter = parse_filter(builtin.filter);
    REEF_ASSERT(filter.ok());
    all_.push_back(View{std::string(builtin.id), std::string(builtin.name),
                        std::string(builtin.filter), true, *std::move(filter)});
  }
  for (auto& view : saved) all_.push_back(std::move(view));
}

Result<const View*> Views::find(std::string_view id) const {
  for (const auto& view : all_)
    if (view.id == id) return &view;
  return no_view(id, all_);
}

Result<Views> parse_views(std::string_view text, std::string_view file,
                          std::vector<std::string>& warnings) {
  REEF_TRY(auto saved, read(text, file, warnings));
  return Views(std::move(saved));
}

Result<std::string> add_view(std::string_view text, const View& view) {
  REEF_TRY(const auto saved, read_before_change(text));
  REEF_CHECK(check_id("view", view.id));
  if (place_of(saved, view.id) || is_builtin(view.id))
    return Error(Errc::conflict, fmt::format("view '{}' exists", view.id));
  if (saved.size() >= kViewsMax)
    return Error(Errc::too_large, fmt::format("{} views are the most there may be", kViewsMax));
  REEF_CHECK(check_view(view));
  return with_block(text, "view", std::nullopt, fields_of(view));
}

Result<std::string> set_view(std::string_view text, std::string_view id, const ViewChange& change) {
  REEF_TRY(const auto saved, read_before_change(text));
  REEF_CHECK(check_own(id));
  const auto place = place_of(saved, id);
  if (!place) return no_view(id, Views(saved).all());
  auto view = saved[*place];
  if (change.name) view.name = *change.name;
  if (change.filter) view.filter = *change.filter;
  REEF_CHECK(check_view(view));
  return with_block(text, "view", place, fields_of(view));
}

Result<std::string> remove_view(std::string_view text, std::string_view id) {
  REEF_TRY(const auto saved, read_before_change(text));
  REEF_CHECK(check_own(id));
  const auto place = place_of(saved, id);
  if (!place) return no_view(id, Views(saved).all());
  return without_block(text, "view", *place);
}

}  // namespace reef::organise
