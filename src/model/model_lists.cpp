#include "model/model_lists.h"

namespace reef::model {
namespace {

constexpr std::chrono::minutes kFresh{10};
// After a failure the list is requested again sooner.
constexpr std::chrono::seconds kFailed{10};

}  // namespace

ModelLists::ModelLists(Executor loop) : loop_(loop), changed_(loop), tasks_(loop, "model lists") {}

Task<void> ModelLists::ask(std::shared_ptr<const Providers> providers, std::string name,
                           std::uint64_t generation) {
  co_await yield_to_loop();
  List list;
  if (const auto* entry = providers->find(name); entry && entry->list) {
    auto outcome = co_await entry->list();
    if (auto* models = std::get_if<std::vector<ModelFacts>>(&outcome)) {
      list.models = std::move(*models);
    } else {
      list.problem = describe(std::get<Failure>(outcome), name);
    }
  }
  if (generation != generation_) co_return;
  auto& known = known_[name];
  known.list = std::move(list);
  known.asking = false;
  known.answered = true;
  known.at = steady_now(loop_);
  changed_.notify_all();
}

Task<std::map<std::string, ModelLists::List>> ModelLists::look(
    std::shared_ptr<const Providers> providers, std::string only,
    std::chrono::milliseconds patience) {
  const auto wanted = [&](const std::string& name) { return only.empty() || only == name; };
  for (const auto& [name, entry] : providers->entries()) {
    if (!wanted(name) || !entry.list) continue;
    auto& known = known_[name];
    const auto age = steady_now(loop_) - known.at;
    const bool fresh =
        known.answered && (known.list.problem.empty() ? age < kFresh : age < kFailed);
    if (fresh || known.asking) continue;
    known.asking = true;
    tasks_.spawn(ask(providers, name, generation_));
  }
  const auto all_there = [&] {
    for (const auto& [name, known] : known_)
      if (wanted(name) && known.asking && !known.answered) return false;
    return true;
  };
  static_cast<void>(co_await changed_.wait_for(patience, all_there));
  std::map<std::string, List> out;
  for (const auto& [name, known] : known_) {
    if (!wanted(name) || !providers->find(name)) continue;
    auto list = known.list;
    if (!known.answered) list.problem = "has not answered yet";
    out.emplace(name, std::move(list));
  }
  co_return out;
}

void ModelLists::forget() {
  ++generation_;
  known_.clear();
  changed_.notify_all();
}

Task<void> ModelLists::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

}  // namespace reef::model
