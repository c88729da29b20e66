// Safe names for files in a session's folders, whatever they are called elsewhere. Pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace reef::session {

// The folders made beside session.jsonl when first used, in the order of their names.
std::span<const std::string_view> session_folders();
inline constexpr std::string_view kAttachmentsFolder = "attachments";
// The error, `invalid`, names the folders there are.
Status check_folder(std::string_view folder);

// A longer name is refused, not cut.
inline constexpr std::size_t kOriginalNameBytesMax = 16U << 10;
// The last part of `original` as a file name: valid UTF-8 of 1 to 240 bytes without slashes and
// control characters, never "." or "..". The ending survives where there is room.
std::string file_name_from(std::string_view original);
// name.txt, name-2.txt, name-3.txt, ...
std::string numbered_file_name(std::string_view name, unsigned number);

// Splits FOLDER/NAME, or a deeper path, into its parts. Refuses anything that could lead elsewhere.
Result<std::vector<std::string>> split_file_path(std::string_view path);

// Tells the type by the first bytes and, where they say little, by the name's ending.
inline constexpr std::size_t kTypeBytes = 512;
std::string file_type(std::string_view name, std::string_view first_bytes);

}  // namespace reef::session
