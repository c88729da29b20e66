// Table of contents of client/: the daemon, as its clients see it. Typed requests over a Unix
// socket or TCP, any number at a time on one connection. Loop thread of the caller.
//
//   client.h      Client, Stream, Endpoint    this file
//   files.cpp                                 attach, files
//   following.h   Following                   what is followed, over lost connections
//   connection.h  Connection                  one connection and who waits for what on it
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "protocol/protocol.h"

namespace reef::client {

struct Endpoint {
  std::string unix_path;  // when not empty, the rest is not used
  std::uint16_t tcp_port = 0;
  std::string token;
};

struct Options {
  std::string name = "reef";
  std::chrono::milliseconds connect_timeout{5'000};
  std::chrono::milliseconds answer_timeout{30'000};  // for requests with one answer
  // How often a lost connection is tried again; the pause between tries doubles from 50 ms.
  int reconnects_max = 4;
};

class Connection;
struct Inbox;

// The answers to one request, in order. Ends by itself where the protocol says it does.
class Stream {
 public:
  Stream(std::shared_ptr<Connection> connection, std::uint64_t id, std::shared_ptr<Inbox> inbox);
  Stream(Stream&&) = default;
  Stream& operator=(Stream&&) = delete;
  ~Stream();

  // nullopt after the last message. Fails with an Error message of the daemon, or when the
  // connection is lost. A timeout of zero waits as long as it takes.
  Task<Result<std::optional<protocol::ServerMessage>>> next(
      std::chrono::milliseconds timeout = std::chrono::milliseconds(0));

 private:
  std::shared_ptr<Connection> connection_;
  std::uint64_t id_;
  std::shared_ptr<Inbox> inbox_;
  bool ended_ = false;
};

// The words of a turn, and whom they are for.
struct TurnRequest {
  std::string agent, sender, content, cwd;
  std::optional<std::string> key = {};  // instead of agent and sender
  std::string guest = {};               // the agent that answers instead, in this conversation
  std::string queue = {};               // queue mode while a turn runs; empty: as configured
  std::string context = {};             // for the model, in this turn only
};

class Client {
 public:
  Client(Executor loop, Endpoint endpoint, Options options = {});
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Connects and says Hello. Requests do so themselves when needed.
  Task<Status> connect();
  const protocol::HelloResponse& server() const { return server_; }
  void close();

  Task<Status> ping();
  Task<Result<protocol::Stats>> stats();
  Task<Status> reload();
  Task<Status> shutdown();
  Task<Status> kill(std::string agent, std::string sender);
  Task<Result<protocol::SendResponse>> send(TurnRequest turn);
  Task<Result<Stream>> stream(TurnRequest turn);
  // Returns all pages of a list as one; with a limit, its cursor leads to the rest.
  Task<Result<protocol::SessionList>> sessions(protocol::ListSessions query = {});
  // For the requests that answer with a session: new, resume, fork, rewind, patch, label.
  // `patience` is for those that a model has to read for first.
  Task<Result<protocol::SessionRow>> change_session(
      protocol::ClientMessage message, std::optional<std::chrono::milliseconds> patience = {});
  struct Transcript {
    protocol::SessionRow row;
    std::string bytes;
  };
  Task<Result<Transcript>> read_session(std::string id);

  // Copies a file into a session. `read` returns the bytes from an offset on, at most so many, and
  // fewer only at the end; `progress` is told how many have arrived.
  struct AttachSource {
    std::string name;
    std::uint64_t bytes = 0;  // 0: not known
    std::function<Result<std::string>(std::uint64_t from, std::size_t size)> read;
    std::function<void(std::uint64_t)> progress;
  };
  Task<Result<protocol::FileInfo>> attach(std::string id, AttachSource source);
  // Returns one page; its cursor leads to the next.
  Task<Result<protocol::FileList>> files(protocol::ListFiles query);

  // Memories of agents: memories() makes a list or a recall, memory_entry() the requests that
  // answer with an entry; the last two take all of it out as CRMEM and put it back (`load` is any
  // name that nobody else uses).
  Task<Result<protocol::MemoryList>> memories(protocol::ClientMessage message);
  Task<Result<protocol::MemoryEntry>> memory_entry(protocol::ClientMessage message);
  Task<Result<std::string>> read_memory(std::string agent);
  Task<Result<std::uint64_t>> load_memory(std::string agent, std::string load, std::string bytes);

  // Makes any request; the typed ones above are made of these.
  Task<Result<Stream>> open(protocol::ClientMessage message);
  enum class Repeat : std::uint8_t {
    safe,   // asked again on a new connection when the old one broke
    never,  // a broken connection is reported: the daemon may have done it already
  };
  Task<Result<protocol::ServerMessage>> request(protocol::ClientMessage message, Repeat repeat,
                                                std::chrono::milliseconds timeout);

 private:
  Executor loop_;
  Endpoint endpoint_;
  Options options_;
  std::shared_ptr<Connection> connection_;
  protocol::HelloResponse server_;
};

}  // namespace reef::client
