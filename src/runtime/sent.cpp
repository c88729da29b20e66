#include "runtime/sent.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/utf8.h"

namespace reef::runtime {
namespace {

constexpr std::size_t kConversationsMax = 256;

}  // namespace

Task<Status> Sent::load(session::Key key) {
  std::vector<session::SessionId> unread;
  const auto current = sessions_.current(key);
  {
    auto& known = conversations_[key];
    const bool fresh = known.used == 0;
    known.used = ++uses_;
    // Once all sessions there are; then only a current one that came by another way.
    const auto since = clock_.now() - kAgeMax;
    if (fresh)
      sessions_.visit([&](const session::Row& row) {
        if (row.marks > 0 && row.updated >= since && row.key() == key.text())
          unread.push_back(row.id);
      });
    if (!fresh && current && !known.read.contains(*current)) unread.push_back(*current);
  }
  for (const auto& id : unread) {
    const auto marks = co_await sessions_.marks(id);
    if (!marks && marks.error().code == Errc::not_found) continue;
    if (!marks) {
      // The next message looks again.
      conversations_.erase(key);
      co_return Error(marks.error()).with("what was sent before could not be read");
    }
    for (const auto& marked : *marks) {
      auto& name = put(key, marked.mark);
      if (name.session) continue;
      name.sum = marked.mark.sum;
      name.session = id;
      name.unanswered = marked.unanswered;
    }
    conversations_[key].read.insert(id);
  }
  if (current) conversations_[key].read.insert(*current);
  trim(key);
  co_return Ok{};
}

Result<std::optional<Sent::Known>> Sent::look(const session::Key& key,
                                              const session::ClientMark& mark) const {
  const auto conversation = conversations_.find(key);
  if (conversation == conversations_.end()) return std::optional<Known>();
  const auto found = conversation->second.names.find(name_of(mark));
  if (found == conversation->second.names.end()) return std::optional<Known>();
  const auto& name = found->second;
  if (name.sum != mark.sum)
    return Error(Errc::conflict, fmt::format("client_id '{}' was used for another request",
                                             utf8::excerpt(utf8::printable(mark.id))));
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
  while (conversations_.size() > kConversationsMax) {
    auto oldest = conversations_.end();
    for (auto it = conversations_.begin(); it != conversations_.end(); ++it) {
      if (it->first == but ||
          (oldest != conversations_.end() && it->second.used >= oldest->second.used))
        continue;
      const auto& names = it->second.names;
      if (std::none_of(names.begin(), names.end(),
                       [](const auto& name) { return !name.second.run.expired(); }))
        oldest = it;
    }
    if (oldest == conversations_.end()) return;
    conversations_.erase(oldest);
  }
}

}  // namespace reef::runtime
