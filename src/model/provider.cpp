#include "model/provider.h"

#include <fmt/format.h>

namespace reef::model {
namespace {

constexpr std::pair<Failure::Kind, std::string_view> kFailureKinds[] = {
    {Failure::Kind::auth, "auth"},
    {Failure::Kind::rate_limit, "rate_limit"},
    {Failure::Kind::overloaded, "overloaded"},
    {Failure::Kind::context_overflow, "context_overflow"},
    {Failure::Kind::invalid_request, "invalid_request"},
    {Failure::Kind::network, "network"},
    {Failure::Kind::timeout, "timeout"},
    {Failure::Kind::cancelled, "cancelled"},
    {Failure::Kind::server, "server"},
};

constexpr std::string_view kThinkingLevels[] = {"off", "minimal", "low", "medium", "high", "xhigh"};

}  // namespace

const std::vector<Tool>& ToolList::all() const {
  static const std::vector<Tool> none;
  return tools_ ? *tools_ : none;
}

std::optional<ThinkingLevel> thinking_level_from(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kThinkingLevels); ++i)
    if (kThinkingLevels[i] == name) return static_cast<ThinkingLevel>(i);
  return std::nullopt;
}

std::string_view name_of(ThinkingLevel level) {
  return kThinkingLevels[static_cast<std::size_t>(level)];
}

std::string_view name_of(Failure::Kind kind) {
  for (const auto& [value, name] : kFailureKinds)
    if (value == kind) return name;
  return "server";
}

std::optional<Failure::Kind> failure_kind_from(std::string_view name) {
  for (const auto& [value, text] : kFailureKinds)
    if (text == name) return value;
  return std::nullopt;
}

bool is_transient(const Failure& failure) {
  if (failure.final) return false;
  switch (failure.kind) {
    case Failure::Kind::rate_limit:
    case Failure::Kind::overloaded:
    case Failure::Kind::network:
    case Failure::Kind::timeout:
    case Failure::Kind::server:
      return true;
    default:
      return false;
  }
}

std::string describe(const Failure& failure, std::string_view model) {
  if (failure.kind == Failure::Kind::cancelled) return "cancelled";
  const auto status =
      failure.http_status ? fmt::format(", HTTP {}", failure.http_status) : std::string();
  return fmt::format("model '{}' failed ({}{}): {}", model, name_of(failure.kind), status,
                     failure.message);
}

}  // namespace reef::model
