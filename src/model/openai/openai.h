// OpenAI's two APIs, for OpenAI and all compatible backends: Ollama, llama.cpp, vLLM, LM Studio,
// OpenRouter, LiteLLM, Groq, DeepSeek, Mistral, ... Loop thread.
//
//   openai.h      ChatCodec, ResponsesCodec, Endpoint   this file
//   errors.h      interpreting error bodies
//   chat.cpp      Chat Completions          chat_decoder.cpp        its stream
//   responses.cpp Responses                 responses_decoder.cpp   its stream
#pragma once

#include <memory>
#include <string>

#include "model/codec.h"

namespace reef::model::openai {

// The addresses and headers of a backend. "{model}" in a URL stands for the model's name.
struct Endpoint {
  std::string chat_url;
  std::string responses_url;
  std::string models_url;  // empty when there is no list
  Headers headers;
  bool official = false;       // OpenAI itself or Azure: uses the newest parameter names
  bool echo_thoughts = false;  // the backend wants its reasoning sent back within a tool loop
};

// Accepts addresses without scheme or path, or with an endpoint's name at the end; a bare host gets
// /v1.
std::string normalise_base_url(std::string_view url);
Endpoint endpoint_at(std::string_view base_url, const std::string& key);
std::string expand(std::string_view url, std::string_view model);

struct ChatSettings {
  Endpoint endpoint;
  bool ask_usage = true;  // stream_options.include_usage; some servers refuse it
};

class ChatCodec final : public Codec {
 public:
  explicit ChatCodec(ChatSettings settings) : settings_(std::move(settings)) {}

  std::string_view api() const override { return "openai-completions"; }
  HttpRequest encode(const Request& request, const ModelFacts& facts, TimePoint now) const override;
  std::unique_ptr<Decoder> decoder(const Request& request, const ModelFacts& facts) const override;
  Failure failure(int status, const Headers& headers, std::string_view body) const override;
  std::optional<HttpRequest> encode_list(TimePoint now) const override;
  std::vector<ModelFacts> decode_list(std::string_view body) const override;

 private:
  ChatSettings settings_;
};

class ResponsesCodec final : public Codec {
 public:
  explicit ResponsesCodec(Endpoint endpoint) : endpoint_(std::move(endpoint)) {}

  std::string_view api() const override { return "openai-responses"; }
  HttpRequest encode(const Request& request, const ModelFacts& facts, TimePoint now) const override;
  std::unique_ptr<Decoder> decoder(const Request& request, const ModelFacts& facts) const override;
  Failure failure(int status, const Headers& headers, std::string_view body) const override;
  std::optional<HttpRequest> encode_list(TimePoint now) const override;
  std::vector<ModelFacts> decode_list(std::string_view body) const override;

 private:
  Endpoint endpoint_;
};

}  // namespace reef::model::openai
