#include "protocol/protocol.h"

#include "base/utf8.h"

namespace reef::protocol {
namespace {

class Ready final : public MessageStream {
 public:
  explicit Ready(ServerMessage message) : message_(std::move(message)) {}
  Task<std::optional<ServerMessage>> next() override {
    co_return std::exchange(message_, std::nullopt);
  }

 private:
  std::optional<ServerMessage> message_;
};

class Later final : public MessageStream {
 public:
  explicit Later(Task<ServerMessage> task) : task_(std::move(task)) {}
  Task<std::optional<ServerMessage>> next() override {
    if (!task_) co_return std::nullopt;
    auto task = std::move(*task_);
    task_.reset();
    co_return co_await std::move(task);
  }

 private:
  std::optional<Task<ServerMessage>> task_;
};

}  // namespace

Answer answer_with(ServerMessage message) {
  return std::make_unique<Ready>(std::move(message));
}

Answer answer_with(Task<ServerMessage> message) {
  return std::make_unique<Later>(std::move(message));
}

Answer answer_with(const reef::Error& error) {
  return answer_with(make_error(error));
}

ServerMessage make_error(const reef::Error& error) {
  ServerMessage message;
  message.mutable_error()->set_code(traits(error.code).wire_code);
  // Paths and foreign words may be any bytes; the wire carries text.
  message.mutable_error()->set_message(utf8::sanitize(error.what));
  return message;
}

ServerMessage make_pong() {
  ServerMessage message;
  message.mutable_pong();
  return message;
}

ServerMessage make_outcome(const Status& done) {
  return done ? make_pong() : make_error(done.error());
}

Task<ServerMessage> pong_when_done(Task<Status> work) {
  co_return make_outcome(co_await std::move(work));
}

reef::Error error_from(const Error& message) {
  return reef::Error(errc_from_wire(message.code()), message.message());
}

std::string_view operation_name(const ClientMessage& message) {
  if (message.msg_case() == ClientMessage::MSG_NOT_SET) return {};
  const auto* field = ClientMessage::descriptor()->FindFieldByNumber(message.msg_case());
  return field ? std::string_view(field->name()) : std::string_view();
}

bool parse(google::protobuf::MessageLite& message, std::string_view bytes) {
  return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

void silence_library_log() {
  google::protobuf::SetLogHandler(nullptr);
}

}  // namespace reef::protocol
