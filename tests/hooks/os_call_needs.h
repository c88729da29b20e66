// A needs for the tools of hooks/os: a folder to work in, a Reef home beside it.
#pragma once

#include <sys/stat.h>

#include <gtest/gtest.h>

#include "hooks/os/tools.h"
#include "store/fs/fs_documents.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::hooks::os {

class DeskTest : public testing::Test {
 protected:
  DeskTest() {
    for (const auto* name : {"work", "home", "reef", "reef/sessions", "reef/sessions/260101-a-b",
                             "reef/sessions/260202-c-d"})
      ::mkdir((folder / name).c_str(), 0700);
    needs.paths = paths();
  }

  PathRules paths() const {
    return {.cwd = folder / "work",
            .user_home = folder / "home",
            .reef_home = folder / "reef",
            .session = folder / "reef/sessions/260101-a-b",
            .confined = ""};
  }
  using Tool = Task<runtime::ToolAnswer> (*)(const CallNeeds&, const json::object&);
  runtime::ToolAnswer call(Tool tool, const json::object& arguments) {
    return test::run(io, tool(needs, arguments));
  }
  // The answer's text, with "ERROR: " before it when it is an error.
  std::string told(Tool tool, const json::object& arguments) {
    const auto answer = call(tool, arguments);
    return answer.is_error ? "ERROR: " + answer.text : answer.text;
  }
  std::string work(const std::string& name) const { return folder / ("work/" + name); }

  test::TempDir folder;
  boost::asio::io_context io{1};
  PosixFiles files;
  store::FsDocuments documents{files, folder / "reef"};
  Pool pool{4};
  Seen seen;
  Claims claims{io.get_executor()};
  CallNeeds needs{io.get_executor(),
                  pool,
                  documents,
                  seen,
                  claims,
                  {},
                  test::value_of(session::SessionId::parse("260101-a-b")),
                  48'000,
                  022,
                  TimePoint(std::chrono::milliseconds(1'700'000'000'000))};
};

}  // namespace reef::hooks::os
