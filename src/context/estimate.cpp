#include "context/estimate.h"

#include <algorithm>
#include <cmath>

#include "base/overload.h"

namespace reef::context {
namespace {

constexpr std::int64_t kUnitsPerToken = 4;
constexpr std::int64_t kImageUnits = 4800;

std::int64_t utf16_units(std::string_view text) {
  std::int64_t units = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0U) != 0x80U) ++units;
    if (byte >= 0xF0U) ++units;
  }
  return units;
}

// Pictures in a user's message count nothing and those in tool results do, as in pi.
std::int64_t units_of(const std::vector<session::Block>& blocks, std::int64_t image) {
  std::int64_t units = 0;
  for (const auto& block : blocks)
    units += std::visit(Overload{
                            [](const session::TextBlock& b) { return utf16_units(b.text); },
                            [](const session::ThinkingBlock& b) { return utf16_units(b.thinking); },
                            [&](const session::ImageBlock&) { return image; },
                            [](const session::ToolCallBlock& b) {
                              return utf16_units(b.name) + utf16_units(json::write(b.arguments));
                            },
                            [](const session::OtherBlock&) { return std::int64_t{0}; },
                        },
                        block);
  return units;
}

// Tokens per character with the usual tokenizers, by kind of character.
constexpr double kLetter = 0.22;
constexpr double kSign = 0.50;
constexpr double kIdeograph = 0.85;
constexpr double kOther = 0.32;
constexpr double kLearning = 0.3;
constexpr double kFactorMin = 0.25, kFactorMax = 4;
constexpr double kLessonWeightMin = 50;
constexpr double kImage = 1200;
constexpr double kAroundMessage = 4;  // for what an API adds to each message

double weigh(const std::vector<session::Block>& blocks) {
  double sum = kAroundMessage;
  for (const auto& block : blocks)
    sum +=
        std::visit(Overload{
                       [](const session::TextBlock& b) { return context::weigh(b.text); },
                       [](const session::ThinkingBlock& b) { return context::weigh(b.thinking); },
                       [](const session::ImageBlock&) { return kImage; },
                       [](const session::ToolCallBlock& b) {
                         return context::weigh(b.name) + context::weigh(json::write(b.arguments));
                       },
                       [](const session::OtherBlock&) { return 0.0; },
                   },
                   block);
  return sum;
}

}  // namespace

std::int64_t estimate(const session::Message& message) {
  const auto units = std::visit(
      Overload{
          [](const session::UserMessage& m) { return units_of(m.content, 0); },
          [](const session::AssistantMessage& m) { return units_of(m.content, 0); },
          [](const session::ToolResultMessage& m) { return units_of(m.content, kImageUnits); },
          [](const session::BashMessage& m) {
            return utf16_units(m.command) + utf16_units(m.output);
          },
          [](const session::CustomMessage& m) { return units_of(m.content, kImageUnits); },
          [](const session::SummaryMessage& m) { return utf16_units(m.summary); },
          [](const session::OtherMessage&) { return std::int64_t{0}; },
      },
      message);
  return (units + kUnitsPerToken - 1) / kUnitsPerToken;
}

ContextTokens count(const session::Context& context) {
  ContextTokens out;
  // A reply that a compaction kept reported on a context that is gone.
  const auto* first =
      context.items.empty()
          ? nullptr
          : std::get_if<session::SummaryMessage>(context.items.front().message.get());
  const bool compacted = first && first->kind == session::SummaryMessage::Kind::compaction;
  const auto since = compacted ? first->time : TimePoint::min();
  auto i = context.items.size();
  for (; i > 0; --i) {
    const auto* reply = std::get_if<session::AssistantMessage>(context.items[i - 1].message.get());
    const bool good = reply && reply->stop_reason != session::StopReason::error &&
                      reply->stop_reason != session::StopReason::aborted;
    if (good && reply->usage.total() > 0 && reply->time > since) {
      out.reported = reply->usage.total();
      out.reported_at = i - 1;
      break;
    }
    out.since += estimate(*context.items[i - 1].message);
  }
  out.total = out.reported + out.since;
  return out;
}

double weigh(std::string_view text) {
  double tokens = 0;
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80U) {
      const bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
      tokens += letter || byte == ' ' ? kLetter : kSign;
      ++i;
    } else {
      // Characters from U+3000 on start with E3..ED, or take four bytes.
      const bool ideograph = byte >= 0xE3U && byte != 0xEEU && byte != 0xEFU;
      tokens += ideograph ? kIdeograph : kOther;
      ++i;
      while (i < text.size() && (static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U) ++i;
    }
  }
  return tokens;
}

double weigh(const session::Message& message) {
  using session::StopReason;
  return std::visit(Overload{
                        [](const session::AssistantMessage& m) {
                          if (m.stop_reason == StopReason::error) return 0.0;
                          if (m.stop_reason != StopReason::aborted) return weigh(m.content);
                          // the model gets only its text (session/context.h)
                          return m.hidden ? 0.0 : weigh(session::text_of(m.content));
                        },
                        [](const session::BashMessage& m) {
                          return m.exclude_from_context ? 0.0 : weigh(m.command) + weigh(m.output);
                        },
                        [](const session::SummaryMessage& m) { return weigh(m.summary); },
                        [](const session::OtherMessage&) { return 0.0; },
                        [](const auto& m) { return weigh(m.content); },
                    },
                    message);
}

std::int64_t Estimator::estimate(double weight) const {
  return static_cast<std::int64_t>(std::ceil(weight * factor_));
}

void Estimator::learn(double weight, std::int64_t tokens) {
  if (weight < kLessonWeightMin || tokens <= 0) return;
  const auto off =
      std::abs(weight * factor_ - static_cast<double>(tokens)) / static_cast<double>(tokens);
  ++lessons_;
  error_ += (off - error_) / lessons_;
  const auto seen = std::clamp(static_cast<double>(tokens) / weight, kFactorMin, kFactorMax);
  factor_ = lessons_ == 1 ? seen : factor_ + kLearning * (seen - factor_);
}

}  // namespace reef::context
