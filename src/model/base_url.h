// Normalises addresses of backends as people paste them.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace reef::model {

// Returns an address that an endpoint's path can be appended to: with a scheme, without spaces and
// query, and without a slash or the first matching one of `endings` at its end.
std::string base_url_from(std::string_view text, std::initializer_list<std::string_view> endings);

// Cuts the address before `folder`, such as "/models/" where a pasted address names a model;
// unchanged when `folder` does not occur.
std::string before_folder(std::string url, std::string_view folder);

}  // namespace reef::model
