#include "runtime/forwards.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/utf8.h"
#include "runtime/runtime.h"
#include "runtime/scope.h"

namespace reef::runtime {
namespace {

// The agent's own tool for questions stays: it reaches the same client, and everybody else.
constexpr std::string_view kAskTool = "ask_user";
constexpr std::size_t kForwardedBytesMax = 1U << 20;
constexpr std::size_t kShownArgumentsMax = 2000;
constexpr std::string_view kLeft = "the client that runs this tool has left";

class ClientTools final : public Hook {
 public:
  ClientTools(std::shared_ptr<const Toolbox> others, std::shared_ptr<Run> run, Forwards& forwards)
      : others_(std::move(others)), run_(std::move(run)), forwards_(forwards) {}

  Intent intent(const std::string& tool, const json::object& arguments,
                const Caller& caller) const override {
    // The sender's right to use the daemon's machine does not matter here: the client's machine is
    // used, and what is done there is judged alike for everybody.
    auto there = caller;
    there.agent.remote_bash = true;
    if (auto known =
            others_->intent(session::ToolCallBlock{caller.call_id, tool, arguments}, there))
      return *std::move(known);
    Intent out{Intent::Effect::changes, tool, tool, "it is run by the client"};
    out.shown += " " + utf8::excerpt(json::write(arguments), kShownArgumentsMax);
    return out;
  }

  Task<ToolAnswer> call(std::string tool, json::object arguments, Caller caller) override {
    auto text = json::write(arguments);
    if (text.size() > kForwardedBytesMax)
      co_return ToolAnswer{fmt::format("the arguments have more than {} bytes", kForwardedBytesMax),
                           true};
    co_return co_await forwards_.call(run_, caller.call_id, std::move(tool), std::move(text));
  }

 private:
  std::shared_ptr<const Toolbox> others_;
  std::shared_ptr<Run> run_;
  Forwards& forwards_;
};

}  // namespace

std::shared_ptr<void> Forwards::attend(std::shared_ptr<Run> run,
                                       const std::vector<std::string>& tools) {
  for (const auto& tool : run->message_.client_tools)
    if (std::find(tools.begin(), tools.end(), tool.name) == tools.end()) return nullptr;
  ++run->tool_clients_;
  run->tool_clients_left_ = false;
  return {run.get(), [this, run](void*) { leave(*run); }};
}

void Forwards::leave(Run& run) {
  if (--run.tool_clients_ > 0) return;
  run.tool_clients_left_ = true;
  for (auto it = waiting_.lower_bound({run.number(), ""});
       it != waiting_.end() && it->first.first == run.number(); ++it)
    if (!it->second) it->second = ToolAnswer{std::string(kLeft), true};
  changed_.notify_all();
}

bool Forwards::waits(std::uint64_t conversation, const std::string& call_id) const {
  const auto found = waiting_.find({conversation, call_id});
  return found != waiting_.end() && !found->second;
}

Task<ToolAnswer> Forwards::call(std::shared_ptr<Run> run, std::string call_id, std::string tool,
                                std::string arguments) {
  if (run->tool_clients_left_) co_return ToolAnswer{std::string(kLeft), true};
  const Name name{run->number(), call_id};
  const auto [place, fresh] = waiting_.try_emplace(name);
  if (!fresh) co_return ToolAnswer{"two calls of one step have the same id", true};
  struct Leave {
    Forwards& all;
    const Name& name;
    ~Leave() { all.waiting_.erase(name); }
  } const leave{*this, name};
  run->events().push(
      ToolForward{std::move(call_id), std::move(tool), std::move(arguments), run->number()});
  while (!place->second) co_await changed_.wait();
  co_return *std::move(place->second);
}

Status Forwards::answer(std::uint64_t conversation, const std::string& call_id,
                        std::string_view output, bool is_error) {
  const auto found = waiting_.find({conversation, call_id});
  if (found == waiting_.end() || found->second)
    return Error(Errc::not_found, fmt::format("no tool call '{}' waits in conversation {}",
                                              utf8::excerpt(call_id), conversation));
  auto text = utf8::sanitize(utf8::prefix(output, kOutputBytesMax));
  if (output.size() > kOutputBytesMax)
    text += fmt::format("\n[cut here: the output has {} bytes]", output.size());
  found->second = ToolAnswer{std::move(text), is_error};
  changed_.notify_all();
  return Ok{};
}

std::shared_ptr<const Toolbox> with_client_tools(std::shared_ptr<const Toolbox> toolbox,
                                                 const Agent& agent, std::vector<model::Tool> tools,
                                                 std::shared_ptr<Run> run, Forwards& forwards) {
  std::erase_if(tools, [&](const model::Tool& tool) {
    return !may_call(agent, tool.name) || (tool.name == kAskTool && toolbox->has(kAskTool));
  });
  if (tools.empty()) return toolbox;
  auto out = std::make_shared<Toolbox>(*toolbox);
  out->add(std::make_shared<ClientTools>(std::move(toolbox), std::move(run), forwards),
           std::move(tools));
  return out;
}

}  // namespace reef::runtime
