// Addresses of backends, as people paste them.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace reef::model {

// With a scheme, without spaces, query, slash or the first of `endings` at its end: what an
// endpoint's path can be put behind.
std::string base_url_from(std::string_view text, std::initializer_list<std::string_view> endings);

// Up to `folder` in its path, as "/models/" in an address that names a model behind it; all of it
// where there is none.
std::string before_folder(std::string url, std::string_view folder);

}  // namespace reef::model
