// read shows a file as numbered lines, or as an image.

#include <algorithm>

#include <fmt/format.h>

#include "base/base64.h"
#include "base/utf8.h"
#include "hooks/os/files.h"
#include "hooks/os/tools.h"
#include "session/file_names.h"

namespace reef::hooks::os {
namespace {

using runtime::ToolAnswer;
using Type = Parameter::Type;

constexpr std::int64_t kLinesDefault = 2000;
constexpr std::size_t kShownLineBytesMax = 2000;
// Every provider takes images up to this size.
constexpr std::uint64_t kImageBytesMax = 5'000'000;
constexpr std::size_t kLookedAt = 64U << 10;

const Parameter kOffset{.name = "offset",
                        .type = Type::integer,
                        .description = "First line to show, from 1.",
                        .min = 1};
const Parameter kLimit{.name = "limit",
                       .type = Type::integer,
                       .description = "How many lines at most; 2000 if not given.",
                       .min = 1};

struct Looked {
  std::string path;  // resolved
  std::string fingerprint;
  ToolAnswer answer;
};

std::string_view without_mark(std::string_view bytes) {
  return bytes.starts_with("\xef\xbb\xbf") ? bytes.substr(3) : bytes;
}

// Returns `N<tab>line` for each line, and says which part of the file that is.
std::string numbered(std::string_view text, std::size_t first, std::size_t count,
                     std::size_t bytes_max) {
  const auto total = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) +
                     (text.empty() || text.ends_with('\n') ? 0 : 1);
  if (total == 0) return "--- the file is empty ---";
  if (first > total)
    return fmt::format("--- {} total lines (offset {} is past the end of the file) ---", total,
                       first);
  std::string out;
  std::size_t number = 0, last = 0;
  bool full = false;
  while (!text.empty() && number < first - 1 + count) {
    const auto end = text.find('\n');
    auto line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (++number < first) continue;
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto part = utf8::prefix(line, kShownLineBytesMax);
    auto shown = fmt::format("{}\t{}", number, utf8::sanitize(part));
    if (part.size() < line.size())
      shown += fmt::format(" [cut: the line has {} bytes]", line.size());
    if (!out.empty() && out.size() + shown.size() + 1 > bytes_max) {
      full = true;
      break;
    }
    out += shown + "\n";
    last = number;
  }
  if (first == 1 && last == total) return out + fmt::format("\n--- {} total lines ---", total);
  out += fmt::format("\n--- {} total lines (showing lines {}-{}{}) ---", total, first, last,
                     full ? "; there was no room for more" : "");
  return out;
}

ToolAnswer image(std::string_view bytes, const std::string& type) {
  if (bytes.size() > kImageBytesMax)
    return failed(fmt::format("the image ({}) has {} bytes; up to {} can be shown", type,
                              bytes.size(), kImageBytesMax));
  ToolAnswer answer{fmt::format("{}, {} bytes", type, bytes.size())};
  answer.images.push_back(session::ImageBlock{to_base64(bytes), type});
  return answer;
}

Result<Looked> look(const PathRules& paths, const std::string& wanted, std::size_t first,
                    std::size_t count, std::size_t bytes_max) {
  Looked out;
  REEF_TRY(out.path, resolve_to_read(paths, wanted));
  REEF_TRY(const auto content, read_file(out.path));
  const std::string_view bytes = content.bytes;
  out.fingerprint = fingerprint(bytes);
  const auto begin = bytes.substr(0, session::kTypeBytes);
  const auto type = session::file_type("", begin);
  if (type == "image/png" || type == "image/jpeg" || type == "image/gif" || type == "image/webp") {
    out.answer = image(bytes, type);
    return out;
  }
  const bool text = type.starts_with("text/") || type == "application/octet-stream";
  if (!text || bytes.substr(0, kLookedAt).find('\0') != std::string_view::npos)
    return Error(Errc::unsupported,
                 fmt::format("{} is not text but {}, {} bytes", utf8::excerpt(wanted, 200),
                             session::file_type(out.path, begin), bytes.size()));
  const auto plain = without_mark(bytes);
  out.answer.text = numbered(plain, first, count, bytes_max);
  if (!utf8::valid(plain))
    out.answer.text += "\n(Not all of it is UTF-8; what is not is shown as \xef\xbf\xbd.)";
  return out;
}

}  // namespace

const Description kRead{
    "read",
    "Read a file: its lines with their numbers, or an image (png, jpeg, gif, webp). Read a file "
    "before you change it.",
    {{.name = "path",
      .description = "Absolute, from ~, or relative to the working directory.",
      .required = true},
     kOffset,
     kLimit}};

Task<ToolAnswer> read(const CallNeeds& needs, const json::object& arguments) {
  if (const auto good = check(kRead, arguments); !good) co_return failed(good.error().what);
  const auto first = static_cast<std::size_t>(integer_of(arguments, kOffset, 1));
  const auto count = static_cast<std::size_t>(integer_of(arguments, kLimit, kLinesDefault));
  auto work = [&needs, wanted = text_of(arguments, "path"), first, count] {
    return look(needs.paths, wanted, first, std::min<std::size_t>(count, 1U << 30),
                needs.shown_bytes);
  };
  auto looked = co_await needs.pool.run(work);
  if (!looked) co_return failed(std::move(looked).error().what);
  needs.seen.note(needs.session, looked->path, std::move(looked->fingerprint));
  co_return std::move(looked->answer);
}

}  // namespace reef::hooks::os
