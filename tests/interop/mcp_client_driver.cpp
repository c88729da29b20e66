// A client for the conformance tests of others: connects to the server named by its last argument,
// lists everything the server has and uses each thing once. The suite may name the calls to make
// (MCP_CONFORMANCE_CONTEXT: toolCalls, and the fields of an `oauth` table). When a server wants a
// login, this program plays the user and the browser: it visits the page and follows its redirect.
// Exits with 0 when nothing failed.
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "http/http.h"
#include "mcp/mcp.h"
#include "oauth/oauth.h"

namespace reef::mcp {
namespace {

// Returns a value for every argument that the schema requires.
json::value sample(const json::object& schema) {
  if (const auto* value = schema.if_contains("default")) return *value;
  if (const auto* values = json::find_array(schema, "enum"); values && !values->empty())
    return values->front();
  const auto type = json::find_string(schema, "type").value_or("string");
  if (type == "integer" || type == "number") return 5;
  if (type == "boolean") return true;
  if (type == "array") return json::array();
  if (type == "object") return json::object();
  return "test";
}

json::object samples(const json::object& schema, bool all) {
  json::object out;
  const auto* properties = json::find_object(schema, "properties");
  if (!properties) return out;
  const auto* required = json::find_array(schema, "required");
  for (const auto& [name, value] : *properties) {
    const bool needed = required && std::find(required->begin(), required->end(),
                                              json::value(name)) != required->end();
    if (value.is_object() && (all || needed)) out[name] = sample(value.get_object());
  }
  return out;
}

Task<Elicited> say_yes(Elicitation question) {
  Elicited out;
  out.action = Elicited::Action::accept;
  out.content = samples(question.schema, true);
  co_return out;
}

// Takes from the suite's context what a user would have written into the configuration.
oauth::Settings settings_from(const json::object& context, const std::string& key_file) {
  const auto text = [&](std::string_view key) {
    return std::string(json::find_string(context, key).value_or(""));
  };
  const char* name = std::getenv("MCP_CONFORMANCE_SCENARIO");
  const std::string scenario = name ? name : "";
  oauth::Settings out;
  out.client_id = text("client_id");
  out.client_secret = text("client_secret");
  out.issuer = text("issuer");
  if (scenario == "auth/basic-cimd")
    out.client_metadata_url = "https://conformance-test.local/client-metadata.json";
  if (scenario.starts_with("auth/client-credentials"))
    out.grant = oauth::GrantKind::client_credentials;
  if (scenario == "auth/wif-jwt-bearer") {
    out.grant = oauth::GrantKind::jwt_bearer;
    out.assertion = text("valid_jwt");
  }
  if (scenario == "auth/enterprise-managed-authorization") {
    out.grant = oauth::GrantKind::enterprise;
    out.idp_issuer = text("idp_issuer");
    out.idp_client_id = text("idp_client_id");
    out.id_token = text("idp_id_token");
  }
  if (const auto pem = text("private_key_pem"); !pem.empty()) {
    if (std::FILE* file = std::fopen(key_file.c_str(), "w")) {
      std::fwrite(pem.data(), 1, pem.size(), file);
      std::fclose(file);
    }
    out.private_key_file = key_file;
  }
  return out;
}

// Plays the user and the browser.
struct Visitor {
  static constexpr int kLoginsMax = 5;

  http::Client& http;
  oauth::Accounts& accounts;
  std::shared_ptr<oauth::Account> account;
  int logins = 0;

  Task<Result<std::string>> visit(std::string url) {
    http::Request request;
    request.method = "GET";
    request.url = std::move(url);
    REEF_CO_TRY(auto answer, co_await http.send(std::move(request), {}));
    const auto* to = http::find_header(answer.headers(), "location");
    std::string out = to ? *to : "";
    http.drain(std::move(answer));
    co_return out;
  }

  // Logs in when the error asks for it; returns true when the call is worth another attempt.
  Task<bool> log_in_after(Error why) {
    std::printf("refused: %s\n", why.what.c_str());
    if (why.code != Errc::unauthorized || is_unattended(account->settings()) ||
        ++logins > kLoginsMax)
      co_return false;
    const auto login = accounts.login(account);
    const auto page = co_await login->begin();
    if (!page) {
      std::printf("login: %s\n", page.error().what.c_str());
      co_return false;
    }
    const auto back = co_await visit(page->url);
    if (back && !back->empty()) static_cast<void>(co_await visit(*back));
    const auto grant = co_await login->finish();
    std::printf("login: %s\n", grant ? "ok" : grant.error().what.c_str());
    co_return grant.ok();
  }
};

struct Driver {
  Peer& peer;
  Visitor& visitor;
  bool failed = false;

  void note(const std::string& what, const Status& how) {
    std::printf("%s: %s\n", what.c_str(), how ? "ok" : how.error().what.c_str());
    if (!how) failed = true;
  }

  template <class T>
  Status status_of(const Result<T>& result) {
    if (result) return Ok{};
    return result.error();
  }

  Task<void> call(std::string name, json::object arguments) {
    CallOptions options;
    options.elicit = say_yes;
    options.progress = [](const Progress&) {};
    auto result = co_await peer.call_tool(name, arguments, options);
    while (!result && co_await visitor.log_in_after(result.error()))
      result = co_await peer.call_tool(name, arguments, options);
    // A refusal is an answer too.
    std::printf("tools/call %s: %s\n", name.c_str(), result ? "ok" : result.error().what.c_str());
  }

  Task<void> use_everything(const json::object& context) {
    auto tools = co_await peer.list_tools();
    while (!tools && co_await visitor.log_in_after(tools.error()))
      tools = co_await peer.list_tools();
    note("tools/list", status_of(tools));
    if (const auto* calls = json::find_array(context, "toolCalls")) {
      for (const auto& one : *calls) {
        const auto& fields = one.as_object();
        const auto* arguments = json::find_object(fields, "arguments");
        auto given = arguments ? *arguments : json::object();
        std::string name(json::find_string(fields, "name").value_or(""));
        co_await call(std::move(name), std::move(given));
      }
    } else if (tools) {
      for (const auto& tool : *tools) {
        auto given = samples(tool.schema, false);
        // The suite wants to see what we made of the other tool's schema.
        if (tool.name == "json_schema_echo") given["schema"] = tools->front().schema;
        co_await call(tool.name, std::move(given));
      }
    }
    if (peer.info().resources) {
      const auto resources = co_await peer.list_resources();
      note("resources/list", status_of(resources));
      if (resources && !resources->empty()) {
        const auto read = co_await peer.read_resource(resources->front().uri, {});
        note("resources/read", status_of(read));
      }
    }
    if (peer.info().prompts) {
      const auto prompts = co_await peer.list_prompts();
      note("prompts/list", status_of(prompts));
      if (prompts && !prompts->empty()) {
        const auto got = co_await peer.get_prompt(prompts->front().name, {}, {});
        note("prompts/get", status_of(got));
      }
    }
  }
};

Task<void> drive(Executor loop, std::string url, int& exit_code) {
  http::Client client(loop);
  Resolved server;
  server.spec.name = "conformance";
  server.spec.url = std::move(url);
  if (const char* token = std::getenv("MCP_DRIVER_TOKEN")) server.spec.auth = token;
  server.spec.timeout = std::chrono::seconds(20);
  json::object context;
  if (const char* text = std::getenv("MCP_CONFORMANCE_CONTEXT"))
    if (auto value = json::parse(text); value && value->is_object()) context = value->get_object();
  PosixFiles files;
  SystemClock clock;
  reef::Pool threads(1);
  const auto as_it_is = [](std::string words) -> Task<Result<std::string>> { co_return words; };
  oauth::Accounts accounts(oauth::Needs{loop, clock, [&]() -> http::Client& { return client; },
                                        as_it_is, files, threads});
  const auto key_file = "/tmp/mcp_client_driver." + std::to_string(::getpid()) + ".pem";
  server.spec.oauth = settings_from(context, key_file);
  server.account = accounts.account(server.spec.url, server.spec.oauth);
  Visitor visitor{client, accounts, server.account};
  const Peer::Needs needs{loop, client};
  auto peer = co_await Peer::connect(needs, server, {});
  while (!peer && co_await visitor.log_in_after(peer.error()))
    peer = co_await Peer::connect(needs, server, {});
  ::unlink(key_file.c_str());
  if (!peer) {
    std::printf("connect: %s\n", peer.error().what.c_str());
  } else {
    const auto& info = (*peer)->info();
    std::printf("connected: %s, %s, %s\n", info.server.c_str(), info.version.c_str(),
                info.transport.c_str());
    Driver driver{**peer, visitor};
    co_await driver.use_everything(context);
    co_await (*peer)->close();
    exit_code = driver.failed ? 1 : 0;
  }
  co_await accounts.stop();
  co_await client.stop();
}

}  // namespace
}  // namespace reef::mcp

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: mcp_client_driver URL\n");
    return 2;
  }
  boost::asio::io_context io(1);
  int exit_code = 1;
  boost::asio::co_spawn(io, reef::mcp::drive(io.get_executor(), argv[argc - 1], exit_code),
                        boost::asio::detached);
  io.run();
  return exit_code;
}
