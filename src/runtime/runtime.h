// Table of contents of runtime/, and its face: messages go in, turns happen, events come out. Opens
// no sockets and no files of its own. Loop thread only.
//
//   agent.h       Agent, Setup       who answers
//   reset.h       Expiry             when a conversation gets a new session
//   hook.h        Hook, Hooks        what agents can do beside talking
//   scope.h       find_violation     what an agent may reach; bounds.h: kept with a session
//   guest.h                          turns of an agent in another's conversation
//   permission.h  Permissions        whether a tool may be called
//   question.h    Ask, UserAnswer        what is asked of the user, and how answers are read
//   questions.h   Questions          those that wait for an answer
//   decisions.h   Decisions          all that a person decides, durable; decision_changes.h: for
//                                    readers that follow them
//   sent.h        Sent               messages that clients named, so that each is there once
//   retell.h      retell             what a turn said, from the transcript
//   forwards.h    Forwards           calls of tools that clients run
//   event.h       Event              what happens in a turn
//   broadcast.h   Broadcast          the events of all turns, for subscribers
//   event_log.h   EventLog           the events of one turn, for any number of readers
//   segments.h    Segments           what a model says, as events
//   tasks.h       Tasks              everything that runs, for lists
//   gauge.h       Gauge              how full a model's window is
//   window.h      WindowReport       what fills it
//   compaction.h  Compactions        what is old becomes a summary
//   title.h       make_title         a name for what is talked about
//   runtime.h     Runtime, Run       this file
//   turn.cpp                         one turn, from the user's words to `end`
//   step.cpp                         one model call and the tool calls it asked for
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>

#include "base/errand.h"
#include "base/task_group.h"
#include "runtime/agent.h"
#include "runtime/broadcast.h"
#include "runtime/decision_changes.h"
#include "runtime/decisions.h"
#include "runtime/event_log.h"
#include "runtime/forwards.h"
#include "runtime/gauge.h"
#include "runtime/hook.h"
#include "runtime/permission.h"
#include "runtime/questions.h"
#include "runtime/scope.h"
#include "runtime/segments.h"
#include "runtime/sent.h"
#include "runtime/window.h"
#include "session/session.h"

namespace reef::runtime {

class Compactions;

inline constexpr std::string_view kDefaultSender = "user";

struct Message {
  std::string agent;   // empty: the default agent
  std::string sender;  // empty: kDefaultSender
  std::string content;
  std::string cwd;
  std::optional<std::string> key = {};  // the conversation, instead of the pair
  std::string guest = {};  // the agent that speaks in this turn; empty: the conversation's
  std::optional<QueueMode> queue = {};  // none: the session's, else the agent's
  // For the first step; a tool that must be called once need not be called again.
  model::ToolChoice tool_choice = {};
  bool hidden = false;  // words of a program: kept, but shown to the model only
  Lineage lineage = {};
  // The agent that answers in the conversation `key`; it is in no configuration.
  std::optional<Agent> as = {};
  // Is asked instead of the user.
  std::function<Task<Result<std::vector<UserAnswer>>>(Ask)> ask = {};
  std::string context = {};  // told to the model in this turn only, never kept
  // Tools that the sender's client runs (forwards.h).
  std::vector<model::Tool> client_tools = {};
  // A turn of its own of which nothing is kept: no session is opened or made. Tools may only look.
  bool ephemeral = false;
  std::uint64_t correlation_id = 0;          // names an ephemeral turn to its observers
  std::vector<std::string> only_tools = {};  // of those the agent has; empty: all of them
  // Its client's name for it: kept with the words, and durable with them (submit_once).
  std::optional<session::ClientMark> client = {};
  // Nothing is said: the turn this session's transcript ends in goes on.
  std::optional<session::SessionId> resumes = {};
};

// A turn in flight, or what is left of it. Shared by the runtime and everybody who reads along; a
// reader that goes away changes nothing for the turn.
class Run : public std::enable_shared_from_this<Run> {
 public:
  // `host` is the conversation's agent when another one speaks.
  Run(Executor loop, Message message, Agent agent, std::shared_ptr<const Setup> setup,
      std::optional<Agent> host = std::nullopt)
      : message_(std::move(message)),
        agent_(with_only(std::move(agent), message_.only_tools)),
        host_(std::move(host)),
        setup_(std::move(setup)),
        stop_(std::make_shared<StopSign>(loop)),
        patience_(loop),
        events_(std::move(loop)) {}

  EventLog& events() { return events_; }
  // The same, holding the run in memory.
  std::shared_ptr<EventLog> shared_events() { return {shared_from_this(), &events_}; }
  void cancel();
  // Counts the runs of this daemon; 0 before it was submitted.
  std::uint64_t number() const { return number_; }
  // Whether other messages are answered in this turn too.
  bool shared() const { return !joined_.empty(); }
  // Interrupts one of its tool calls, and the turn goes on; false when the call does not run.
  bool cancel_call(const std::string& call_id);

 private:
  friend class Runtime;
  friend class Forwards;

  // The words behind /new or /reset; nothing without such a command. Only users can give it: agents
  // and events cannot.
  std::optional<std::string> rest_after_reset() const;
  // Whether the speaker is not the conversation's agent.
  bool guest() const { return host_.has_value(); }
  const Agent& host() const { return host_ ? *host_ : agent_; }
  // Lets readers go while something, mostly a disk, holds the cancelled turn up.
  void end_early();

  const Message message_;
  const Agent agent_;  // who speaks
  const std::optional<Agent> host_;
  const std::shared_ptr<const Setup> setup_;
  const std::shared_ptr<StopSign> stop_;  // set once it is cancelled
  Alarm patience_;                        // until a cancelled turn ends early
  EventLog events_;
  QueueMode queue_ = QueueMode::followup;
  std::uint64_t number_ = 0;
  std::vector<std::shared_ptr<Run>> joined_;  // answered in this turn too, the oldest first
  bool cancelled_ = false;
  std::size_t tool_clients_ = 0;    // clients that run the tools its message brought
  bool tool_clients_left_ = false;  // there was one, and none is there any more
  std::string session_id_;          // once it is known
  TaskGroup* tools_ = nullptr;      // those running now
  // Decisions this step waits for, and the calls that wait; none of work that was delegated.
  std::map<std::string, std::string> open_;
  std::vector<Decision> recorded_;              // that waited when the turn was taken up again
  bool parked_ = false;                         // cancelled by the stop of the daemon
  std::map<std::string, TaskGroup::Id> calls_;  // the same, by the id of the call
};

// Returns the session's own choice, else its agent's.
std::string model_for(const session::Row* row, const Agent& agent);

class Runtime {
 public:
  struct Needs {
    // Makes room when a context turns out to be too long; without it such a turn fails.
    Compactions* compactions = nullptr;
    // Called with a user's words once they are durable; must return at once.
    std::function<void(const session::SessionId&, const std::string&)> on_words = {};
  };
  // Everything it is given outlives it, and compactions the turns.
  Runtime(Executor loop, session::Sessions& sessions, Clock& clock, Needs needs);
  Runtime(Executor loop, session::Sessions& sessions, Clock& clock)
      : Runtime(std::move(loop), sessions, clock, Needs()) {}

  // Hooks are what agents can do beside talking; they are added before the first message.
  Hooks& hooks() { return hooks_; }

  // Questions that nobody has answered yet.
  Questions& questions() { return questions_; }
  // All that waits for a person to decide, also from before a restart.
  Decisions& decisions() { return decisions_; }
  // Their changes, for readers that come back.
  DecisionChanges& decision_changes() { return decision_changes_; }
  // The things agents may do without asking.
  Permissions& permissions() { return permissions_; }

  const Gauge& gauge() const { return gauge_; }
  // Tells how the window of a session's next call is filled.
  Task<Result<WindowReport>> window_of(session::SessionId id);

  // Called at start and after a reload; runs in flight keep what they have.
  void configure(std::shared_ptr<const Setup> setup);
  const Setup& setup() const { return *setup_; }
  std::shared_ptr<const Setup> shared_setup() const { return setup_; }

  // The agent's tools have changed; turns in flight keep what they have.
  void forget_offer(const std::string& agent) { offers_.erase(agent); }

  // Tool calls that clients run.
  Forwards& forwards() { return forwards_; }

  // Sends everything that happens in turns to subscribers; outlives reloads.
  Broadcast& broadcast() { return broadcast_; }

  // Keeps an agent's conversations still while its name changes: messages get `busy` until
  // release(). Fails with `busy` when one is running.
  Status hold(const std::string& agent);
  void release(const std::string& agent) { held_.erase(agent); }

  // Queues a turn behind the others of its conversation, or does what its queue mode says. Fails at
  // once when it can never run.
  Result<std::shared_ptr<Run>> submit(Message message);
  // The same for a message its client named: sent again, also after a restart, it is the run that
  // answers it, or one that tells again what was answered. A turn that a crash cut off goes on.
  // conflict when the name stands for another message.
  Task<Result<std::shared_ptr<Run>>> submit_once(Message message);
  // Goes on with the turn a session's transcript ends in, as the decision says where and for whom.
  Result<std::shared_ptr<Run>> resume(const Decision& decision);
  // Whether a message of this name was taken, or anything else an entry of the conversation's
  // sessions was written for.
  Task<Result<bool>> was_sent(session::Key key, session::ClientMark mark);
  // Gives words to the running turn before its next step; when it has no more steps they become the
  // next turn. not_found when nothing runs.
  Status steer(Message message);
  Task<Status> steer_once(Message message);

  // Cancels the running turn of the conversation and what was delegated from it; the messages that
  // wait there come next. With `all` they are cancelled too, and kept unanswered. not_found when
  // there is no such conversation.
  Status kill(std::string_view agent, std::string_view sender,
              const std::optional<std::string>& key = std::nullopt, bool all = false);
  // Returns the running turn, to read along from its beginning. not_found when nothing runs.
  Result<std::shared_ptr<Run>> running(std::string_view agent, std::string_view sender,
                                       const std::optional<std::string>& key) const;

  struct Address {
    session::Key key;
    Agent agent;
    std::string sender;
  };
  // Finds the conversation of a pair, or of a key when one is given, and fills in the defaults.
  Result<Address> resolve(std::string_view agent, std::string_view sender,
                          const std::optional<std::string>& key) const;

  struct Activity {
    bool running = false;
    std::size_t waiting = 0;  // messages
  };
  Activity activity(const session::Key& key) const;
  // The queue mode of a message that comes now and names none.
  QueueMode queue_of(const session::Key& key, const Agent& host) const;

  // Conversations with a turn running or waiting.
  std::size_t active() const { return conversations_.size(); }
  std::vector<session::Key> active_keys() const;

  // Takes no more messages, lets turns finish for `grace`, then cancels them; returns when all have
  // ended and what they said is durable.
  Task<void> drain(std::chrono::milliseconds grace);
  // Ends the grace of a drain that is under way.
  void hurry();

 private:
  struct Conversation {
    session::Key key;
    std::deque<std::shared_ptr<Run>> queue;
    std::shared_ptr<Run> current;
    std::deque<std::shared_ptr<Run>> steers;  // for the running turn
  };

  // Cancels the turn that runs there or is about to; with `all` the waiting ones, too.
  static void cancel(Conversation& conversation, bool all);
  void cancel_children(const std::string& key);
  Result<Address> address_of(const Message& message) const;
  // Also finds the key for an agent that a reload took away.
  Result<session::Key> key_of(std::string_view agent, std::string_view sender,
                              const std::optional<std::string>& key) const;
  static void enqueue(Conversation& conversation, std::shared_ptr<Run> run);
  // Messages that wait to be collected join the turn that is about to begin.
  static void join_waiting(Conversation& conversation, Run& run);
  void forget(const Run& run);
  struct Turn;
  Result<Message> message_to_resume(const Decision& decision) const;
  bool busy_in(const session::SessionId& id) const;
  // A run that tells again what the transcript says; nothing when the turn is to go on.
  Task<Result<std::shared_ptr<Run>>> told_again(session::Key key, session::SessionId id,
                                                Message message, bool unanswered);
  // Remembers the name of a message that is durable now.
  void note_kept(const session::Key& key, const Run& run, const session::SessionId& id);
  // Words for a session that is there; what waited for an answer in it is over.
  Task<Result<std::shared_ptr<session::Session>>> add_words(session::SessionId id,
                                                            std::vector<session::Draft> drafts);
  Task<Result<std::shared_ptr<session::Session>>> reopen(const session::Key& key, const Run& run);
  // The calls of the last step that have no result: those that wait for a decision are made, the
  // others were cut off. Whether the model is to be asked then.
  Task<bool> finish_round(Turn& turn);
  // Ends with those of the step that nobody answers any more.
  Task<void> close_open(Turn& turn);
  Task<void> offer_retry(Turn& turn);
  void tell_decision(const Decision& decision);
  Task<void> work(std::shared_ptr<Conversation> conversation);
  Task<void> take_turn(Conversation& conversation, Run& run);
  // Makes the user's words durable, in a new session when `fresh` or when the old one has expired.
  using Marks = std::vector<std::optional<session::Marked>>;
  Task<Result<std::shared_ptr<session::Session>>> record_user(session::Key key, const Run& run,
                                                              std::vector<Words> words, Marks marks,
                                                              bool fresh);
  // Records the words of a message that was cancelled before its turn came.
  Task<void> keep_unanswered(session::Key key, const Run& run);
  Task<void> start_over(session::Key key, Run& run);
  // An agent's tools and prompt; the same in all its turns until the configuration changes.
  struct Offer {
    Toolbox toolbox;
    std::string prompt;
    double prompt_weight = 0;
    double tools_weight = 0;
  };
  // `setup` is the one the turn runs with. A guest has no tools.
  std::shared_ptr<const Offer> offer_for(const Agent& agent,
                                         const std::shared_ptr<const Setup>& setup, bool guest);
  // The directory that the message names, else the session's.
  std::string directory_of(const session::SessionId& id, const std::string& wanted) const;
  // Gives the speaker its tools, its prompt and its framing.
  Task<void> prepare(Turn& turn);
  // Errands of a turn: each holds the run, which may be over before the errand.
  Task<Words> preprocess(std::shared_ptr<Run> run, std::string key, Words words) const;
  Task<bool> make_ready(std::shared_ptr<Run> run) const;
  Task<std::string> instructions_for(std::shared_ptr<Run> run, Place place) const;
  // The words as hooks change them; unchanged when the run is cancelled meanwhile.
  Task<Words> preprocessed(Run& run, const session::Key& key, Words words);
  // From here on hooks and subscribers hear of the run.
  void observe(const session::Key& key, Run& run, const std::string& session_id);
  struct Step {
    bool said_something = false;
    std::vector<session::ToolCallBlock> calls;
    std::size_t left_out = 0;  // calls beyond what one step makes
  };
  void tell_compaction(Turn& turn);
  static void tell_held(Turn& turn);
  Task<void> take_steps(Turn& turn);
  // The messages of the next request, old tool results pruned for the model that is asked.
  std::vector<session::MessagePtr> messages_for(Turn& turn);
  // Asks the candidates in turn until one answers or fails for good.
  Task<model::Outcome> ask_chain(Turn& turn, std::shared_ptr<Segments> segments);
  // Compacts the context. True when the model is worth asking again. On a failure the reason is
  // logged, and the overflow itself is the turn's error.
  void hear_of_compactions();
  Task<bool> make_room(Turn& turn);
  void tell_usage(Turn& turn, const session::Usage& usage);
  // Makes messages that steer the running turn part of it.
  Task<void> take_steers(Turn& turn);
  // Asks the model once and makes its reply durable. On a failure the turn's end says why.
  Task<Step> ask_model(Turn& turn);
  // Runs the calls side by side, some at a time; each result is durable as it comes.
  Task<void> call_tools(Turn& turn, Step step);
  struct Round;
  Task<void> call_tool(Turn& turn, Round& round, std::size_t number);
  Task<void> keep_result(Turn& turn, session::Message result, std::string plan);
  Caller caller_for(Turn& turn, const session::ToolCallBlock& call);
  // `session`: none of an ephemeral turn.
  Task<Result<std::vector<UserAnswer>>> ask_user(std::shared_ptr<Run> run,
                                                 std::weak_ptr<session::Session> session,
                                                 Questions::Origin origin, Ask ask);
  // True when all drafts are durable; else none is, and the turn's end says why.
  Task<bool> save(Turn& turn, const session::Message& message, std::string_view what);
  Task<bool> save_all(Turn& turn, std::vector<session::Draft> drafts, std::string_view what);

  const Needs needs_;
  Executor loop_;
  session::Sessions& sessions_;
  Clock& clock_;
  std::shared_ptr<const Setup> setup_;
  Hooks hooks_;
  Questions questions_;
  Decisions decisions_;
  DecisionChanges decision_changes_;
  Sent sent_;
  Permissions permissions_;
  Forwards forwards_;
  // Sessions that were compacted automatically since their last answer.
  static constexpr std::size_t kUntoldMax = 10'000;
  std::set<std::string> untold_compactions_;
  Broadcast broadcast_;
  Gauge gauge_;
  Prunings prunings_;
  Errands errands_;
  std::set<std::string, std::less<>> held_;
  std::map<std::string, std::shared_ptr<const Offer>, std::less<>> offers_;  // made for setup_
  std::unordered_map<session::Key, std::shared_ptr<Conversation>> conversations_;
  TaskGroup tasks_;
  Notify idle_;
  std::size_t waiting_bytes_ = 0;  // of messages whose turn is not over
  bool draining_ = false;
  bool hurried_ = false;
  std::uint64_t runs_ = 0;  // submitted so far
};

}  // namespace reef::runtime
