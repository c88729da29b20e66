// Text is bytes until it is shown or stored as JSON; these functions keep it valid on the way.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace reef::utf8 {

bool valid(std::string_view text);
// Bytes of the character at the front of `text`, which must not be empty; 0 when it is not valid.
std::size_t char_length(std::string_view text);
// Adds a code point; U+FFFD in the place of half a surrogate pair and of what is beyond U+10FFFF.
void append(std::string& out, std::uint32_t point);
// Every invalid sequence becomes U+FFFD; valid text comes back unchanged.
std::string sanitize(std::string_view text);
// The longest prefix of at most `bytes_max` bytes that does not cut a character.
std::string_view prefix(std::string_view text, std::size_t bytes_max);
// The same, counted in characters.
std::string_view prefix_chars(std::string_view text, std::size_t chars_max);
// For names, titles and pages: valid, without control characters other than newline and tab, and
// without those that reorder what is read. Foreign text for a terminal goes through visible().
std::string printable(std::string_view text);
// For errors and logs: one printable line of at most `bytes_max` bytes, with "..." where it was
// cut, so that a hostile name can neither fill a log nor drive a terminal.
std::string excerpt(std::string_view text, std::size_t bytes_max = 60);
// ASCII letters in lower case, everything else as it is.
std::string lower_ascii(std::string_view text);
// One line: runs of white space become one space, ends trimmed.
std::string single_line(std::string_view text);

}  // namespace reef::utf8
