#include "model/overflow.h"

#include "base/utf8.h"

namespace reef::model {

bool says_too_long(std::string_view message) {
  const auto words = utf8::lower_ascii(message);
  const auto holds = [&](std::string_view part) { return words.find(part) != std::string::npos; };
  for (const std::string_view phrase : {"maximum context length",
                                        "context length exceeded",
                                        "context_length_exceeded",
                                        "exceed context limit",
                                        "exceeds the context window",
                                        "exceeds the available context size",
                                        "context size has been exceeded",
                                        "prompt is too long",
                                        "input is too long",
                                        "prompt too long",
                                        "too many input tokens",
                                        "input tokens exceed",
                                        "exceeds maximum token",
                                        "maximum prompt length",
                                        "reduce the length of the messages",
                                        "longer than the model's context length",
                                        "exceeds the model's maximum context",
                                        "input length exceeds",
                                        "too large for model with",
                                        "greater than the context length",
                                        "larger than the maximum context",
                                        "input token count exceeds",
                                        "when context the overflows",
                                        "exceeded model token limit",
                                        "exceeds the maximum number of tokens",
                                        "exceeds the maximum number of input tokens"})
    if (holds(phrase)) return true;
  return holds("token") && holds("exceeds the limit of");
}

}  // namespace reef::model
