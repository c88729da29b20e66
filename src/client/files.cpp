// Files of a session, as clients send and list them.

#include "client/client.h"

namespace reef::client {
namespace {

constexpr std::size_t kPieceBytes = 1U << 20;

Error unexpected() {
  return Error(Errc::unavailable,
               "the daemon answered with another kind of message than asked for");
}

}  // namespace

Task<Result<protocol::FileInfo>> Client::attach(std::string id, AttachSource source) {
  protocol::ClientMessage begin;
  begin.mutable_attach_file()->set_id(std::move(id));
  begin.mutable_attach_file()->set_name(source.name);
  begin.mutable_attach_file()->set_bytes(source.bytes);
  // It stays open until the end: the daemon gives the upload up when it is destroyed.
  REEF_CO_TRY(auto stream, co_await open(std::move(begin)));
  REEF_CO_TRY(const auto begun, co_await stream.next(options_.answer_timeout));
  if (!begun || !begun->has_upload()) co_return unexpected();

  std::uint64_t sent = 0;
  for (bool last = false; !last;) {
    REEF_CO_TRY(auto piece, source.read(sent, kPieceBytes));
    last = piece.size() < kPieceBytes;
    const auto count = piece.size();
    protocol::ClientMessage message;
    auto& data = *message.mutable_attach_data();
    data.set_upload(begun->upload().upload());
    data.set_offset(sent);
    data.set_data(std::move(piece));
    data.set_last(last);
    REEF_CO_TRY(const auto taken,
                co_await request(std::move(message), Repeat::never, options_.answer_timeout));
    if (!taken.has_upload()) co_return unexpected();
    sent += count;
    if (source.progress) source.progress(sent);
  }
  REEF_CO_TRY(const auto kept, co_await stream.next(options_.answer_timeout));
  if (!kept || !kept->has_attached_file()) co_return unexpected();
  co_return kept->attached_file();
}

Task<Result<protocol::FileList>> Client::files(protocol::ListFiles query) {
  protocol::ClientMessage message;
  *message.mutable_list_files() = std::move(query);
  REEF_CO_TRY(const auto answer, co_await request(message, Repeat::safe, options_.answer_timeout));
  if (!answer.has_file_list()) co_return unexpected();
  co_return answer.file_list();
}

}  // namespace reef::client
