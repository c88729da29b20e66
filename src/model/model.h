// Table of contents of model/: language models behind one interface.
//
//   provider.h       Provider, Request, Reply, Failure   the interface
//   complete.h       complete                            a reply without a stream
//   codec.h          Codec, Decoder                      translation for one API
//   conversation.h   prepare                             a history made valid for one API
//   reply_builder.h  ReplyBuilder                        a reply assembled from its pieces
//   overflow.h       says_too_long                       error texts for a conversation too long
//   claude.h         lengths, prepare                    rules of the Claude models
//   http_provider.h  HttpProvider                        a codec, bytes, retries
//   key.h            KeySource                           where a key comes from
//   anthropic/ azure/ bedrock/ google/ openai/           one folder for each wire format
//   scripted/        ScriptedProvider                    replies from a script
//   facts.h          known_model                         facts about well-known models
//   registry.h       ProviderSpec, make_provider         from configuration to providers
//   model_lists.h    ModelLists                          the models that backends list
//   model.h          Providers                           which provider serves which model
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "model/facts.h"
#include "model/provider.h"

namespace reef::model {

// A backend's list of its models.
using ModelsOutcome = std::variant<std::vector<ModelFacts>, Failure>;

// The providers of one configuration. Built once, then only read; a run keeps those it started with
// when a reload brings new ones.
class Providers {
 public:
  struct Entry {
    std::string name;
    std::string kind;
    std::shared_ptr<Provider> provider;
    std::vector<std::string> models;  // the models that the configuration names
    std::string default_model;        // empty: callers must name a model
    std::string base_url;
    std::string key_place;  // the source of its key, never the key
    std::function<ModelFacts(std::string_view model)> facts;
    std::function<Task<ModelsOutcome>()> list;  // empty when there is no list
  };
  struct Route {
    std::shared_ptr<Provider> provider;
    std::string provider_name;
    std::string model;
    ModelFacts facts = {};
  };

  // Adds a provider whose only model has the provider's name.
  void add(std::string name, std::shared_ptr<Provider> provider);
  // Fails with `conflict` when another provider names the same model: a bare name must be
  // unambiguous.
  Status add(Entry entry);

  // `model` is "provider/model", a provider's bare name for its default model, or a model that a
  // provider names.
  Result<Route> route(std::string_view model) const;
  std::vector<std::string> names() const;
  const Entry* find(std::string_view name) const;
  const std::map<std::string, Entry, std::less<>>& entries() const { return entries_; }

 private:
  std::map<std::string, Entry, std::less<>> entries_;
};

// True when another model may succeed: this one is overloaded, refuses our key, or cannot be
// reached. False when the request itself is at fault.
bool calls_for_fallback(const Failure& failure);

}  // namespace reef::model
