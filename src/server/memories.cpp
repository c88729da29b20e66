// Memories of agents: list, get, recall, remember, forget, rename, alias, read, load.

#include <fmt/format.h>

#include "base/pool.h"
#include "base/utf8.h"
#include "memory/memory.h"
#include "runtime/runtime.h"
#include "server/operations.h"
#include "server/server.h"

namespace reef::server {
namespace {

struct MemoriesNeeds {
  runtime::Runtime& runtime;
  memory::Memories& memories;
  Pool& pool;
  static MemoriesNeeds of(const Node& node) { return {node.runtime, node.memories, node.pool}; }
};

constexpr std::size_t kRowsPerMessage = 500;
// Bytes of contents in one message; a single entry may have more.
constexpr std::size_t kContentPerMessage = 1U << 20;
// A larger entry does not fit a frame; `memory dump` takes it out.
constexpr std::size_t kContentShownMax = 15U << 20;
constexpr std::size_t kPreviewBytesMax = 160;
constexpr std::size_t kRecallDefault = 5;
constexpr std::uint64_t kLastDate = 253'402'300'799;  // 9999-12-31T23:59:59Z

struct Opened {
  std::string agent;
  std::shared_ptr<memory::Memory> memory;
};

// Opens the memory of an agent that exists, or of one that is gone and left its memory.
Task<Result<Opened>> open_memory(MemoriesNeeds needs, std::string agent) {
  const auto found = needs.runtime.setup().find(agent);
  if (found) {
    agent = found->name;
  } else {
    REEF_CO_TRY(const bool left, co_await needs.memories.exists(agent));
    if (!left) co_return found.error();
  }
  REEF_CO_TRY(auto memory, needs.memories.of(agent));
  co_return Opened{std::move(agent), std::move(memory)};
}

enum class Part : std::uint8_t { preview, content };

void fill(protocol::MemoryEntry& out, const memory::Entry& entry, Part part) {
  out.set_id(entry.id);
  out.set_name(entry.name);
  out.set_kind(std::string(memory::name_of(entry.kind)));
  for (const auto& alias : entry.aliases) out.add_aliases(alias);
  const auto seconds = std::min(entry.created_at, kLastDate);
  out.set_created_at(format_iso(TimePoint(std::chrono::seconds(seconds))));
  out.set_bytes(entry.content.size());
  if (part == Part::content) {
    out.set_content(entry.content);
  } else {
    out.set_preview(
        utf8::single_line(utf8::printable(utf8::prefix(entry.content, kPreviewBytesMax))));
  }
}

protocol::ServerMessage info_of(const memory::Entry& entry) {
  if (entry.content.size() > kContentShownMax)
    return protocol::make_error(
        Error(Errc::too_large,
              fmt::format("'{}' has {} bytes, more than one answer can hold; reef memory dump "
                          "writes it to a file",
                          utf8::excerpt(entry.name), entry.content.size())));
  protocol::ServerMessage message;
  fill(*message.mutable_memory_info()->mutable_entry(), entry, Part::content);
  return message;
}

bool is_kind(std::string_view name) {
  for (const auto kind : {memory::Kind::note, memory::Kind::archive, memory::Kind::topic})
    if (name == memory::name_of(kind)) return true;
  return name.empty();
}

// Sends the hits of a list or a recall, a message at a time.
class MemoryStream final : public protocol::MessageStream {
 public:
  using Ask = std::function<Task<Result<std::vector<memory::Hit>>>(memory::Memory&)>;

  MemoryStream(MemoriesNeeds needs, std::string agent, Part part, Ask ask)
      : needs_(needs), agent_(std::move(agent)), part_(part), ask_(std::move(ask)) {}

  Task<std::optional<protocol::ServerMessage>> next() override {
    if (done_) co_return std::nullopt;
    if (ask_) {
      if (auto asked = co_await ask(); !asked) {
        done_ = true;
        co_return protocol::make_error(asked.error());
      }
    }
    protocol::ServerMessage message;
    auto& list = *message.mutable_memory_list();
    list.set_agent(agent_);
    std::size_t bytes = 0;
    for (std::size_t rows = 0; at_ < hits_.size() && rows < kRowsPerMessage; ++rows) {
      const auto& hit = hits_[at_];
      if (part_ == Part::content) {
        bytes += hit.entry->content.size();
        if (rows > 0 && bytes > kContentPerMessage) break;
      }
      auto& entry = *list.add_entries();
      fill(entry, *hit.entry, bytes > kContentShownMax ? Part::preview : part_);
      entry.set_score(hit.score);
      ++at_;
    }
    done_ = at_ == hits_.size();
    list.set_last(done_);
    co_return message;
  }

 private:
  Task<Status> ask() {
    const auto ask = std::exchange(ask_, nullptr);
    REEF_CO_TRY(auto opened, co_await open_memory(needs_, agent_));
    agent_ = std::move(opened.agent);
    REEF_CO_TRY(hits_, co_await ask(*opened.memory));
    co_return Ok{};
  }

  MemoriesNeeds needs_;
  std::string agent_;
  Part part_;
  Ask ask_;
  std::vector<memory::Hit> hits_;
  std::size_t at_ = 0;
  bool done_ = false;
};

Task<Result<std::vector<memory::Hit>>> all_of(memory::Memory& memory, std::string kind) {
  REEF_CO_TRY(const auto contents, co_await memory.contents());
  std::vector<memory::Hit> hits;
  for (const auto& entry : contents->entries)
    if (kind.empty() || memory::name_of(entry->kind) == kind) hits.push_back({entry, 0});
  co_return hits;
}

class ReadStream final : public protocol::MessageStream {
 public:
  ReadStream(MemoriesNeeds needs, std::string agent) : needs_(needs), agent_(std::move(agent)) {}

  Task<std::optional<protocol::ServerMessage>> next() override {
    if (done_) co_return std::nullopt;
    if (!bytes_) {
      auto read = co_await read_bytes();
      if (!read) {
        done_ = true;
        co_return protocol::make_error(read.error());
      }
      bytes_ = *std::move(read);
    }
    protocol::ServerMessage message;
    auto& data = *message.mutable_memory_data();
    data.set_data(bytes_->substr(at_, kDataPerMessage));
    at_ += data.data().size();
    done_ = at_ == bytes_->size();
    data.set_last(done_);
    co_return message;
  }

 private:
  Task<Result<std::string>> read_bytes() {
    REEF_CO_TRY(const auto opened, co_await open_memory(needs_, agent_));
    REEF_CO_TRY(const auto contents, co_await opened.memory->contents());
    auto write = [&] { return memory::serialize(*contents); };
    co_return co_await needs_.pool.run(write);
  }

  MemoriesNeeds needs_;
  std::string agent_;
  std::optional<std::string> bytes_;
  std::size_t at_ = 0;
  bool done_ = false;
};

Task<protocol::ServerMessage> get(MemoriesNeeds needs, std::string agent, std::string name) {
  const auto opened = co_await open_memory(needs, std::move(agent));
  if (!opened) co_return protocol::make_error(opened.error());
  const auto contents = co_await opened->memory->contents();
  if (!contents) co_return protocol::make_error(contents.error());
  const auto entry = (*contents)->find(name);
  if (!entry) co_return protocol::make_error(memory::no_entry(name));
  co_return info_of(*entry);
}

Task<Result<memory::EntryPtr>> apply(MemoriesNeeds needs, std::string agent,
                                     memory::Operation operation) {
  REEF_CO_TRY(const auto opened, co_await open_memory(needs, std::move(agent)));
  co_return co_await opened.memory->apply(std::move(operation));
}

Task<protocol::ServerMessage> change(MemoriesNeeds needs, std::string agent,
                                     memory::Operation operation) {
  const auto done = co_await apply(needs, std::move(agent), std::move(operation));
  if (!done) co_return protocol::make_error(done.error());
  co_return info_of(**done);
}

Task<protocol::ServerMessage> forget(MemoriesNeeds needs, std::string agent, std::string name) {
  const auto done = co_await apply(needs, std::move(agent), memory::Forget{std::move(name)});
  co_return done ? protocol::make_pong() : protocol::make_error(done.error());
}

Task<protocol::ServerMessage> load(MemoriesNeeds needs, protocol::LoadMemory request) {
  auto bytes = needs.memories.uploads().add(request.load(), request.offset(), request.data(),
                                            request.last());
  if (!bytes) co_return protocol::make_error(bytes.error());
  if (!*bytes) co_return protocol::make_pong();
  auto read = [&] { return memory::parse(**bytes); };
  auto contents = co_await needs.pool.run(read);
  if (!contents) {
    contents.error().code = Errc::invalid;
    co_return protocol::make_error(contents.error());
  }
  protocol::ServerMessage message;
  message.mutable_memory_loaded()->set_entries(contents->entries.size());
  const auto done = co_await apply(needs, request.agent(), memory::Replace{*std::move(contents)});
  if (!done) co_return protocol::make_error(done.error());
  co_return message;
}

std::vector<std::string> list_of(const google::protobuf::RepeatedPtrField<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

protocol::Answer answer_list_memories(MemoriesNeeds needs, const protocol::ListMemories& request) {
  if (!is_kind(request.kind()))
    return protocol::answer_with(
        Error(Errc::invalid, fmt::format("'{}' is no kind of entry: note, archive or topic",
                                         utf8::excerpt(request.kind()))));
  return std::make_unique<MemoryStream>(
      needs, request.agent(), Part::preview,
      [kind = request.kind()](memory::Memory& memory) { return all_of(memory, kind); });
}

protocol::Answer answer_get_memory(MemoriesNeeds needs, const protocol::GetMemory& request) {
  return protocol::answer_with(get(needs, request.agent(), request.name()));
}

protocol::Answer answer_recall(MemoriesNeeds needs, const protocol::Recall& request) {
  // There is no upper limit, because the hits go a message at a time. A client that leaves some out
  // afterwards, as the policy does archives, must be able to ask for all.
  const std::size_t limit = request.limit() == 0 ? kRecallDefault : request.limit();
  return std::make_unique<MemoryStream>(needs, request.agent(), Part::content,
                                        [query = request.query(), limit](memory::Memory& memory) {
                                          return memory.recall(query, limit);
                                        });
}

protocol::Answer answer_remember(MemoriesNeeds needs, const protocol::Remember& request) {
  memory::Remember operation{request.name(), request.content(), {}};
  if (request.aliases_size() > 0) operation.aliases = list_of(request.aliases());
  return protocol::answer_with(change(needs, request.agent(), std::move(operation)));
}

protocol::Answer answer_forget(MemoriesNeeds needs, const protocol::Forget& request) {
  return protocol::answer_with(forget(needs, request.agent(), request.name()));
}

protocol::Answer answer_rename_memory(MemoriesNeeds needs, const protocol::RenameMemory& request) {
  return protocol::answer_with(
      change(needs, request.agent(), memory::Rename{request.name(), request.to()}));
}

protocol::Answer answer_alias_memory(MemoriesNeeds needs, const protocol::AliasMemory& request) {
  memory::Alias operation{request.name(), list_of(request.add()), list_of(request.remove())};
  return protocol::answer_with(change(needs, request.agent(), std::move(operation)));
}

protocol::Answer answer_read_memory(MemoriesNeeds needs, const protocol::ReadMemory& request) {
  return std::make_unique<ReadStream>(needs, request.agent());
}

protocol::Answer answer_load_memory(MemoriesNeeds needs, const protocol::LoadMemory& request) {
  return protocol::answer_with(load(needs, request));
}

}  // namespace

Operations memories_operations() {
  using M = protocol::ClientMessage;
  using protocol::Right;
  static constexpr Operation kRows[] = {
      {M::kListMemories, Right::read, Messages::many, Naming::none,
       answered<&M::list_memories, answer_list_memories>},
      {M::kGetMemory, Right::read, Messages::one, Naming::none,
       answered<&M::get_memory, answer_get_memory>},
      {M::kRecall, Right::read, Messages::many, Naming::none, answered<&M::recall, answer_recall>},
      {M::kRemember, Right::admin, Messages::one, Naming::ledger,
       answered<&M::remember, answer_remember>},
      {M::kForget, Right::admin, Messages::one, Naming::ledger,
       answered<&M::forget, answer_forget>},
      {M::kRenameMemory, Right::admin, Messages::one, Naming::ledger,
       answered<&M::rename_memory, answer_rename_memory>},
      {M::kAliasMemory, Right::admin, Messages::one, Naming::ledger,
       answered<&M::alias_memory, answer_alias_memory>},
      {M::kReadMemory, Right::read, Messages::many, Naming::none,
       answered<&M::read_memory, answer_read_memory>},
      {M::kLoadMemory, Right::admin, Messages::one, Naming::ledger,
       answered<&M::load_memory, answer_load_memory>},
  };
  return kRows;
}

}  // namespace reef::server
