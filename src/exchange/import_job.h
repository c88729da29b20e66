// The state that the workers and the loop of one import share. The workers' half is StagedIntake.
#pragma once

#include <future>
#include <map>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include <boost/asio/post.hpp>

#include "exchange/import.h"

namespace reef::exchange {

// The result of begin() for a session.
struct Decision {
  enum class What : std::uint8_t {
    skip,       // another worker has it, or it is in the trash
    unchanged,  // here already, with this mark
    fresh,
    known,  // here already, with another mark
  };
  What what = What::skip;
  std::optional<session::SessionId> id = {};  // set when fresh or known
  json::object meta = {};                     // when known: its metadata here
  bool first = true;                          // no file of its origin came before
  json::array other_marks = {};               // when known: the marks of its other files
  std::string parent_id = {};                 // the session it was forked from, when that is here
  std::string parent_path = {};
};

class ImportJob {
 public:
  ImportJob(ImportNeeds& needs, ImportRequest request);

  const ImportRequest request;

  // ---- the workers' questions; any thread ----
  bool cancelled() const { return cancelled_; }
  Result<Decision> decide(const Head& head);
  // Returns when the key counts as bound, in Unix milliseconds; 0 when another session has the key.
  std::int64_t bind(const session::Key& key, TimePoint updated);
  // Call when the session is complete in its folder.
  Status submit(session::Sessions::Arrival arrival, const std::string& origin,
                const std::string& path);
  // Call when the session is done, or when its reader gave up on it.
  void release(const std::string& origin);
  Result<std::string> read(const session::SessionId& id, std::uint64_t from, std::uint64_t size);
  Result<session::Session::Placed> append(const session::SessionId& id,
                                          session::Session::Foreign foreign);
  // False when the definition was given before.
  bool claim(const Definition& definition);
  // Whether this import brings an agent of the name, loaded or not.
  bool brings_agent(const std::string& name);
  // Hands the definition to its keeper.
  Result<bool> give(const Keeper& keeper, Definition definition);
  void problem(Problem problem);
  // Records a claim of a file that was refused.
  void refused(Problem problem);
  void works_in(const std::string& directory);
  // The mode of a session that sets none.
  std::string own_mode(const std::string& agent, const std::string& sender, const std::string& key);

  ImportNeeds& needs() { return needs_; }
  std::string staging_folder();
  std::mutex& definitions_mutex() { return definitions_mutex_; }

  std::atomic<std::uint64_t> sessions = 0, added = 0, continued = 0, unchanged = 0, entries = 0,
                             bytes = 0, bytes_total = 0, definitions = 0, redacted = 0;
  std::atomic<bool> agents_came = false;

  // ---- loop thread ----
  Task<void> run();
  void cancel() { cancelled_ = true; }
  bool done() const { return done_; }
  const Status& outcome() const { return outcome_; }
  Notify& changed() { return changed_; }
  std::vector<Problem> take_problems();
  std::uint64_t problems_left_out() const;
  std::vector<Problem> take_refused();
  std::vector<ImportDirectory> directories() const;

 private:
  // Runs the task on the loop and waits for its end.
  template <class T>
  T ask(std::function<Task<T>()> task) {
    std::promise<T> answer;
    auto future = answer.get_future();
    boost::asio::post(needs_.loop, [&] { questions_.spawn(answer_one(std::move(task), answer)); });
    return future.get();
  }
  template <class T>
  static Task<void> answer_one(std::function<Task<T>()> task, std::promise<T>& answer) {
    try {
      answer.set_value(co_await task());
    } catch (...) {
      answer.set_exception(std::current_exception());
    }
  }

  Task<Result<Decision>> decide_on_loop(Head head);
  Decision decide_known(const Head& head, const session::SessionId& id, bool first);
  session::SessionId choose_id(const Head& head);
  Task<Status> flush();
  Task<void> flush_behind();
  bool is_batch() const;
  Status work();
  Status find_trashed(const std::vector<session::Trashed>& trashed);
  Status name_other_program();
  void note(Problem problem, std::vector<Problem>& where);

  ImportNeeds& needs_;
  std::atomic<bool> cancelled_ = false;
  std::atomic<std::uint64_t> folders_ = 0;
  std::mutex definitions_mutex_;  // one definition file is written at a time

  mutable std::mutex problems_mutex_;  // protects the next five
  std::vector<Problem> problems_;
  std::unordered_set<std::uint64_t> problems_seen_;
  std::uint64_t problems_left_out_ = 0;
  std::vector<Problem> refused_;
  std::map<std::string, std::uint64_t> directories_;

  // ---- loop thread ----
  struct Waiting {
    session::Sessions::Arrival arrival;
    std::string origin;
    std::string path;
  };
  std::unordered_set<std::string> claimed_;                  // origin and path, definitions
  std::unordered_map<std::string, session::SessionId> ids_;  // origin -> its session here
  std::unordered_set<std::string> seen_;                     // origins
  std::unordered_set<std::string> under_way_;                // origins a worker is writing
  std::unordered_set<std::string> trashed_;
  std::unordered_set<std::string> taken_;  // session ids this import gave out or the trash holds
  std::unordered_set<std::string> bound_;  // keys this import has bound
  std::vector<Waiting> waiting_;           // whole, not yet taken in
  std::uint64_t waiting_bytes_ = 0;
  bool flushing_ = false;
  Status flushed_ = Ok{};  // the outcome of flushes nobody waits for
  bool done_ = false;
  Status outcome_ = Ok{};
  Notify changed_;
  TaskGroup questions_;
};

}  // namespace reef::exchange
