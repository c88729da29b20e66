// Models and the providers behind them.
#include "server/models.h"

#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include "base/notify.h"
#include "base/task_group.h"
#include "server/operations.h"
#include "server/server.h"

namespace reef::server {
namespace {

struct ModelsNeeds {
  const Models& models;
  static ModelsNeeds of(const Node& node) { return {*node.models}; }
};

using protocol::ServerMessage;
using namespace std::chrono_literals;

// How long a list waits for backends that have not been asked before.
constexpr std::chrono::milliseconds kListPatience{4'000};
constexpr std::chrono::milliseconds kTestPatience{60'000};
// Room for a model that thinks first.
constexpr std::int64_t kTestTokens = 256;

void fill(protocol::ModelInfo& out, const std::string& provider, const model::ModelFacts& facts) {
  out.set_name(provider + "/" + facts.id);
  out.set_provider(provider);
  out.set_context_window(facts.context_window);
  out.set_max_output(facts.max_output);
  out.set_images(facts.images);
  out.set_tools(facts.tools);
  out.set_thinking(facts.thinking);
  out.set_price_input(facts.price.input);
  out.set_price_output(facts.price.output);
  out.set_price_cache_read(facts.price.cache_read);
  out.set_price_cache_write(facts.price.cache_write);
}

model::ModelFacts facts_of(const model::Providers::Entry& entry, const std::string& model) {
  auto facts = entry.facts ? entry.facts(model) : model::ModelFacts();
  facts.id = model;
  return facts;
}

Task<ServerMessage> list_models(ModelsNeeds needs, std::string only) {
  const auto providers = needs.models.providers();
  if (!only.empty() && !providers->find(only))
    co_return protocol::make_error(
        Error(Errc::not_found, fmt::format("there is no provider '{}'", only)));
  const auto lists = co_await needs.models.lists->look(providers, only, kListPatience);
  const auto active = providers->route(needs.models.default_model());
  ServerMessage message;
  auto& out = *message.mutable_model_list();
  for (const auto& [name, entry] : providers->entries()) {
    if (!only.empty() && name != only) continue;
    std::vector<std::string> shown;
    const auto add = [&](const std::string& model, const model::ModelFacts* theirs) {
      if (model.empty() || std::find(shown.begin(), shown.end(), model) != shown.end()) return;
      shown.push_back(model);
      auto facts = facts_of(entry, model);
      // The backend's own list fills in what nobody else knows.
      if (theirs && !facts.context_window) facts.context_window = theirs->context_window;
      if (theirs && !facts.max_output) facts.max_output = theirs->max_output;
      auto& info = *out.add_models();
      fill(info, name, facts);
      info.set_configured(!theirs);
      info.set_active(active && active->provider_name == name && active->model == model);
    };
    for (const auto& model : entry.models) add(model, nullptr);
    add(entry.default_model, nullptr);
    if (active && active->provider_name == name) add(active->model, nullptr);
    const auto list = lists.find(name);
    if (list == lists.end()) continue;
    for (const auto& theirs : list->second.models) add(theirs.id, &theirs);
    if (!list->second.problem.empty()) out.add_problems(name + ": " + list->second.problem);
  }
  co_return message;
}

Task<ServerMessage> set_active(ModelsNeeds needs, std::string model) {
  const auto route = needs.models.providers()->route(model);
  if (!route) co_return protocol::make_error(route.error());
  co_return co_await protocol::pong_when_done(needs.models.set_default(std::move(model)));
}

Result<model::ProviderSpec> spec_from(const protocol::ProviderDefinition& in) {
  model::ProviderSpec spec;
  spec.name = in.name();
  spec.kind = in.kind();
  spec.base_url = in.base_url();
  spec.key = in.key();
  spec.models.assign(in.models().begin(), in.models().end());
  spec.default_model = in.default_model();
  spec.api_version = in.api_version();
  spec.auth = in.auth();
  spec.region = in.region();
  if (spec.name.empty()) return Error(Errc::invalid, "a provider needs a name");
  if (!model::find_kind(spec.kind))
    return Error(Errc::invalid, fmt::format("there is no kind '{}' of providers", spec.kind));
  return spec;
}

std::string advice_for(const model::Failure& failure, const model::Providers::Entry& entry) {
  using Kind = model::Failure::Kind;
  switch (failure.kind) {
    case Kind::auth:
      return fmt::format("check the key (it comes from: {}) and what it is allowed to do",
                         entry.key_place);
    case Kind::rate_limit:
      return failure.final ? "the account has no quota left"
                           : "wait a little, or use another model";
    case Kind::overloaded:
    case Kind::server:
      return "the backend has trouble of its own; try again later";
    case Kind::network:
      return fmt::format("check that {} can be reached from here", entry.base_url);
    case Kind::timeout:
      return fmt::format("{} did not answer in time", entry.base_url);
    case Kind::invalid_request:
      return failure.http_status == 404
                 ? fmt::format("check base_url and the model's name; `reef models {}` lists them",
                               entry.name)
                 : fmt::format("check the model's name; `reef models {}` lists them", entry.name);
    default:
      return {};
  }
}

// A call that may outlive its caller by the moment it takes to be cancelled.
struct TestCall {
  explicit TestCall(const Executor& on) : loop(on), ended(on) {}

  std::uint64_t milliseconds() const {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(steady_now(loop) - begin).count());
  }

  const Executor loop;
  std::shared_ptr<model::Provider> provider;
  model::Request request;
  const Moment begin = steady_now(loop);
  std::optional<std::uint64_t> first_ms;
  std::optional<model::Outcome> outcome;
  Notify ended;
};

Task<void> run(std::shared_ptr<TestCall> call) {
  co_await yield_to_loop();
  const model::DeltaSink sink = [&](const model::Delta&) {
    if (!call->first_ms) call->first_ms = call->milliseconds();
  };
  try {
    call->outcome = co_await call->provider->stream(call->request, sink);
  } catch (const std::exception& error) {
    call->outcome = model::Failure{model::Failure::Kind::server, error.what(), 0, {}};
  }
  call->ended.notify_all();
}

Task<ServerMessage> test(model::Providers::Entry entry, std::string model) {
  ServerMessage message;
  auto& verdict = *message.mutable_provider_verdict();
  verdict.set_provider(entry.name);
  const auto loop = co_await boost::asio::this_coro::executor;
  const auto call = std::make_shared<TestCall>(loop);
  call->provider = entry.provider;
  auto& request = call->request;
  request.model = model.empty() ? entry.default_model : model;
  verdict.set_model(request.model);
  if (request.model.empty())
    co_return protocol::make_error(Error(
        Errc::invalid, fmt::format("provider '{}' has no default model; name one", entry.name)));
  session::UserMessage words;
  words.content.push_back(session::TextBlock{"Reply with the single word: ok"});
  request.messages.push_back(std::make_shared<const session::Message>(std::move(words)));
  request.max_tokens = kTestTokens;

  TaskGroup group(loop, "provider test");
  group.spawn(run(call));
  const auto answered = [call] { return call->outcome.has_value(); };
  static_cast<void>(co_await call->ended.wait_for(kTestPatience, answered));
  group.cancel();
  verdict.set_total_ms(call->milliseconds());
  verdict.set_first_word_ms(call->first_ms.value_or(verdict.total_ms()));
  model::Outcome outcome = model::Failure{
      model::Failure::Kind::timeout, fmt::format("no reply in {} s", kTestPatience / 1s), 0, {}};
  if (call->outcome) outcome = *std::move(call->outcome);
  if (const auto* reply = std::get_if<model::Reply>(&outcome)) {
    verdict.set_ok(true);
    verdict.set_model_used(reply->message.model);
    verdict.set_input_tokens(reply->message.usage.input + reply->message.usage.cache_read +
                             reply->message.usage.cache_write);
    verdict.set_output_tokens(reply->message.usage.output);
  } else {
    const auto& failure = std::get<model::Failure>(outcome);
    verdict.set_failure(std::string(model::name_of(failure.kind)));
    verdict.set_http_status(static_cast<std::uint32_t>(failure.http_status));
    verdict.set_message(failure.message);
    verdict.set_advice(advice_for(failure, entry));
  }
  co_return message;
}

protocol::Answer answer_list_models(ModelsNeeds needs, const protocol::ListModels& request) {
  return protocol::answer_with(list_models(needs, request.provider()));
}

protocol::Answer answer_set_active_model(ModelsNeeds needs,
                                         const protocol::SetActiveModel& request) {
  return protocol::answer_with(set_active(needs, request.model()));
}

protocol::Answer answer_list_providers(ModelsNeeds needs) {
  ServerMessage message;
  auto& out = *message.mutable_provider_list();
  const auto providers = needs.models.providers();
  const auto active = providers->route(needs.models.default_model());
  for (const auto& [name, entry] : providers->entries()) {
    auto& info = *out.add_providers();
    info.set_name(name);
    info.set_kind(entry.kind);
    info.set_base_url(entry.base_url);
    info.set_key(entry.key_place);
    for (const auto& model : entry.models) info.add_models(model);
    info.set_default_model(entry.default_model);
    info.set_active(active && active->provider_name == name);
  }
  for (const auto& kind : model::provider_kinds()) {
    auto& info = *out.add_kinds();
    info.set_name(std::string(kind.name));
    info.set_what(std::string(kind.what));
    info.set_base_url(std::string(kind.base_url));
    info.set_key_variable(std::string(kind.key_variable));
    info.set_default_model(std::string(kind.default_model));
  }
  return protocol::answer_with(std::move(message));
}

protocol::Answer answer_test_provider(ModelsNeeds needs, const protocol::TestProvider& request) {
  if (request.has_definition()) {
    const auto spec = spec_from(request.definition());
    if (!spec) return protocol::answer_with(spec.error());
    auto entry = needs.models.make(*spec);
    if (!entry) return protocol::answer_with(entry.error());
    return protocol::answer_with(test(*std::move(entry), request.model()));
  }
  const auto* entry = needs.models.providers()->find(request.name());
  if (!entry)
    return protocol::answer_with(
        Error(Errc::not_found, fmt::format("there is no provider '{}'", request.name())));
  return protocol::answer_with(test(*entry, request.model()));
}

protocol::Answer answer_save_provider(ModelsNeeds needs, const protocol::SaveProvider& request) {
  const auto spec = spec_from(request.definition());
  if (!spec) return protocol::answer_with(spec.error());
  return protocol::answer_with(
      protocol::pong_when_done(needs.models.save(*spec, request.make_default())));
}

protocol::Answer answer_remove_provider(ModelsNeeds needs,
                                        const protocol::RemoveProvider& request) {
  return protocol::answer_with(protocol::pong_when_done(needs.models.remove(request.name())));
}

}  // namespace

Operations models_operations() {
  using M = protocol::ClientMessage;
  using protocol::Right;
  static constexpr Operation kRows[] = {
      {M::kListModels, Right::read, Messages::one, Naming::none,
       answered<&M::list_models, answer_list_models>},
      {M::kSetActiveModel, Right::admin, Messages::one, Naming::ledger,
       answered<&M::set_active_model, answer_set_active_model>},
      {M::kListProviders, Right::read, Messages::one, Naming::none,
       answered<answer_list_providers>},
      {M::kTestProvider, Right::admin, Messages::one, Naming::ledger,
       answered<&M::test_provider, answer_test_provider>},
      {M::kSaveProvider, Right::admin, Messages::one, Naming::ledger,
       answered<&M::save_provider, answer_save_provider>},
      {M::kRemoveProvider, Right::admin, Messages::one, Naming::ledger,
       answered<&M::remove_provider, answer_remove_provider>},
  };
  return kRows;
}

}  // namespace reef::server
