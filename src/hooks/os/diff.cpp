#include "hooks/os/diff.h"

#include "base/utf8.h"
#include "render/file_change.h"

namespace reef::hooks::os {

Diff unified_diff(std::string_view before, std::string_view after, std::string_view name) {
  Diff out;
  if (before == after) return out;
  while (name.starts_with('/')) name.remove_prefix(1);
  render::ChangeOptions options;
  options.bytes_max = SIZE_MAX;
  const auto change = render::make_change(before.empty() ? "" : name, before,
                                          after.empty() ? "" : name, after, options);
  out.added = change.added();
  out.removed = change.removed();
  out.text = utf8::sanitize(render::unified(change));
  return out;
}

}  // namespace reef::hooks::os
