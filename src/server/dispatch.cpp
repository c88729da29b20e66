#include <fmt/format.h>

#include "server/server.h"

namespace reef::server {

protocol::Answer dispatch(Node& node, protocol::ClientMessage message) {
  using M = protocol::ClientMessage;
  switch (message.msg_case()) {
    case M::MSG_NOT_SET:
      return protocol::answer_with(Error(Errc::invalid, "empty client message"));
    case M::kSend:
      return answer_send(node, message.send());
    case M::kStream:
      return answer_stream(node, message.stream());
    case M::kKill:
      return answer_kill(node, message.kill());
    case M::kPing:
      return protocol::answer_with(protocol::make_pong());
    case M::kHello:
      return answer_hello(message.hello());
    case M::kGetStats:
      return answer_stats(node);
    case M::kReload:
      return answer_reload(node);
    case M::kShutdown:
      return answer_shutdown(node);
    case M::kListSessions:
      return answer_list_sessions(node);
    case M::kReadSession:
      return answer_read_session(node, message.read_session());
    case M::kInstallPlugin:
    case M::kUninstallPlugin:
    case M::kListPlugins:
    case M::kSearchPlugins:
    case M::kStartService:
    case M::kStopService:
    case M::kServiceLogs:
    case M::kGetConfig:
      return answer_gone(message);
    default:
      return protocol::answer_with(
          Error(Errc::unsupported,
                fmt::format("operation '{}' is not built yet", protocol::operation_name(message))));
  }
}

}  // namespace reef::server
