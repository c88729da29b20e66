// Filters with a name: the built-in ones, and those in views.toml. Values and pure functions over
// the file's text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "organise/filter.h"

namespace reef::organise {

struct View {
  std::string id;
  std::string name;
  std::string filter;  // as written
  bool builtin = false;
  Filter parsed;
};

class Views {
 public:
  Views();  // the built-in ones
  explicit Views(std::vector<View> saved);

  const std::vector<View>& all() const { return all_; }
  // Fails with not_found, listing the existing views.
  Result<const View*> find(std::string_view id) const;

 private:
  std::vector<View> all_;
};

Result<Views> parse_views(std::string_view text, std::string_view file,
                          std::vector<std::string>& warnings);

// Each of these returns the file's text after the change; the rest of the text stays as it is.
Result<std::string> add_view(std::string_view text, const View& view);
struct ViewChange {  // nullopt: unchanged
  std::optional<std::string> name, filter;
};
Result<std::string> set_view(std::string_view text, std::string_view id, const ViewChange& change);
Result<std::string> remove_view(std::string_view text, std::string_view id);

}  // namespace reef::organise
