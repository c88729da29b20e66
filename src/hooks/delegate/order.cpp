#include "hooks/delegate/order.h"

#include <filesystem>

#include <fmt/format.h>

#include "base/utf8.h"
#include "hooks/description.h"

namespace reef::hooks {
namespace {

using Type = Parameter::Type;

const Description kDelegate{
    "delegate",
    "Give tasks to other agents. They run side by side, each in a conversation of its own that "
    "knows nothing of this one, and their answers come back together.",
    {{.name = "tasks",
      .type = Type::objects,
      .description = "What is to be done.",
      .required = true,
      .fields = {{.name = "message",
                  .description = "The task, with everything one needs to know for it.",
                  .required = true},
                 {.name = "agent", .description = "Who does it; without: a worker like you."},
                 {.name = "cwd", .description = "The folder to work in; without: yours."},
                 {.name = "system_prompt",
                  .description = "A prompt in place of the agent's own."}}},
     {.name = "background",
      .type = Type::boolean,
      .description = "Do not wait: answers come as messages when they are there."}}};

}  // namespace

model::Tool delegate_tool() {
  return tool_from(kDelegate);
}

Result<std::vector<Order>> orders_from(const json::object& arguments) {
  REEF_CHECK(check(kDelegate, arguments));
  const auto& list = *json::find_array(arguments, "tasks");
  if (list.empty()) return Error(Errc::invalid, "invalid arguments: 'tasks' is empty");
  std::vector<Order> out;
  for (const auto& item : list) {
    const auto& in = item.get_object();
    Order order{text_of(in, "agent"), text_of(in, "message"), text_of(in, "cwd"),
                text_of(in, "system_prompt")};
    if (order.message.find_first_not_of(" \t\r\n") == std::string::npos)
      return Error(Errc::invalid,
                   fmt::format("invalid arguments: 'tasks[{}].message' is empty", out.size()));
    out.push_back(std::move(order));
  }
  return out;
}

Result<std::string> where_to_work(const std::string& base, const std::string& wanted,
                                  bool anywhere) {
  if (wanted.empty()) return base;
  const auto shown = utf8::excerpt(wanted, 200);
  if (wanted.find('\0') != std::string::npos)
    return Error(Errc::invalid, fmt::format("cwd '{}' is no path", shown));
  namespace fs = std::filesystem;
  std::error_code failed;
  const auto joined =
      fs::path(wanted).is_absolute() || base.empty() ? fs::path(wanted) : fs::path(base) / wanted;
  if (!joined.is_absolute())
    return Error(Errc::invalid, fmt::format("cwd '{}' must be an absolute path", shown));
  const auto real = fs::canonical(joined, failed);
  if (failed || !fs::is_directory(real, failed))
    return Error(Errc::not_found, fmt::format("cwd '{}' is no folder", shown));
  if (!anywhere) {
    const auto home = base.empty() ? fs::path() : fs::canonical(base, failed);
    const auto below = real.lexically_relative(home);
    if (home.empty() || failed || below.empty() || *below.begin() == "..")
      return Error(Errc::denied,
                   fmt::format("cwd '{}' is outside of the working directory", shown));
  }
  return real.string();
}

}  // namespace reef::hooks
