// Table of contents of model/: language models behind one interface.
//
//   provider.h       Provider, Request, Reply, Failure   the interface
//   complete.h       complete                            a reply without a stream
//   codec.h          Codec, Decoder                      how one API speaks
//   conversation.h   prepare                             a history made valid for one API
//   reply_builder.h  ReplyBuilder                        a reply put together from its pieces
//   overflow.h       says_too_long                       words for what does not fit
//   claude.h         lengths, prepare                    what is peculiar to the Claude models
//   http_provider.h  HttpProvider                        a codec, bytes, retries
//   key.h            KeySource                           where a key comes from
//   anthropic/ azure/ bedrock/ google/ openai/           one folder for each wire format
//   local/           LocalProvider                       the default: no key, no network
//   scripted/        ScriptedProvider                    says what a script says
//   facts.h          known_model                         what is known of well-known models
//   registry.h       ProviderSpec, make_provider         from configuration to providers
//   model_lists.h    ModelLists                          what backends say they have
//   model.h          Providers                           which provider serves which model
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/codec.h"
#include "model/provider.h"

namespace reef::model {

// What a backend says it has.
using ModelsOutcome = std::variant<std::vector<ModelFacts>, Failure>;

// The providers of one configuration. Built once, then read only; runs keep the one they started
// with while a reload brings the next.
class Providers {
 public:
  struct Entry {
    std::string name;
    std::string kind;
    std::shared_ptr<Provider> provider;
    std::vector<std::string> models;  // those the configuration names
    std::string default_model;        // empty: callers have to name one
    std::string base_url;
    std::string key_place;  // where its key comes from, never the key
    std::function<ModelFacts(std::string_view model)> facts;
    std::function<Task<ModelsOutcome>()> list;  // empty: there is no list
  };
  struct Route {
    std::shared_ptr<Provider> provider;
    std::string provider_name;
    std::string model;
    ModelFacts facts = {};
  };

  // A provider whose one model has its name.
  void add(std::string name, std::shared_ptr<Provider> provider);
  // `conflict` when another provider has one of its models: a bare name must mean one thing.
  Status add(Entry entry);

  // `model` is "provider/model", the bare name of a provider for its default model, or a model that
  // one of them names.
  Result<Route> route(std::string_view model) const;
  std::vector<std::string> names() const;
  const Entry* find(std::string_view name) const;
  const std::map<std::string, Entry, std::less<>>& entries() const { return entries_; }

 private:
  std::map<std::string, Entry, std::less<>> entries_;
};

// Whether another model may do what this one could not: it is overloaded, does not let us in, or
// cannot be reached. Not when the request itself is at fault.
bool calls_for_fallback(const Failure& failure);

}  // namespace reef::model
