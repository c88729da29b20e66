#include "runtime/sent.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/shield.h"
#include "base/utf8.h"

namespace reef::runtime {
namespace {

constexpr std::size_t kSentConversationsMax = 256;

}  // namespace

Task<Status> Sent::load(session::Key key) {
  // Whoever finds somebody reading waits: half of the names would be worse than none.
  while (conversations_[key].loading) co_await changed_.wait();
  std::vector<session::SessionId> unread;
  const auto current = sessions_.current(key);
  auto& known = conversations_[key];
  // Once all sessions there are; then only a current one that came by another way.
  const bool fresh = known.used == 0;
  known.used = ++uses_;
  const auto since = clock_.now() - kAgeMax;
  if (fresh)
    for (const auto& id : sessions_.marked(key.text())) {
      const auto* row = sessions_.find(id);
      if (!row || row->last_used() < since || row->key() != key.text()) continue;
      unread.push_back(id);
      if (const auto made = row->text("madeFor"); !made.empty())
        known.made.emplace_back(id, std::string(made));
    }
  if (!fresh && current && !known.read.contains(*current)) unread.push_back(*current);
  if (current) known.read.insert(*current);
  if (unread.empty()) {
    trim(key);
    co_return Ok{};
  }
  known.loading = true;
  Status done = Ok{};
  try {
    done = co_await shielded(read_into(key, std::move(unread)));
  } catch (const std::exception& error) {
    done = Error(Errc::internal, error.what());
  }
  conversations_[key].loading = false;
  // The next message looks again at a session that could not be read; turns that run stay known.
  if (!done) {
    conversations_[key].used = 0;
    conversations_[key].read.clear();
  }
  changed_.notify_all();
  if (!done) co_return Error(done.error()).with("what was sent before could not be read");
  trim(key);
  co_return Ok{};
}

Task<Status> Sent::read_into(session::Key key, std::vector<session::SessionId> unread) {
  for (const auto& id : unread) {
    const auto marks = co_await sessions_.marks(id);
    if (!marks && marks.error().code == Errc::not_found) continue;
    if (!marks) co_return marks.error();
    for (const auto& marked : *marks) {
      auto& name = put(key, marked.mark);
      if (name.session) continue;
      name.sum = marked.mark.sum;
      name.session = id;
      name.unanswered = marked.unanswered;
    }
    conversations_[key].read.insert(id);
  }
  co_return Ok{};
}

Result<std::optional<Sent::Known>> Sent::look(const session::Key& key,
                                              const session::ClientMark& mark) const {
  const auto conversation = conversations_.find(key);
  if (conversation == conversations_.end()) return std::optional<Known>();
  const auto used = [&] {
    return Error(Errc::conflict, fmt::format("client_id '{}' was used for another request",
                                             utf8::excerpt(utf8::printable(mark.id))));
  };
  const auto found = conversation->second.names.find(name_of(mark));
  if (found == conversation->second.names.end()) {
    for (const auto& [session, made] : conversation->second.made) {
      const auto is = session::is_made_for(made, mark);
      if (is == session::Made::same) return std::optional(Known{nullptr, session, false});
      if (is == session::Made::other) return used();
    }
    return std::optional<Known>();
  }
  const auto& name = found->second;
  if (name.sum != mark.sum) return used();
  Known known{name.run.lock(), name.session, name.unanswered};
  if (!known.run && !known.session) return std::optional<Known>();
  return std::optional<Known>(std::move(known));
}

Sent::Name& Sent::put(const session::Key& key, const session::ClientMark& mark) {
  auto& names = conversations_[key].names;
  auto& name = names[name_of(mark)];
  if (name.number == 0) name.number = ++names_;
  if (names.size() > kNamesMax) {
    auto oldest = names.end();
    for (auto it = names.begin(); it != names.end(); ++it)
      if (it->second.run.expired() && it->second.number != name.number &&
          (oldest == names.end() || it->second.number < oldest->second.number))
        oldest = it;
    if (oldest != names.end()) names.erase(oldest);
  }
  return name;
}

void Sent::claim(const session::Key& key, const session::ClientMark& mark,
                 std::shared_ptr<Run> run) {
  auto& name = put(key, mark);
  name.sum = mark.sum;
  name.run = std::move(run);
}

void Sent::kept(const session::Key& key, const session::ClientMark& mark,
                const session::SessionId& session, bool unanswered) {
  auto& name = put(key, mark);
  name.sum = mark.sum;
  name.session = session;
  name.unanswered = unanswered;
}

void Sent::over(const session::Key& key, const session::ClientMark& mark) {
  const auto conversation = conversations_.find(key);
  if (conversation == conversations_.end()) return;
  const auto found = conversation->second.names.find(name_of(mark));
  if (found != conversation->second.names.end() && !found->second.session)
    conversation->second.names.erase(found);
}

void Sent::trim(const session::Key& but) {
  while (conversations_.size() > kSentConversationsMax) {
    auto oldest = conversations_.end();
    for (auto it = conversations_.begin(); it != conversations_.end(); ++it) {
      if (it->first == but ||
          (oldest != conversations_.end() && it->second.used >= oldest->second.used))
        continue;
      const auto& names = it->second.names;
      if (it->second.loading) continue;
      if (std::none_of(names.begin(), names.end(),
                       [](const auto& name) { return !name.second.run.expired(); }))
        oldest = it;
    }
    if (oldest == conversations_.end()) return;
    conversations_.erase(oldest);
  }
}

}  // namespace reef::runtime
