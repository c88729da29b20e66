// The event bus: subscribe_event, unsubscribe_event, list_subscriptions, publish_event.

#include "bus/bus.h"
#include "server/operations.h"
#include "server/server.h"

namespace reef::server {
namespace {

struct SubscriptionsNeeds {
  bus::Bus& bus;
  static SubscriptionsNeeds of(const Node& node) { return {node.bus}; }
};

void fill(protocol::SubscriptionInfo& out, const bus::Subscription& one) {
  out.set_id(one.id);
  out.set_source(one.source);
  out.set_target_agent(one.target_agent);
  out.set_once(one.once);
  out.set_delivered(one.delivered);
  out.set_dropped(one.dropped);
}

Task<protocol::ServerMessage> subscribe(SubscriptionsNeeds needs, std::string source,
                                        std::string agent, bool once) {
  const auto made = co_await needs.bus.subscribe(std::move(source), std::move(agent), once);
  if (!made) co_return protocol::make_error(made.error());
  protocol::ServerMessage message;
  fill(*message.mutable_subscription_info(), *made);
  co_return message;
}

Task<protocol::ServerMessage> unsubscribe(SubscriptionsNeeds needs, std::uint64_t id) {
  const auto done = co_await needs.bus.unsubscribe(id);
  if (!done) co_return protocol::make_error(done.error());
  co_return protocol::make_pong();
}

protocol::Answer answer_subscribe_event(SubscriptionsNeeds needs,
                                        const protocol::SubscribeEvent& request) {
  return protocol::answer_with(
      subscribe(needs, request.source(), request.target_agent(), request.once()));
}

protocol::Answer answer_unsubscribe_event(SubscriptionsNeeds needs,
                                          const protocol::UnsubscribeEvent& request) {
  return protocol::answer_with(unsubscribe(needs, request.id()));
}

protocol::Answer answer_list_subscriptions(SubscriptionsNeeds needs) {
  protocol::ServerMessage message;
  auto& out = *message.mutable_subscription_list();
  for (const auto& one : needs.bus.list()) fill(*out.add_subscriptions(), one);
  out.set_published(needs.bus.published());
  out.set_dropped(needs.bus.dropped());
  return protocol::answer_with(std::move(message));
}

protocol::Answer answer_publish_event(SubscriptionsNeeds needs,
                                      const protocol::PublishEvent& request) {
  const auto sent = needs.bus.publish(bus::Event{request.source(), request.payload()});
  if (!sent) return protocol::answer_with(sent.error());
  return protocol::answer_with(protocol::make_pong());
}

}  // namespace

Operations subscriptions_operations() {
  using M = protocol::ClientMessage;
  using protocol::Right;
  static constexpr Operation kRows[] = {
      {M::kSubscribeEvent, Right::admin, Messages::one, Naming::ledger,
       answered<&M::subscribe_event, answer_subscribe_event>},
      {M::kUnsubscribeEvent, Right::admin, Messages::one, Naming::ledger,
       answered<&M::unsubscribe_event, answer_unsubscribe_event>},
      {M::kListSubscriptions, Right::read, Messages::one, Naming::none,
       answered<answer_list_subscriptions>},
      {M::kPublishEvent, Right::answer, Messages::one, Naming::ledger,
       answered<&M::publish_event, answer_publish_event>},
  };
  return kRows;
}

}  // namespace reef::server
