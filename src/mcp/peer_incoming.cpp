// A server's own messages: progress, changes, log lines, and questions to the user.
#include <fmt/format.h>

#include "base/log.h"
#include "mcp/peer_parts.h"

namespace reef::mcp {
namespace {

constexpr std::size_t kLoggedMax = 200;

}  // namespace

void Peer::hear(Incoming incoming) {
  switch (incoming.message.kind) {
    case rpc::Message::Kind::answer:
      return take_answer(std::move(incoming.message));
    case rpc::Message::Kind::notification:
      return take_notification(incoming.message);
    case rpc::Message::Kind::request:
      return take_request(std::move(incoming.message), incoming.during);
  }
}

void Peer::take_answer(rpc::Message message) {
  // Nobody waits for it when the request was given up, or never existed.
  static_cast<void>(pending_.settle(std::move(message)));
}

void Peer::take_notification(const rpc::Message& message) {
  if (message.method == "notifications/progress") {
    const auto token = json::find_int(message.params, "progressToken");
    const auto pending = token ? pending_.find(*token) : nullptr;
    if (!pending || !pending->options.progress) return;
    pending->renew();
    pending->options.progress(
        {json::find_number(message.params, "progress").value_or(0),
         json::find_number(message.params, "total").value_or(0),
         utf8::excerpt(json::find_string(message.params, "message").value_or(""), kSaidBytesMax)});
  } else if (message.method == "notifications/tools/list_changed") {
    if (watch_.on_tools_changed) watch_.on_tools_changed();
  } else if (message.method == "notifications/message") {
    if (++logged_ > kLoggedMax) return;
    const auto* data = message.params.if_contains("data");
    const auto text = !data               ? std::string()
                      : data->is_string() ? std::string(data->get_string())
                                          : json::write(*data);
    log::info("mcp {}: {}: {}", server_.spec.name,
              utf8::excerpt(json::find_string(message.params, "level").value_or("info")),
              utf8::excerpt(server_.scrub(text), kSaidBytesMax));
  }
}

// Returns the call that a question of the server belongs to; nullptr when that is unclear.
std::shared_ptr<Peer::Pending> Peer::asked_in(std::optional<std::int64_t> during) const {
  if (during) return pending_.find(*during);
  std::shared_ptr<Pending> out;
  for (const auto& [id, pending] : pending_) {
    if (!pending->options.elicit) continue;
    if (out && out->options.owner != pending->options.owner) return nullptr;
    out = pending;
  }
  return out;
}

std::shared_ptr<Peer::Owner> Peer::owner_of(const CallOptions& options) {
  if (!options.elicit) return nullptr;
  std::erase_if(owners_, [](const auto& owner) { return owner.second.expired(); });
  auto& known = owners_[options.owner];
  auto owner = known.lock();
  if (!owner) known = owner = std::make_shared<Owner>(needs_.loop);
  return owner;
}

void Peer::take_request(rpc::Message message, std::optional<std::int64_t> during) {
  const auto pending = message.method == "elicitation/create" ? asked_in(during) : nullptr;
  const auto owner = pending ? pending->owner : nullptr;
  auto& group = owner ? owner->questions : background_;
  // Limits a server that asks without end.
  if (group.size() >= kAsksMax) return;
  auto options = owner ? pending->options : CallOptions();
  group.spawn(answer_request(shared_from_this(), std::move(options), owner, std::move(message)));
}

Task<void> Peer::answer_request(std::shared_ptr<Peer> self, CallOptions options,
                                std::weak_ptr<Owner> owner, rpc::Message message) {
  co_await yield_to_loop();
  // The time that a user takes to answer does not count as the server's.
  struct Asking {
    Peer& peer;
    std::weak_ptr<Owner> owner;
    Asking(Peer& of, std::weak_ptr<Owner> who) : peer(of), owner(std::move(who)) {
      if (const auto it = owner.lock()) ++it->asking;
    }
    ~Asking() {
      const auto it = owner.lock();
      if (!it) return;
      --it->asking;
      for (const auto& [id, pending] : peer.pending_)
        if (pending->owner == it) pending->resume();
    }
  } const asking(*self, std::move(owner));
  auto answer = co_await self->answer_to(message.method, std::move(message.params), options);
  Outgoing out;
  if (answer) {
    out.message = rpc::make_result(message.id, *std::move(answer));
  } else {
    const bool unknown = answer.error().code == Errc::unsupported;
    out.message = rpc::make_error(message.id, {unknown ? rpc::kMethodNotFound : rpc::kInvalidParams,
                                               std::move(answer).error().what});
  }
  if (self->closed_ || !self->transport_) co_return;
  if (const auto sent = co_await self->transport_->send(std::move(out)); !sent)
    log::debug("mcp {}: {}", self->server_.spec.name, sent.error().what);
}

Task<Result<json::object>> Peer::answer_to(std::string method, json::object params,
                                           const CallOptions& options) {
  if (method == "ping") co_return json::object();
  if (method == "roots/list") {
    json::array roots;
    if (!server_.spec.cwd.empty())
      roots.push_back(
          json::object{{"uri", "file://" + server_.spec.cwd}, {"name", server_.spec.cwd}});
    co_return json::object{{"roots", std::move(roots)}};
  }
  if (method != "elicitation/create")
    co_return Error(Errc::unsupported, fmt::format("'{}' is not supported", utf8::excerpt(method)));
  if (!options.elicit) co_return json::object{{"action", "cancel"}};
  Elicitation question;
  question.message = json::find_string(params, "message").value_or("");
  if (json::find_string(params, "mode") == "url") {
    question.url = json::find_string(params, "url").value_or("");
    if (question.url.empty()) co_return Error(Errc::invalid, "an elicitation without its url");
  } else if (const auto* schema = json::find_object(params, "requestedSchema")) {
    question.schema = *schema;
  }
  const bool is_form = question.url.empty();
  const auto elicited = co_await options.elicit(std::move(question));
  switch (elicited.action) {
    case Elicited::Action::accept: {
      json::object out{{"action", "accept"}};
      if (is_form) out["content"] = elicited.content;
      co_return out;
    }
    case Elicited::Action::decline:
      co_return json::object{{"action", "decline"}};
    case Elicited::Action::cancel:
      break;
  }
  co_return json::object{{"action", "cancel"}};
}

}  // namespace reef::mcp
