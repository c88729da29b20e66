#include "session/client_mark.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace reef::session {
namespace {

constexpr std::string_view kField = "client";

}  // namespace

std::string fingerprint(std::initializer_list<std::string_view> texts) {
  std::string all;
  for (const auto text : texts) {
    all += fmt::format("{}:", text.size());
    all += text;
  }
  return fmt::format("{:016x}", XXH3_64bits(all.data(), all.size()));
}

Status check_client_id(std::string_view id) {
  if (!id.empty() && id.size() <= ClientMark::kIdBytesMax) return Ok{};
  return Error(Errc::invalid, fmt::format("client_id: it has {} bytes; 1 to {} are possible",
                                          id.size(), ClientMark::kIdBytesMax));
}

void put_mark(json::object& fields, const ClientMark& mark, bool unanswered) {
  json::object out{{"id", mark.id}, {"sender", mark.sender}, {"sum", mark.sum}};
  if (unanswered) out["unanswered"] = true;
  fields[kField] = std::move(out);
}

bool has_mark(const json::object& body) {
  const auto* field = json::find_object(body, kField);
  return field && json::find_string(*field, "id") && json::find_string(*field, "sum");
}

std::optional<Marked> mark_of(const json::object& body) {
  if (!has_mark(body)) return std::nullopt;
  const auto& field = *json::find_object(body, kField);
  const auto text = [&](std::string_view name) {
    return std::string(json::find_string(field, name).value_or(""));
  };
  return Marked{{text("id"), text("sender"), text("sum")},
                json::find_bool(field, "unanswered").value_or(false)};
}

std::vector<Marked> marks_in(std::string_view transcript) {
  // As put_mark() and the writer of entries make it; in a text the quotes would be escaped.
  constexpr std::string_view kBegins = R"("client":{"id":)";
  std::vector<Marked> out;
  for (auto at = transcript.find(kBegins); at != std::string_view::npos;
       at = transcript.find(kBegins, at)) {
    const auto before = transcript.rfind('\n', at);
    const auto begin = before == std::string_view::npos ? 0 : before + 1;
    const auto end = std::min(transcript.find('\n', at), transcript.size());
    at = end;
    const auto parsed = json::parse(transcript.substr(begin, end - begin));
    const auto* body = parsed ? parsed->if_object() : nullptr;
    if (!body) continue;
    if (auto marked = mark_of(*body)) out.push_back(*std::move(marked));
  }
  return out;
}

std::string made_for(const ClientMark& mark) {
  return fmt::format("{}-{}", fingerprint({mark.sender, mark.id}), mark.sum);
}

Made is_made_for(std::string_view text, const ClientMark& mark) {
  if (text.empty()) return Made::no;
  const auto wanted = made_for(mark);
  if (text == wanted) return Made::same;
  const auto name = std::string_view(wanted).substr(0, wanted.find('-') + 1);
  return text.starts_with(name) ? Made::other : Made::no;
}

}  // namespace reef::session
