#include "model/facts.h"

#include <algorithm>

#include "base/utf8.h"

namespace reef::model {
namespace {

constexpr std::int64_t k = 1000;
constexpr bool kSees = true;
constexpr bool kBlind = false;
constexpr bool kThinks = true;
constexpr bool kPlain = false;

struct Line {
  std::string_view name;  // in lower case, with dashes only
  std::int64_t window;
  std::int64_t output;
  bool images;
  bool thinking;
  // US dollars per million tokens; 0 when unknown or free.
  double input, out, cache_read, cache_write;
};

constexpr Line kLines[] = {
    {"claude-opus-4-5", 200 * k, 64 * k, kSees, kThinks, 5, 25, 0.5, 6.25},
    {"claude-opus-4-1", 200 * k, 32 * k, kSees, kThinks, 15, 75, 1.5, 18.75},
    {"claude-opus-4", 200 * k, 32 * k, kSees, kThinks, 15, 75, 1.5, 18.75},
    {"claude-sonnet-4-5", 200 * k, 64 * k, kSees, kThinks, 3, 15, 0.3, 3.75},
    {"claude-sonnet-4", 200 * k, 64 * k, kSees, kThinks, 3, 15, 0.3, 3.75},
    {"claude-haiku-4-5", 200 * k, 64 * k, kSees, kThinks, 1, 5, 0.1, 1.25},
    {"claude-3-7-sonnet", 200 * k, 64 * k, kSees, kThinks, 3, 15, 0.3, 3.75},
    {"claude-3-5-sonnet", 200 * k, 8192, kSees, kPlain, 3, 15, 0.3, 3.75},
    {"claude-3-5-haiku", 200 * k, 8192, kSees, kPlain, 0.8, 4, 0.08, 1},
    {"claude-3-opus", 200 * k, 4096, kSees, kPlain, 15, 75, 1.5, 18.75},
    {"claude-3-haiku", 200 * k, 4096, kSees, kPlain, 0.25, 1.25, 0.03, 0.3},
    {"gpt-5", 400 * k, 128 * k, kSees, kThinks, 1.25, 10, 0.125, 0},
    {"gpt-5-mini", 400 * k, 128 * k, kSees, kThinks, 0.25, 2, 0.025, 0},
    {"gpt-5-nano", 400 * k, 128 * k, kSees, kThinks, 0.05, 0.4, 0.005, 0},
    {"gpt-5-pro", 400 * k, 272 * k, kSees, kThinks, 15, 120, 0, 0},
    {"gpt-5-1", 400 * k, 128 * k, kSees, kThinks, 1.25, 10, 0.125, 0},
    {"gpt-4-1", 1'047'576, 32'768, kSees, kPlain, 2, 8, 0.5, 0},
    {"gpt-4-1-mini", 1'047'576, 32'768, kSees, kPlain, 0.4, 1.6, 0.1, 0},
    {"gpt-4-1-nano", 1'047'576, 32'768, kSees, kPlain, 0.1, 0.4, 0.025, 0},
    {"gpt-4o", 128 * k, 16'384, kSees, kPlain, 2.5, 10, 1.25, 0},
    {"gpt-4o-mini", 128 * k, 16'384, kSees, kPlain, 0.15, 0.6, 0.075, 0},
    {"gpt-4-turbo", 128 * k, 4096, kSees, kPlain, 10, 30, 0, 0},
    {"gpt-4", 8192, 8192, kBlind, kPlain, 30, 60, 0, 0},
    {"gpt-3-5-turbo", 16'385, 4096, kBlind, kPlain, 0.5, 1.5, 0, 0},
    {"gpt-oss-120b", 131'072, 131'072, kBlind, kThinks, 0, 0, 0, 0},
    {"gpt-oss-20b", 131'072, 131'072, kBlind, kThinks, 0, 0, 0, 0},
    {"o1", 200 * k, 100 * k, kSees, kThinks, 15, 60, 7.5, 0},
    {"o3", 200 * k, 100 * k, kSees, kThinks, 2, 8, 0.5, 0},
    {"o3-mini", 200 * k, 100 * k, kBlind, kThinks, 1.1, 4.4, 0.55, 0},
    {"o3-pro", 200 * k, 100 * k, kSees, kThinks, 20, 80, 0, 0},
    {"o4-mini", 200 * k, 100 * k, kSees, kThinks, 1.1, 4.4, 0.275, 0},
    {"gemini-3-pro", 1'048'576, 65'536, kSees, kThinks, 2, 12, 0.2, 0},
    {"gemini-2-5-pro", 1'048'576, 65'536, kSees, kThinks, 1.25, 10, 0.125, 0},
    {"gemini-2-5-flash", 1'048'576, 65'536, kSees, kThinks, 0.3, 2.5, 0.03, 0},
    {"gemini-2-5-flash-lite", 1'048'576, 65'536, kSees, kThinks, 0.1, 0.4, 0.01, 0},
    {"gemini-2-0-flash", 1'048'576, 8192, kSees, kPlain, 0.1, 0.4, 0.025, 0},
    {"gemini-2-0-flash-lite", 1'048'576, 8192, kSees, kPlain, 0.075, 0.3, 0, 0},
    {"gemini-1-5-pro", 2'097'152, 8192, kSees, kPlain, 1.25, 5, 0.3125, 0},
    {"gemini-1-5-flash", 1'048'576, 8192, kSees, kPlain, 0.075, 0.3, 0.01875, 0},
    {"deepseek-chat", 128 * k, 8192, kBlind, kPlain, 0.28, 0.42, 0.028, 0},
    {"deepseek-reasoner", 128 * k, 64 * k, kBlind, kThinks, 0.28, 0.42, 0.028, 0},
    {"mistral-large", 128 * k, 0, kSees, kPlain, 2, 6, 0, 0},
    {"mistral-medium", 128 * k, 0, kSees, kPlain, 0.4, 2, 0, 0},
    {"mistral-small", 128 * k, 0, kSees, kPlain, 0.1, 0.3, 0, 0},
    {"codestral", 256 * k, 0, kBlind, kPlain, 0.3, 0.9, 0, 0},
    {"grok-4", 256 * k, 0, kSees, kThinks, 3, 15, 0.75, 0},
    {"grok-4-fast", 2000 * k, 0, kSees, kThinks, 0.2, 0.5, 0.05, 0},
    {"grok-3", 131'072, 0, kBlind, kPlain, 3, 15, 0.75, 0},
    {"grok-3-mini", 131'072, 0, kBlind, kThinks, 0.3, 0.5, 0.075, 0},
    {"grok-code-fast-1", 256 * k, 0, kBlind, kThinks, 0.2, 1.5, 0.02, 0},
    {"kimi-k2", 262'144, 0, kBlind, kPlain, 0.6, 2.5, 0.15, 0},
    {"nova-pro", 300 * k, 10 * k, kSees, kPlain, 0.8, 3.2, 0.2, 0},
    {"nova-lite", 300 * k, 10 * k, kSees, kPlain, 0.06, 0.24, 0.015, 0},
    {"nova-micro", 128 * k, 10 * k, kBlind, kPlain, 0.035, 0.14, 0.00875, 0},
    {"llama-3-3-70b", 131'072, 0, kBlind, kPlain, 0, 0, 0, 0},
    {"llama-3-1", 131'072, 0, kBlind, kPlain, 0, 0, 0, 0},
    {"qwen3", 40'960, 0, kBlind, kThinks, 0, 0, 0, 0},
};

// Maps us.anthropic.claude-sonnet-4-5-20250929-v1:0, anthropic/claude-sonnet-4.5 and
// claude-sonnet-4-5 to the same name.
std::string plain_name(std::string_view id) {
  auto name = utf8::lower_ascii(id);
  if (const auto slash = name.rfind('/'); slash != std::string::npos) name.erase(0, slash + 1);
  for (const std::string_view region : {"us.", "eu.", "apac.", "global.", "us-gov."})
    if (name.starts_with(region)) name.erase(0, region.size());
  for (const std::string_view vendor : {"anthropic.", "amazon.", "meta.", "mistral.", "deepseek."})
    if (name.starts_with(vendor)) name.erase(0, vendor.size());
  for (auto& c : name)
    if (c == '.' || c == ':' || c == '@' || c == '_') c = '-';
  return name;
}

}  // namespace

std::optional<ModelFacts> known_model(std::string_view id) {
  const auto name = plain_name(id);
  const Line* best = nullptr;
  for (const auto& line : kLines) {
    if (!name.starts_with(line.name)) continue;
    if (name.size() > line.name.size() && name[line.name.size()] != '-') continue;
    if (!best || line.name.size() > best->name.size()) best = &line;
  }
  if (!best) return std::nullopt;
  ModelFacts facts;
  facts.id = id;
  facts.context_window = best->window;
  facts.max_output = best->output;
  facts.images = best->images;
  facts.thinking = best->thinking;
  facts.price = {best->input, best->out, best->cache_read, best->cache_write, 0};
  return facts;
}

}  // namespace reef::model
