#include "hooks/os/output.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/utf8.h"

namespace reef::hooks::os {
namespace {

constexpr double kProgressBurst = 128 << 10;
constexpr double kProgressBytesASecond = 4 << 10;
constexpr unsigned kNamesMax = 1000;

// Under the first free name; its path in the session's folders.
Result<std::string> keep_under_name(session::NewDocument& document, const Output::Place& place) {
  for (unsigned number = 1; number <= kNamesMax; ++number) {
    auto path = fmt::format("long_responses/{}{}.txt", place.name,
                            number == 1 ? "" : fmt::format("-{}", number));
    const auto kept = document.keep(fmt::format("sessions/{}/{}", place.session.text(), path),
                                    session::Nothing{});
    if (kept) return path;
    if (kept.error().code != Errc::conflict) return kept.error();
  }
  return Error(Errc::conflict, "there are too many files of that name");
}

// Cuts after a whole line where that costs little.
std::string_view first_part(std::string_view text, std::size_t bytes) {
  auto part = utf8::prefix(text, bytes);
  const auto end = part.rfind('\n');
  if (end != std::string_view::npos && end > part.size() / 2) part = part.substr(0, end + 1);
  return part;
}
std::string_view last_part(std::string_view text, std::size_t bytes) {
  auto part = text.size() > bytes ? text.substr(text.size() - bytes) : text;
  const auto begin = part.find('\n');
  if (begin != std::string_view::npos && begin < part.size() / 2) return part.substr(begin + 1);
  while (!part.empty() && (static_cast<unsigned char>(part.front()) & 0xc0U) == 0x80U)
    part.remove_prefix(1);
  return part;
}

// The number of bytes at the end that begin a character but do not complete it.
std::size_t unfinished(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xc0U) == 0x80U) continue;
    const std::size_t wanted = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return wanted > back ? back : 0;
  }
  return 0;
}

}  // namespace

Output::Output(Pool& pool, Place place, std::size_t shown_bytes)
    : pool_(pool), place_(std::move(place)), shown_bytes_(std::max<std::size_t>(shown_bytes, 64)) {}

Output::~Output() {
  if (!kept_document_) return;
  // The command was given up. Removing its file may take the disk a moment, so the pool does it.
  pool_.post([gone = std::shared_ptr<session::NewDocument>(std::move(kept_document_))]() mutable {
    gone.reset();
  });
}

Task<void> Output::take(std::string bytes) {
  total_ += bytes.size();
  const auto room = shown_bytes_ > head_.size() ? shown_bytes_ - head_.size() : 0;
  if (total_ > shown_bytes_) {
    // When the limit is passed, what was shown so far goes into the file first.
    if (!opened_) co_await keep(head_);
    co_await keep(bytes);
  }
  head_.append(bytes, 0, room);
  tail_ += bytes;
  if (tail_.size() > 2 * shown_bytes_) tail_.erase(0, tail_.size() - shown_bytes_);
}

Task<void> Output::keep(std::string bytes) {
  if (!problem_.empty()) co_return;
  if (kept_ + bytes.size() > kKeptBytesMax) bytes.resize(kKeptBytesMax - kept_);
  if (opened_ && bytes.empty()) co_return;
  const bool first = !std::exchange(opened_, true);
  auto work = [this, first, &bytes]() -> Status {
    if (first) {
      REEF_TRY(kept_document_, place_.documents.receive());
    }
    return kept_document_->write(bytes);
  };
  const auto done = co_await pool_.run(work);
  if (done) {
    kept_ += bytes.size();
  } else {
    problem_ = done.error().what;
  }
}

Task<void> Output::end_kept() {
  auto work = [this]() -> Result<std::string> {
    const auto document = std::move(kept_document_);
    if (!problem_.empty() || !document) return std::string();
    return keep_under_name(*document, place_);
  };
  const auto path = co_await pool_.run(work);
  if (!path) problem_ = path.error().what;
  if (path && !path->empty()) path_ = place_.folder + "/" + *path;
}

Task<Output::Shown> Output::finish() {
  if (total_ <= shown_bytes_) co_return Shown{utf8::sanitize(head_), ""};
  co_await end_kept();
  const auto first = first_part(head_, shown_bytes_ / 3);
  const auto last = last_part(tail_, shown_bytes_ - shown_bytes_ / 3);
  std::string where;
  if (!problem_.empty()) {
    where = fmt::format("the rest could not be kept: {}", problem_);
  } else if (kept_ < total_) {
    where = fmt::format("the first {} MiB of it are in {}", kKeptBytesMax >> 20, path_);
  } else {
    where = fmt::format("all of it is in {}", path_);
  }
  Shown shown;
  shown.text = fmt::format("{}\n[... {} of {} bytes left out here; {} ...]\n{}",
                           utf8::sanitize(first), total_ - first.size() - last.size(), total_,
                           utf8::sanitize(where), utf8::sanitize(last));
  if (problem_.empty()) shown.path = path_;
  co_return shown;
}

Progress::Progress(std::function<void(std::string)> tell)
    : tell_(std::move(tell)), room_(kProgressBurst) {}

void Progress::take(std::string_view bytes, Moment now) {
  if (!tell_) return;
  if (last_ != Moment()) {
    const std::chrono::duration<double> since = now - last_;
    room_ = std::min(kProgressBurst, room_ + since.count() * kProgressBytesASecond);
  }
  last_ = now;
  if (room_ < static_cast<double>(bytes.size())) {
    left_out_ = true;
    cut_.clear();
    return;
  }
  room_ -= static_cast<double>(bytes.size());
  auto text = std::exchange(cut_, {});
  text += bytes;
  cut_ = text.substr(text.size() - unfinished(text));
  text.resize(text.size() - cut_.size());
  if (std::exchange(left_out_, false)) text.insert(0, "\n[...]\n");
  if (!text.empty()) tell_(utf8::sanitize(text));
}

}  // namespace reef::hooks::os
