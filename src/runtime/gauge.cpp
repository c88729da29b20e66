#include "runtime/gauge.h"

#include <algorithm>

#include "local/local.h"

namespace reef::runtime {
namespace {

using session::AssistantMessage;
using session::StopReason;

// Null when the message says nothing about the size of this context.
const AssistantMessage* report_in(const session::Message& message, TimePoint since) {
  const auto* reply = std::get_if<AssistantMessage>(&message);
  if (!reply || reply->usage.total() <= 0 || !reply->agent.empty()) return nullptr;
  const bool good =
      reply->stop_reason != StopReason::error && reply->stop_reason != StopReason::aborted;
  return good && reply->time > since ? reply : nullptr;
}

// The time of the last compaction; the beginning of time when there was none.
TimePoint compacted_at(const session::Context& context) {
  if (context.items.empty()) return TimePoint();
  const auto* first = std::get_if<session::SummaryMessage>(context.items.front().message.get());
  const bool is = first && first->kind == session::SummaryMessage::Kind::compaction;
  return is ? first->time : TimePoint();
}

}  // namespace

std::int64_t reserve_of(const Compaction& settings, std::int64_t window) {
  return window > 0 ? std::min(settings.reserve_tokens, window / 2) : 0;
}

double weigh(const model::ToolList& tools) {
  double sum = 0;
  for (const auto& tool : tools)
    sum += context::weigh(tool.name) + context::weigh(tool.description) +
           context::weigh(json::write(tool.parameters));
  return sum;
}

void Gauge::learn(const std::string& model, double standing,
                  const std::vector<session::MessagePtr>& messages, const session::Usage& usage) {
  const auto counted = usage.input + usage.cache_read + usage.cache_write;
  if (counted <= 0 || usage.estimated) return;
  auto weight = standing;
  for (const auto& message : messages) weight += context::weigh(*message);
  estimators_[model].learn(weight, counted);
}

ContextUsage Gauge::measure(const std::string& model, const session::Context& context,
                            double standing, Window window) const {
  ContextUsage out;
  const auto since = compacted_at(context);
  const AssistantMessage* report = nullptr;
  double weight = 0;  // of the messages after the report
  for (auto i = context.items.size(); i > 0 && !report; --i) {
    const auto& message = *context.items[i - 1].message;
    report = report_in(message, since);
    if (!report) weight += context::weigh(message);
  }
  out.tokens =
      report ? report->usage.total() + estimate(model, weight) : estimate(model, weight + standing);
  // Older versions wrote replies of the local model without saying that they were estimated.
  out.estimated =
      !report || weight > 0 || report->usage.estimated || report->api == local::LocalProvider::kApi;
  out.window = window.window;
  out.reserve = window.reserve;
  if (window.window > window.reserve)
    out.share =
        static_cast<double>(out.tokens) / static_cast<double>(window.window - window.reserve);
  return out;
}

std::int64_t Gauge::estimate(const std::string& model, double weight) const {
  const auto found = estimators_.find(model);
  return (found == estimators_.end() ? context::Estimator() : found->second).estimate(weight);
}

std::optional<double> Gauge::error(const std::string& model) const {
  const auto found = estimators_.find(model);
  if (found == estimators_.end() || found->second.lessons() == 0) return std::nullopt;
  return found->second.error();
}

}  // namespace reef::runtime
