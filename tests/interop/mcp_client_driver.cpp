// A client for others' conformance tests: connects to the server named by its last argument, looks
// at everything it has and uses it once. What is to be called may be said by the suite
// (MCP_CONFORMANCE_CONTEXT: toolCalls). Exit code 0 when nothing failed.
#include <cstdio>
#include <cstdlib>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "http/http.h"
#include "mcp/mcp.h"

namespace reef::mcp {
namespace {

// A value for every argument a schema insists on.
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

struct Driver {
  Peer& peer;
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
    const auto result = co_await peer.call_tool(name, std::move(arguments), options);
    // A refusal is an answer, too.
    std::printf("tools/call %s: %s\n", name.c_str(), result ? "ok" : result.error().what.c_str());
  }

  Task<void> use_everything(const json::object& context) {
    const auto tools = co_await peer.list_tools();
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
  const Peer::House house{loop, client};
  Peer::Watch watch;
  auto peer = co_await Peer::connect(house, std::move(server), std::move(watch));
  if (!peer) {
    std::printf("connect: %s\n", peer.error().what.c_str());
  } else {
    const auto& info = (*peer)->info();
    std::printf("connected: %s, %s, %s\n", info.server.c_str(), info.version.c_str(),
                info.transport.c_str());
    Driver driver{**peer};
    co_await driver.use_everything(context);
    co_await (*peer)->close();
    exit_code = driver.failed ? 1 : 0;
  }
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
