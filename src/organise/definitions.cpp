#include "organise/definitions.h"

#include <fmt/format.h>

#include "base/log.h"
#include "base/shield.h"
#include "organise/toml_blocks.h"

namespace reef::organise {
namespace {

constexpr int kEditAttemptsMax = 5;

// Admits one task at a time; the others wait to be notified.
class Turn {
 public:
  Turn(bool& taken, Notify& others) : taken_(taken), others_(others) { taken_ = true; }
  ~Turn() {
    taken_ = false;
    others_.notify_all();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  bool& taken_;
  Notify& others_;
};

std::string_view text_when_missing(std::size_t which) {
  return which == 0 ? shipped_statuses() : std::string_view();
}

}  // namespace

// The result of reading the changed files on a pool thread.
struct Definitions::Reading {
  struct One {
    File file;
    std::optional<Statuses> statuses;
    std::optional<Labels> labels;
    std::optional<Views> views;
    std::vector<std::string> warnings;
  };
  std::vector<std::optional<One>> files;  // indexed by Which; nullopt when unchanged
};

Result<RowTest> row_test(std::string_view text, std::shared_ptr<const Defined> defined,
                         TimePoint now) {
  REEF_TRY(auto filter, parse_filter(text));
  REEF_CHECK(check_filter(filter, defined->statuses, defined->labels));
  return RowTest(
      [defined = std::move(defined), filter = std::move(filter), now](const session::Row& row) {
        return holds(filter, row, Look{defined->statuses, defined->labels, now});
      });
}

Definitions::Definitions(Executor loop, session::Documents& documents, Pool& pool)
    : documents_(documents), pool_(pool), turn_(std::move(loop)) {
  for (const auto* name : {"statuses.toml", "labels.toml", "views.toml"}) {
    File file;
    file.name = name;
    known_files_.push_back(std::move(file));
  }
  auto first = std::make_shared<Defined>();
  std::vector<std::string> ignored;
  if (auto shipped = parse_statuses(shipped_statuses(), "", ignored))
    first->statuses = *std::move(shipped);
  known_ = std::move(first);
}

bool Definitions::is_stale(const File& file) const {
  return !file.was_read || !documents_.unchanged(file.name, file.seen);
}

bool Definitions::may_have_rules() const {
  return !known_->labels.rules().empty() ||
         is_stale(known_files_[static_cast<std::size_t>(Which::labels)]);
}

Definitions::Reading Definitions::read(std::vector<File> files) const {
  Reading out;
  out.files.resize(files.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!is_stale(files[i])) continue;
    auto& one = out.files[i].emplace();
    auto& file = one.file;
    file = files[i];
    file.problem.clear();
    auto document = documents_.read(file.name, kFileBytesMax);
    // A file that cannot be read is read again at the next look.
    file.was_read = document.ok();
    if (!document) {
      file.problem = document.error().what;
      continue;
    }
    file.seen.reset();
    std::string text(text_when_missing(i));
    if (*document) {
      file.seen = (*document)->version;
      text = std::move((*document)->bytes);
    }
    const auto keep = [&](auto& into, auto parsed) {
      if (parsed) {
        into = *std::move(parsed);
      } else {
        file.problem = parsed.error().what;
      }
    };
    switch (static_cast<Which>(i)) {
      case Which::statuses:
        keep(one.statuses, parse_statuses(text, file.name, one.warnings));
        break;
      case Which::labels:
        keep(one.labels, parse_labels(text, file.name, one.warnings));
        break;
      case Which::views:
        keep(one.views, parse_views(text, file.name, one.warnings));
        break;
    }
  }
  return out;
}

Task<std::shared_ptr<const Defined>> Definitions::look() {
  const auto stale = [this] {
    for (const auto& file : known_files_)
      if (is_stale(file)) return true;
    return false;
  };
  if (stale()) {
    while (looking_) co_await turn_.wait();
    if (stale()) static_cast<void>(co_await shielded(look_again()));
  }
  co_return known_;
}

Task<Ok> Definitions::look_again() {
  const Turn turn(looking_, turn_);
  auto work = [this, files = known_files_] { return read(files); };
  auto reading = co_await pool_.run(work);
  auto next = std::make_shared<Defined>(*known_);
  ++next->number;
  next->problems.clear();
  for (std::size_t i = 0; i < known_files_.size(); ++i) {
    auto& file = known_files_[i];
    if (auto& one = reading.files[i]) {
      if (!one->file.problem.empty() && one->file.problem != file.problem)
        log::warn("{}; the last good one is used", one->file.problem);
      const bool same = file.was_read && file.seen == one->file.seen;
      if (!same)
        for (const auto& warning : one->warnings) log::warn("{}", warning);
      if (!file.problem.empty() && one->file.problem.empty())
        log::info("{} is good again", file.name);
      file = std::move(one->file);
      if (one->statuses) next->statuses = *std::move(one->statuses);
      if (one->labels) next->labels = *std::move(one->labels);
      if (one->views) next->views = *std::move(one->views);
    }
    if (!file.problem.empty()) next->problems.push_back(file.problem);
  }
  known_ = std::move(next);
  co_return Ok{};
}

Status Definitions::edit_file(const File& file, Which which, const Edit& edit) const {
  for (int attempt = 0; attempt < kEditAttemptsMax; ++attempt) {
    REEF_TRY(auto document, documents_.read(file.name, kFileBytesMax));
    std::string text(text_when_missing(static_cast<std::size_t>(which)));
    std::optional<session::Version> before;
    if (document) {
      before = document->version;
      text = std::move(document->bytes);
    }
    std::vector<std::string> ignored;
    const auto parsed = [&]() -> Status {
      const auto status = [](const auto& result) -> Status {
        if (result) return Ok{};
        return result.error();
      };
      switch (which) {
        case Which::statuses:
          return status(parse_statuses(text, file.name, ignored));
        case Which::labels:
          return status(parse_labels(text, file.name, ignored));
        case Which::views:
          return status(parse_views(text, file.name, ignored));
      }
      return Ok{};
    }();
    if (!parsed)
      return Error(Errc::conflict, parsed.error().what +
                                       "; the file is broken and not written over, mend it first");
    REEF_TRY(const auto after, edit(text));
    if (after.size() > kFileBytesMax)
      return Error(Errc::too_large,
                   fmt::format("{} would have more than {} bytes", file.name, kFileBytesMax));
    const auto done = documents_.replace(file.name, after, session::expect(before));
    if (done) return Ok{};
    // Somebody saved it meanwhile: on top of that, then.
    if (done.error().code != Errc::conflict) return done.error();
  }
  return Error(Errc::busy, file.name + " is being changed by somebody else");
}

Task<Status> Definitions::change(Which which, Edit edit) {
  co_return co_await shielded(change_unshielded(which, std::move(edit)));
}

Task<Status> Definitions::change_unshielded(Which which, Edit edit) {
  while (changing_) co_await turn_.wait();
  const Turn turn(changing_, turn_);
  // A copy, because another task may look meanwhile.
  const auto file = known_files_[static_cast<std::size_t>(which)];
  auto work = [&] { return edit_file(file, which, edit); };
  auto done = co_await pool_.run(work);
  static_cast<void>(co_await look());
  co_return done;
}

}  // namespace reef::organise
