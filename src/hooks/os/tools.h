// The tools, one function each: checked arguments in, an answer for the model out. The work blocks
// and runs on the pool; the functions are called on the loop thread.
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>

#include "base/notify.h"
#include "base/pool.h"
#include "hooks/description.h"
#include "hooks/os/paths.h"
#include "hooks/os/seen.h"
#include "runtime/hook.h"
#include "session/documents.h"

namespace reef::hooks::os {

// The files being changed: each takes one change at a time.
class Claims {
 public:
  explicit Claims(Executor loop) : freed_(std::move(loop)) {}

  class Claim {
   public:
    Claim(Claims& all, std::string path) : all_(&all), path_(std::move(path)) {}
    Claim(Claim&& other) noexcept : all_(std::exchange(other.all_, nullptr)), path_(other.path_) {}
    Claim& operator=(Claim&&) = delete;
    ~Claim();

   private:
    Claims* all_;
    std::string path_;
  };
  Task<Claim> take(std::string path);

 private:
  std::set<std::string> taken_;
  Notify freed_;
};

// The surroundings of one call.
struct CallNeeds {
  Executor loop;
  Pool& pool;
  session::Documents& documents;
  Seen& seen;
  Claims& claims;
  PathRules paths;
  session::SessionId session;
  std::size_t shown_bytes;  // of an answer; what exceeds it is cut, and the answer says so
  mode_t umask;             // of new files
  TimePoint now;
};

struct Environment {
  std::map<std::string, std::string> variables;
  bool sandboxed = false;
};

extern const Description kBash, kRead, kWrite, kEdit, kLs, kGlob, kGrep, kSubmitPlan;

Task<runtime::ToolAnswer> bash(const CallNeeds& needs, const json::object& arguments,
                               Environment environment, std::function<void(std::string)> progress);
Task<runtime::ToolAnswer> read(const CallNeeds& needs, const json::object& arguments);
Task<runtime::ToolAnswer> write(const CallNeeds& needs, const json::object& arguments);
Task<runtime::ToolAnswer> edit(const CallNeeds& needs, const json::object& arguments);
Task<runtime::ToolAnswer> ls(const CallNeeds& needs, const json::object& arguments);
Task<runtime::ToolAnswer> glob(const CallNeeds& needs, const json::object& arguments);
Task<runtime::ToolAnswer> grep(const CallNeeds& needs, const json::object& arguments);
Task<runtime::ToolAnswer> submit_plan(const CallNeeds& needs, const json::object& arguments);

}  // namespace reef::hooks::os
