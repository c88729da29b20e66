// write, edit and submit_plan change files, each in one piece.

#include <algorithm>
#include <sys/stat.h>

#include <fmt/format.h>

#include "base/utf8.h"
#include "hooks/os/diff.h"
#include "hooks/os/edits.h"
#include "hooks/os/files.h"
#include "hooks/os/tools.h"

namespace reef::hooks::os {
namespace {

using runtime::ToolAnswer;
using Type = Parameter::Type;

constexpr std::size_t kEditsMax = 200;
constexpr std::size_t kWrittenBytesMax = 10U << 20;
// The size of a diff that is kept in the transcript.
constexpr std::size_t kDiffBytesMax = 256U << 10;
constexpr std::size_t kPlanNameBytesMax = 100;

const Parameter kOld{.name = "old_string", .description = "Exact text to replace."};
const Parameter kNew{.name = "new_string", .description = "Text to put in its place."};
const Parameter kAll{.name = "replace_all",
                     .type = Type::boolean,
                     .description = "Replace every occurrence instead of exactly one."};

struct Changed {
  std::string fingerprint;
  std::string said;
  json::object details;
};

Error unread(const std::string& name) {
  return Error(Errc::conflict, fmt::format("you must read {} before changing it", name));
}

Status check_unchanged(const std::optional<std::string>& known, const Content& content,
                       const std::string& name) {
  if (!known) return unread(name);
  if (*known == fingerprint(content.bytes)) return Ok{};
  return Error(
      Errc::conflict,
      fmt::format("{} was changed by somebody else since you read it; read it again", name));
}

Changed describe(std::string_view before, std::string_view after, const std::string& path,
                 const std::string& name, std::string_view did) {
  Changed out;
  out.fingerprint = fingerprint(after);
  auto diff = unified_diff(before, after, name);
  out.said = fmt::format("{} {} (+{} -{} lines)", did, name, diff.added, diff.removed);
  if (const auto part = utf8::prefix(diff.text, kDiffBytesMax); part.size() < diff.text.size())
    diff.text = fmt::format("{}\n[cut: the diff has {} bytes]\n", part, diff.text.size());
  out.details = json::object{{"path", utf8::sanitize(path)},
                             {"diff", std::move(diff.text)},
                             {"added", diff.added},
                             {"removed", diff.removed}};
  return out;
}

// Waits for the file's turn, then does the work on the pool.
template <class Work>
Task<ToolAnswer> change(const CallNeeds& needs, std::string wanted, Work work) {
  auto find = [&needs, &wanted] { return resolve_to_write(needs.paths, wanted); };
  const auto path = co_await needs.pool.run(find);
  if (!path) co_return failed(path.error().what);
  const auto claim = co_await needs.claims.take(*path);
  auto run = [&, known = needs.seen.fingerprint(needs.session, *path)] {
    return work(*path, known);
  };
  Result<Changed> changed = co_await needs.pool.run(run);
  if (!changed) co_return failed(std::move(changed).error().what);
  needs.seen.note(needs.session, *path, std::move(changed->fingerprint));
  ToolAnswer answer{std::move(changed->said)};
  answer.details = std::move(changed->details);
  co_return answer;
}

Result<Changed> write_file(const CallNeeds& needs, const std::string& path,
                           const std::optional<std::string>& known, const std::string& bytes) {
  const auto name = shown(needs.paths, path);
  auto old = read_file(path);
  if (!old && old.error().code == Errc::not_found) {
    REEF_CHECK(create_file(path, bytes, needs.umask));
    return describe("", bytes, path, name, "created");
  }
  if (!old) return std::move(old).error();
  REEF_CHECK(check_unchanged(known, *old, name));
  REEF_CHECK(replace_file(path, *old, bytes));
  return describe(old->bytes, bytes, path, name, "wrote");
}

Result<std::vector<Edit>> edits_of(const json::object& arguments) {
  const auto edit_of = [](const json::object& in) {
    return Edit{text_of(in, "old_string"), text_of(in, "new_string"), flag_of(in, "replace_all")};
  };
  std::vector<Edit> out;
  if (json::find_string(arguments, "old_string")) out.push_back(edit_of(arguments));
  if (const auto* list = json::find_array(arguments, "edits"))
    for (const auto& one : *list) out.push_back(edit_of(one.get_object()));
  if (out.size() > kEditsMax)
    return Error(Errc::too_large,
                 fmt::format("{} edits at once; {} are possible", out.size(), kEditsMax));
  return out;
}

}  // namespace

Claims::Claim::~Claim() {
  if (!all_) return;
  all_->taken_.erase(path_);
  all_->freed_.notify_all();
}

Task<Claims::Claim> Claims::take(std::string path) {
  while (taken_.contains(path)) co_await freed_.wait();
  taken_.insert(path);
  co_return Claim(*this, std::move(path));
}

const Description kWrite{
    "write",
    "Write a whole file. Folders that are missing are made. To replace a file that is there, read "
    "it first; to change parts of one, use edit.",
    {{.name = "path",
      .description = "Absolute, from ~, or relative to the working directory.",
      .required = true},
     {.name = "content", .description = "All of it.", .required = true}}};

const Description kEdit{
    "edit",
    "Change a file you have read: replace exact pieces of text. Each old_string must stand in the "
    "file exactly once, with its white space, unless replace_all is set. Several edits in one call "
    "are made one after the other, all or none.",
    {{.name = "path",
      .description = "Absolute, from ~, or relative to the working directory.",
      .required = true},
     kOld,
     kNew,
     kAll,
     {.name = "edits",
      .type = Type::objects,
      .description = "Several edits, instead of old_string and new_string.",
      .fields = {{.name = "old_string", .description = kOld.description, .required = true},
                 {.name = "new_string", .description = kNew.description, .required = true},
                 kAll}}}};

const Description kSubmitPlan{
    "submit_plan",
    "Hand in a plan, in Markdown, for the user to read and accept. Works in every permission mode. "
    "When it is accepted you are asked to carry it out; end your turn until then.",
    {{.name = "name",
      .description = "Short name of the plan: letters, digits, '-', '_', '.'.",
      .required = true},
     {.name = "content", .description = "The plan.", .required = true}}};

Task<ToolAnswer> write(const CallNeeds& needs, const json::object& arguments) {
  if (const auto good = check(kWrite, arguments); !good) co_return failed(good.error().what);
  const auto bytes = text_of(arguments, "content");
  if (bytes.size() > kWrittenBytesMax)
    co_return failed(fmt::format("the content has {} bytes; up to {} are written", bytes.size(),
                                 kWrittenBytesMax));
  auto work = [&](const std::string& path, const std::optional<std::string>& known) {
    return write_file(needs, path, known, bytes);
  };
  co_return co_await change(needs, text_of(arguments, "path"), work);
}

Task<ToolAnswer> edit(const CallNeeds& needs, const json::object& arguments) {
  if (const auto good = check(kEdit, arguments); !good) co_return failed(good.error().what);
  const auto edits = edits_of(arguments);
  if (!edits) co_return failed(edits.error().what);
  auto work = [&](const std::string& path,
                  const std::optional<std::string>& known) -> Result<Changed> {
    const auto name = shown(needs.paths, path);
    REEF_TRY(const auto old, read_file(path));
    REEF_CHECK(check_unchanged(known, old, name));
    REEF_TRY(const auto edited, apply_edits(old.bytes, *edits));
    REEF_CHECK(replace_file(path, old, edited.text));
    return describe(old.bytes, edited.text, path, name,
                    fmt::format("made {} replacement(s) in", edited.replaced));
  };
  co_return co_await change(needs, text_of(arguments, "path"), work);
}

Task<ToolAnswer> submit_plan(const CallNeeds& needs, const json::object& arguments) {
  if (const auto good = check(kSubmitPlan, arguments); !good) co_return failed(good.error().what);
  auto name = text_of(arguments, "name");
  if (name.ends_with(".md")) name.resize(name.size() - 3);
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
  if (name.empty() || name.size() > kPlanNameBytesMax || name.front() == '.' || !plain)
    co_return failed("the plan's name must be letters, digits, '-', '_' and '.', at most 100");
  const auto bytes = text_of(arguments, "content");
  if (bytes.empty() || bytes.size() > kWrittenBytesMax)
    co_return failed("the plan is empty, or too long");
  // An agent may hand in its own plan again without reading it.
  auto work = [&](const std::string& path, const std::optional<std::string>&) -> Result<Changed> {
    const auto old = read_file(path);
    return write_file(needs, path, old ? std::optional(fingerprint(old->bytes)) : std::nullopt,
                      bytes);
  };
  auto answer = co_await change(needs, needs.paths.session + "/plans/" + name + ".md", work);
  if (!answer.is_error) {
    answer.plan = name;
    answer.text =
        fmt::format("plan '{}' is handed in; the user accepts it with: reef plan accept {} {}",
                    name, needs.session.text(), name);
  }
  co_return answer;
}

}  // namespace reef::hooks::os
