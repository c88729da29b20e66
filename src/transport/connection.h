// One client's connection: reads frames, hands messages to the handler, writes the answers. Loop
// thread only.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/generic/stream_protocol.hpp>

#include "base/notify.h"
#include "base/task_group.h"
#include "protocol/peer.h"
#include "protocol/protocol.h"
#include "transport/frame.h"
#include "transport/frame_budget.h"

namespace reef::transport {

using Socket = boost::asio::generic::stream_protocol::socket;
using Handler = std::function<protocol::Answer(const protocol::Peer&, protocol::ClientMessage)>;

struct Limits {
  std::size_t connections_max = 4096;
  std::size_t send_queue_bytes_max = 1U << 20;
  std::size_t send_queue_messages_max = 256;
  std::chrono::milliseconds stall_max{30'000};  // a reader that takes nothing for so long is cut
  std::size_t requests_in_flight_max = 64;      // per connection
  // Connections that have not shown the token a listener asks for. The oldest makes room.
  std::size_t strangers_max = 32;
};

class Connection {
 public:
  struct Options {
    std::string name;   // for the log
    std::string token;  // when not empty, Hello must bring it before anything else
    Limits limits;
    std::shared_ptr<FrameBudget> budget = {};  // limits what all unfinished frames hold
    protocol::Peer peer = {};
    // Finds out who the peer is where that takes longer; asked before the first request is handled.
    std::function<Task<protocol::Peer>()> identify = {};
  };

  Connection(Socket socket, Handler handler, Options options);

  // Serves until the peer is done or breaks a rule, or close() is called. Must not be cancelled.
  Task<void> serve();
  void close();
  bool closed() const { return broken_; }
  // Every request is answered and nothing waits to be sent.
  bool settled() const;
  // Whether the peer has shown its token, or needs none.
  bool authorized() const { return authorized_; }
  // Cuts a peer that has taken nothing for longer than allowed; called from time to time.
  void check_progress(Moment now);

 private:
  struct Request {
    protocol::ClientMessage message;
    std::size_t bytes;
    bool refused = false;  // there was no room for it
  };

  Task<void> read_requests();
  // Returns false when the connection cannot go on. Does not look at the payload after the first
  // suspension.
  Task<bool> take(std::string_view payload);
  Task<void> answer_in_order();
  // Answers beside all others a message that has a request_id or must not wait. `under_way` counts
  // such answers.
  Task<void> answer_aside(protocol::ClientMessage message, std::size_t& under_way);
  Task<void> answer(protocol::ClientMessage message);
  // Waits while the send queue is full. `request`: the id of the request that is answered.
  Task<void> send(protocol::ServerMessage message, std::optional<std::uint64_t> request);
  Task<void> send_frame(std::string frame);
  void push(std::string frame);
  Task<void> write_frames();
  Task<void> refuse(Error error);
  bool peer_is_gone();

  Socket socket_;
  Handler handler_;
  Options options_;
  bool authorized_;
  bool legacy_ = true;  // until the peer shows that it is not
  bool reading_ = true;
  const LoopTime& time_;
  Moment accepted_;
  Moment free_;  // when last nobody waited for the end of our frame

  FrameReader reader_;
  FrameBudget::Share share_;
  bool held_back_ = false;  // waits for others' frames
  Moment came_ = {};        // when the last bytes came
  std::deque<Request> in_order_;
  std::size_t in_order_bytes_ = 0;
  std::size_t numbered_ = 0;
  std::size_t asides_ = 0;  // beside those in order, without a request_id
  bool answering_ = false;
  bool streaming_ = false;       // the answer in order under way is a Stream
  std::size_t bring_tools_ = 0;  // answers under way to clients that run tools for them

  std::deque<std::string> send_queue_;
  std::size_t send_bytes_ = 0;
  Moment progress_;      // last byte taken, or first byte waiting
  bool broken_ = false;  // nothing can be written any more

  Notify changed_;  // when any of the above has changed
  TaskGroup tasks_;
};

}  // namespace reef::transport
