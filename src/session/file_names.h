// Names of files in a session's folders, whatever somebody else called them. Pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace reef::session {

// Made beside session.jsonl when first used; in the order of their names.
std::span<const std::string_view> session_folders();
inline constexpr std::string_view kAttachmentsFolder = "attachments";
// invalid, naming those there are.
Status check_folder(std::string_view folder);

// What is longer is refused, not cut.
inline constexpr std::size_t kOriginalNameBytesMax = 16U << 10;
// The last part of `original` as a file name: valid UTF-8 of 1 to 240 bytes without slashes and
// control characters, never "." or "..". The ending survives where there is room.
std::string file_name_from(std::string_view original);
// name.txt, name-2.txt, name-3.txt, ...
std::string numbered_file_name(std::string_view name, unsigned number);

// FOLDER/NAME, or deeper, into its parts. Anything that could lead elsewhere is refused.
Result<std::vector<std::string>> split_file_path(std::string_view path);

// The type by what the bytes begin with and, where that says little, by the name's ending.
inline constexpr std::size_t kTypeBytes = 512;
std::string file_type(std::string_view name, std::string_view first_bytes);

}  // namespace reef::session
