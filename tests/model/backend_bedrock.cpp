// Bedrock's ConverseStream as its server speaks it: binary frames.
#include <algorithm>

#include <fmt/format.h>
#include <openssl/sha.h>

#include "base/overload.h"
#include "model/backends.h"
#include "model/bedrock/bedrock.h"
#include "model/validators.h"

namespace reef::model::test {
namespace {

using reef::test::SeenRequest;

std::string number(std::size_t value, int bytes) {
  std::string out;
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>((value >> (8 * i)) & 0xFF);
  return out;
}

// CRC-32 computed bit by bit, straight from its definition.
std::string checksum(const std::string& bytes) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int i = 0; i < 8; ++i) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0xEDB88320 : 0);
  }
  return number(~crc & 0xFFFFFFFF, 4);
}

std::string frame(const std::vector<std::pair<std::string, std::string>>& headers,
                  const std::string& payload) {
  std::string head;
  for (const auto& [name, value] : headers)
    head += number(name.size(), 1) + name + number(7, 1) + number(value.size(), 2) + value;
  auto out = number(16 + head.size() + payload.size(), 4) + number(head.size(), 4);
  out += checksum(out);
  out += head + payload;
  return out + checksum(out);
}

std::string event(const std::string& type, json::object payload) {
  // Real frames are padded so that their sizes tell nothing.
  payload["p"] = "abcdefghijk";
  return frame(
      {{":event-type", type}, {":content-type", "application/json"}, {":message-type", "event"}},
      json::write(payload));
}

std::string delta(std::size_t index, json::object content) {
  return event("contentBlockDelta", {{"contentBlockIndex", index}, {"delta", std::move(content)}});
}

std::string stream(const Script& script) {
  auto out = event("messageStart", {{"role", "assistant"}});
  std::size_t index = 0;
  for (const auto& said : script.blocks) {
    std::visit(
        Overload{
            [&](const Script::Text& text) {
              for (const auto& piece : text.pieces) out += delta(index, {{"text", piece}});
            },
            [&](const Script::Thinking& thinking) {
              for (const auto& piece : thinking.pieces)
                out += delta(index, {{"reasoningContent", json::object{{"text", piece}}}});
              out += delta(index,
                           {{"reasoningContent", json::object{{"signature", thinking.signature}}}});
            },
            [&](const Script::Call& call) {
              out +=
                  event("contentBlockStart",
                        {{"contentBlockIndex", index},
                         {"start", json::object{{"toolUse", json::object{{"toolUseId", call.id},
                                                                         {"name", call.name}}}}}});
              for (const auto& piece : call.argument_pieces)
                out += delta(index, {{"toolUse", json::object{{"input", piece}}}});
            },
        },
        said);
    out += event("contentBlockStop", {{"contentBlockIndex", index++}});
  }
  const auto* reason = script.stop == Script::Stop::end      ? "end_turn"
                       : script.stop == Script::Stop::length ? "max_tokens"
                                                             : "tool_use";
  out += event("messageStop", {{"stopReason", reason}});
  return out +
         event("metadata", {{"usage", json::object{{"inputTokens", script.input},
                                                   {"outputTokens", script.output},
                                                   {"totalTokens", script.input + script.output},
                                                   {"cacheReadInputTokens", script.cache_read},
                                                   {"cacheWriteInputTokens", script.cache_write}}},
                            {"metrics", json::object{{"latencyMs", 12}}}});
}

std::string hex(const std::string& bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

std::string hash(const std::string& text) {
  std::string out(32, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(),
         reinterpret_cast<unsigned char*>(out.data()));
  return out;
}

// RFC 2104, written out.
std::string keyed_hash(std::string key, const std::string& text) {
  if (key.size() > 64) key = hash(key);
  key.resize(64, '\0');
  auto inner = key, outer = key;
  for (auto& c : inner) c = static_cast<char>(c ^ 0x36);
  for (auto& c : outer) c = static_cast<char>(c ^ 0x5c);
  return hash(outer + hash(inner + text));
}

// Checks the signature as AWS does: from the bytes on the wire and the secret it knows.
std::string check_signature(const SeenRequest& request) {
  const auto& given = request.headers.at("authorization");
  const auto between = [&](std::string_view from, std::string_view to) {
    const auto start = given.find(from) + from.size();
    return given.substr(start, given.find(to, start) - start);
  };
  const auto date = request.headers.at("x-amz-date").substr(0, 8);
  const auto scope = date + "/eu-west-1/bedrock/aws4_request";
  if (between("Credential=", ",") != "AKIDEXAMPLE/" + scope) return "the credential's scope";
  const auto names = between("SignedHeaders=", ",");
  auto canonical = request.method + "\n" + request.target + "\n\n";
  for (std::size_t at = 0; at < names.size();) {
    const auto end = std::min(names.find(';', at), names.size());
    const auto name = names.substr(at, end - at);
    canonical += name + ":" + request.headers.at(name) + "\n";
    at = end + 1;
  }
  canonical += "\n" + names + "\n" + hex(hash(request.body));
  auto key = keyed_hash("AWS4sk-test", date);
  for (const auto* part : {"eu-west-1", "bedrock", "aws4_request"}) key = keyed_hash(key, part);
  const auto expected =
      hex(keyed_hash(key, "AWS4-HMAC-SHA256\n" + request.headers.at("x-amz-date") + "\n" + scope +
                              "\n" + hex(hash(canonical))));
  return between("Signature=", ",") == expected ? "" : "the signature does not match";
}

}  // namespace

Backend bedrock_converse() {
  using Kind = Failure::Kind;
  const auto type = [](std::string name) { return Headers{{"x-amzn-ErrorType", std::move(name)}}; };
  const auto says = [](std::string_view message) {
    return json::write(json::object{{"message", message}});
  };
  Backend out;
  out.name = "BedrockConverse";
  out.codec = [](const std::string& base_url, const std::string& key) {
    return std::make_shared<BedrockCodec>(bedrock_options(
        "AKIDEXAMPLE:" + key, "eu-west-1", base_url, [](const auto&) { return std::string(); }));
  };
  out.stream = stream;
  out.failing = event("messageStart", {{"role", "assistant"}}) + delta(0, {{"text", "so far"}}) +
                frame({{":exception-type", "serviceUnavailableException"},
                       {":content-type", "application/json"},
                       {":message-type", "exception"}},
                      R"({"message":"Bedrock is unable to process your request."})");
  out.errors = {
      {400, says("messages: field required"), Kind::invalid_request, false,
       type("ValidationException:http://internal.amazon.com/")},
      {400, says("Input is too long for requested model."), Kind::context_overflow, false,
       type("ValidationException")},
      {400,
       says("The model returned the following errors: prompt is too long: 213462 tokens > 200000 "
            "maximum"),
       Kind::context_overflow, false, type("ValidationException")},
      {403, says("The request signature we calculated does not match"), Kind::auth, false,
       type("InvalidSignatureException")},
      {403, says("The security token included in the request is expired"), Kind::auth, false,
       type("ExpiredTokenException")},
      {403, says("You don't have access to the model"), Kind::auth, false,
       type("AccessDeniedException")},
      {404, says("Could not resolve the foundation model"), Kind::invalid_request, false,
       type("ResourceNotFoundException")},
      {429, says("Too many requests"), Kind::rate_limit, false, type("ThrottlingException")},
      {429, says("Model is not ready"), Kind::overloaded, false, type("ModelNotReadyException")},
      {400, says("Your request exceeds the quota"), Kind::rate_limit, true,
       type("ServiceQuotaExceededException")},
      {429, R"({"__type":"com.amazon.coral.service#ThrottlingException","message":"slow"})",
       Kind::rate_limit},
      {424, says("The model failed"), Kind::server, false, type("ModelErrorException")},
      {408, says("The model timed out"), Kind::timeout, false, type("ModelTimeoutException")},
      {500, says("internal"), Kind::server, false, type("InternalServerException")},
      {503, says("unavailable"), Kind::overloaded, false, type("ServiceUnavailableException")},
  };
  out.models = {"us.anthropic.claude-sonnet-4-5-20250929-v1:0", "anthropic.claude-opus-4-6-v1",
                "amazon.nova-pro-v1:0", "meta.llama3-70b"};
  out.validate = reef::test::validate_bedrock;
  out.judge = [](const SeenRequest& request) -> std::string {
    if (request.method != "POST" || request.target != "/model/asked-model/converse-stream")
      return "path " + request.target;
    if (request.headers.at("content-type") != "application/json") return "content-type";
    if (auto why = check_signature(request); !why.empty()) return why;
    const auto body = json::parse(request.body);
    return body ? reef::test::validate_bedrock(*body) : body.error().what;
  };
  out.says_model = false;
  out.counts_cache_writes = true;
  out.counts_reasoning = false;
  out.content_type = "application/vnd.amazon.eventstream";
  return out;
}

}  // namespace reef::model::test
