// What changed, by key, for readers that come back: every change gives its key the next version,
// and a reader holds nothing but the version it has come to. It is told the keys that changed after
// that, each once, however often it changed; what is true of a key now is looked up by who tells
// it. So a slow reader costs nothing, and one that was away is told exactly what it missed. Only so
// many keys are remembered: who has been away for longer starts over. Loop thread only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/notify.h"

namespace reef {

class ChangeLog {
 public:
  static constexpr std::size_t kKeysMax = 16'384;

  // `epoch` tells this log from those of other processes; 0: one is drawn.
  explicit ChangeLog(Executor loop, std::size_t keys_max = kKeysMax, std::uint64_t epoch = 0);

  std::uint64_t epoch() const { return epoch_; }
  // Returns the version of the latest change; 0 when there was none.
  std::uint64_t version() const { return version_; }

  // The key changed: came, became another, or went.
  void touch(const std::string& key);
  // The log can no longer tell what became of the key.
  void give_up(const std::string& key);
  // All readers start over.
  void give_up_all();

  // Whether everything that changed after this version is remembered.
  bool remembers(std::uint64_t version) const {
    return version >= forgotten_ && version <= version_;
  }
  struct Change {
    std::uint64_t version = 0;
    std::string key;
  };
  // In the order of their versions, at most so many; remembers(version) must hold.
  std::vector<Change> after(std::uint64_t version, std::size_t most) const;
  // Returns the version of the key's latest change; 0 when none is remembered.
  std::uint64_t version_of(const std::string& key) const;

  // Notified of every change.
  Notify& changed() { return changed_; }
  // Notified of this key alone, by touch() and ring(), as long as somebody holds it.
  std::shared_ptr<Notify> bell(const std::string& key);
  void ring(const std::string& key);

 private:
  void forget_up_to(std::uint64_t version);

  Executor loop_;
  std::size_t keys_max_;
  std::uint64_t epoch_;
  std::uint64_t version_ = 0;
  std::uint64_t forgotten_ = 0;  // changes up to this one are not all known
  std::map<std::uint64_t, std::string> keys_;
  std::unordered_map<std::string, std::uint64_t> versions_;
  std::unordered_map<std::string, std::weak_ptr<Notify>> bells_;
  std::size_t bells_swept_ = 0;  // how many there were when those nobody holds were last taken away
  Notify changed_;
};

}  // namespace reef
