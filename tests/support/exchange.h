// Intake and outlet of exchange/ in memory, for tests of readers and writers. A caller that breaks
// the contract ends the program.
#pragma once

#include <map>
#include <set>

#include "base/files.h"
#include "exchange/exchange.h"

namespace reef::test {

class MemoryIntake final : public exchange::Intake {
 public:
  struct Session {
    exchange::Head head;
    std::vector<session::Entry> entries;
    json::object meta;                         // from the head, and learned later
    std::map<std::string, std::string> files;  // path in the session's folder -> bytes
    bool ended = false;

    // The session as the real intake writes it: a header, the metadata, the entries.
    session::Transcript transcript() const;
    std::string bytes() const;
    session::Row row() const;
    // The messages, one line each: "role: text", "call NAME {arguments}", "result NAME: text".
    std::vector<std::string> said() const;
  };

  // Files are copied through `files`.
  explicit MemoryIntake(Files& files) : files_(files) {}

  // begin() refuses this origin with this mark from now on.
  void know(const exchange::Head& head) { known_[head.origin] = head.mark; }
  void cancel() { cancelled_ = true; }

  Result<bool> begin(exchange::Head head) override;
  Status entry(session::Entry entry, std::string_view line = {}) override;
  Result<std::string> copy(std::string_view folder, std::string_view name,
                           const std::string& from) override;
  Result<std::string> put(std::string_view folder, std::string_view name,
                          std::string_view bytes) override;
  void learn(json::object meta) override;
  Status end() override;
  Status define(exchange::Definition definition) override;
  void problem(exchange::Problem problem) override;
  void consumed(std::uint64_t bytes) override { consumed_ += bytes; }
  bool cancelled() const override { return cancelled_; }

  const std::vector<Session>& sessions() const { return sessions_; }
  const std::vector<exchange::Definition>& definitions() const { return definitions_; }
  const std::vector<exchange::Problem>& problems() const { return problems_; }
  std::uint64_t bytes_consumed() const { return consumed_; }

 private:
  Files& files_;
  std::map<std::string, std::string> known_;
  std::vector<Session> sessions_;
  std::set<std::string> ids_;  // entry ids of the session that is being read
  std::vector<exchange::Definition> definitions_;
  std::vector<exchange::Problem> problems_;
  std::uint64_t consumed_ = 0;
  bool cancelled_ = false;
};

class MemoryOutlet final : public exchange::Outlet {
 public:
  Status begin(std::string path) override;
  Status write(std::string_view bytes) override;
  Status end() override;

  const std::map<std::string, std::string>& files() const { return files_; }

 private:
  std::map<std::string, std::string> files_;
  std::string* open_ = nullptr;
};

}  // namespace reef::test
