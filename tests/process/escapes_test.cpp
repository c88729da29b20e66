// Runs the commands in the lists of tests/shell.
#include <iostream>

#include <gtest/gtest.h>

#include "process/canary.h"
#include "process/children.h"
#include "process/pretence.h"
#include "shell/lists.h"

namespace reef::process {
namespace {

const Sandbox kSandbox{.read_only = true, .no_network = true};

class Escapes : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto missing = what_is_missing(kSandbox); !missing.empty())
      GTEST_SKIP() << "THE SANDBOX WAS NOT CHECKED: " << missing;
  }
  boost::asio::io_context io{1};
};

// True when the process has root's capabilities beyond files. Without them the clock and the
// mounts are safe in any case.
bool has_rights_of_root(test::Canary& canary) {
  const auto status = canary.run("cat /proc/self/status", kSandbox, true).output;
  const auto at = status.find("CapEff:\t");
  return at == std::string::npos ||
         (std::stoull(status.substr(at + 8, 16), nullptr, 16) & ~0x4ULL) != 0;
}

void try_all(boost::asio::io_context& io) {
  test::Canary canary(io);
  ASSERT_FALSE(has_rights_of_root(canary));
  int stopped = 0;
  for (const auto& escape : test::read_list("escapes.txt")) {
    static_cast<void>(canary.run(escape.command, kSandbox));
    const auto touched = canary.touched();
    EXPECT_EQ(touched, "") << "line " << escape.line << ": " << escape.command;
    if (touched.empty())
      ++stopped;
    else
      canary.restore();
  }
  std::cout << stopped << " escapes were run and stopped by the kernel; none needs the judge\n";
}

TEST_F(Escapes, AreHarmlessByTheKernelsRulesAlone) {
  try_all(io);
}

// Linux 5.13: what its Landlock cannot prevent, seccomp prevents, or it stays possible for all.
TEST_F(Escapes, AreHarmlessOnTheFirstKernelWithLandlock) {
  pretend_landlock(1);
  try_all(io);
  pretend_landlock(1000);
}

// An escape that does nothing even without the sandbox would prove nothing.
TEST_F(Escapes, EscapesHaveAnEffectWithoutTheSandbox) {
  test::Canary canary(io);
  int shown = 0;
  int silent = 0;
  for (const auto& escape : test::read_list("escapes.txt")) {
    if (escape.for_machine) continue;
    const auto outcome = canary.run(escape.command, std::nullopt);
    if (!(escape.uncertain ? canary.touched() : canary.touched_soon()).empty())
      ++shown;
    else if (escape.uncertain)
      ++silent;
    else
      ADD_FAILURE() << "line " << escape.line << " did nothing: " << escape.command << "\n"
                    << outcome.output;
    canary.restore();
  }
  EXPECT_GE(shown, 140);
  std::cout << shown << " escapes show without the sandbox, " << silent << " cannot here\n";
}

TEST_F(Escapes, HarmlessCommandsDoTheSameInTheSandbox) {
  test::Canary canary(io);
  const auto list = test::read_list("harmless.txt");
  std::vector<test::Canary::Outcome> inside;
  for (const auto& harmless : list) inside.push_back(canary.run(harmless.command, kSandbox, true));
  EXPECT_EQ(canary.touched(), "");
  // The commands run outside after all have run inside, because git takes locks even to look.
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto outside = canary.run(list[i].command, std::nullopt, true);
    EXPECT_EQ(outside.code, inside[i].code) << list[i].command;
    EXPECT_EQ(outside.output, inside[i].output) << list[i].command;
  }
}

}  // namespace
}  // namespace reef::process
