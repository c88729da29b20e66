#include "model/openai/errors.h"

#include <fmt/format.h>

#include "base/utf8.h"
#include "model/overflow.h"

namespace reef::model::openai {
namespace {

constexpr std::size_t kWordsMax = 2000;
constexpr std::size_t kPageMax = 200;

struct Said {
  std::string message;
  std::string type;
  std::string code;
  int status = 0;  // some proxies put the upstream's HTTP status here
};

std::string words_of(const json::value* value) {
  if (!value) return {};
  if (value->is_string()) return std::string(value->get_string());
  if (value->is_null()) return {};
  return json::write(*value);
}

Said read(const json::value& error) {
  Said said;
  if (error.is_string()) said.message = words_of(&error);
  const auto* fields = error.if_object();
  if (!fields) return said;
  said.type = json::find_string(*fields, "type").value_or("");
  for (const auto* name : {"message", "detail", "error", "msg"})
    if (said.message.empty()) said.message = words_of(fields->if_contains(name));
  if (const auto* code = fields->if_contains("code")) {
    if (code->is_number()) {
      const auto number = json::find_int(*fields, "code").value_or(0);
      if (number >= 400 && number < 600) said.status = static_cast<int>(number);
    } else {
      said.code = words_of(code);
    }
  }
  return said;
}

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

Failure::Kind kind_of_status(int status) {
  switch (status) {
    case 401:
    case 403:
      return Failure::Kind::auth;
    case 402:
    case 429:
      return Failure::Kind::rate_limit;
    case 408:
    case 504:
      return Failure::Kind::timeout;
    case 409:
    case 424:
      return Failure::Kind::server;
    case 503:
    case 529:
      return Failure::Kind::overloaded;
    default:
      return status >= 500 || status < 400 ? Failure::Kind::server : Failure::Kind::invalid_request;
  }
}

Failure judge(int status, Said said) {
  Failure failure;
  failure.http_status = status;
  const int effective = said.status ? said.status : status;
  failure.kind = effective ? kind_of_status(effective) : Failure::Kind::server;
  const auto words = utf8::lower_ascii(said.type + " " + said.code);
  if (!effective || effective == 200) {
    if (holds(words, "rate_limit") || holds(words, "too_many_requests"))
      failure.kind = Failure::Kind::rate_limit;
    else if (holds(words, "overloaded") || holds(words, "unavailable"))
      failure.kind = Failure::Kind::overloaded;
    else if (holds(words, "auth") || holds(words, "api_key") || holds(words, "permission"))
      failure.kind = Failure::Kind::auth;
    else if (holds(words, "timeout"))
      failure.kind = Failure::Kind::timeout;
    else if (holds(words, "invalid") || holds(words, "content_filter") || holds(words, "not_found"))
      failure.kind = Failure::Kind::invalid_request;
  }
  const bool spent = holds(words, "insufficient_quota") || holds(words, "credit_balance") ||
                     holds(words, "billing") || effective == 402;
  if (spent) {
    failure.kind = Failure::Kind::rate_limit;
    failure.final = true;
  }
  const bool may_be_too_long =
      failure.kind == Failure::Kind::invalid_request || failure.kind == Failure::Kind::server;
  if (may_be_too_long && (holds(words, "context_length_exceeded") ||
                          holds(words, "exceed_context_size") || says_too_long(said.message)))
    failure.kind = Failure::Kind::context_overflow;
  failure.message = utf8::excerpt(said.message, kWordsMax);
  if (failure.message.empty())
    failure.message =
        said.code.empty() ? (said.type.empty() ? "no reason given" : said.type) : said.code;
  return failure;
}

}  // namespace

Failure failure_from_body(int status, std::string_view body) {
  const auto parsed = json::parse_lenient(body);
  if (!parsed) {
    // This may be a proxy's page; its beginning shows whose.
    Said said;
    said.message =
        utf8::excerpt(utf8::single_line(utf8::sanitize(body.substr(0, 4 * kPageMax))), kPageMax);
    return judge(status, std::move(said));
  }
  const auto* outer = parsed->if_array() && !parsed->get_array().empty()
                          ? parsed->get_array()[0].if_object()
                          : parsed->if_object();
  if (!outer) return judge(status, read(*parsed));
  const auto* error = outer->if_contains("error");
  if (!error || error->is_null()) {
    auto said = read(json::value(*outer));
    said.status = 0;
    return judge(status, std::move(said));
  }
  auto said = read(*error);
  // Only the status of the answer itself counts.
  said.status = 0;
  return judge(status, std::move(said));
}

Failure failure_from_stream(const json::value& error) {
  return judge(0, read(error));
}

}  // namespace reef::model::openai
