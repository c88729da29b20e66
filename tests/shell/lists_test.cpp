#include "shell/lists.h"

#include <gtest/gtest.h>

#include "shell/shell.h"

namespace reef::shell {
namespace {

using Effect = Judgement::Effect;

TEST(SafeMode, EveryEscapeIsMoreThanLooking) {
  const auto list = test::read_list("escapes.txt");
  EXPECT_GE(list.size(), 140U);
  for (const auto& escape : list) {
    const auto judgement = judge(escape.command);
    EXPECT_NE(judgement.effect, Effect::reads) << "line " << escape.line << ": " << escape.command;
    EXPECT_FALSE(judgement.reason.empty()) << escape.command;
  }
}

TEST(SafeMode, EveryHarmlessCommandIsLooking) {
  const auto list = test::read_list("harmless.txt");
  EXPECT_GE(list.size(), 70U);
  for (const auto& harmless : list) {
    const auto judgement = judge(harmless.command);
    EXPECT_EQ(judgement.effect, Effect::reads)
        << "line " << harmless.line << ": " << harmless.command << "\n  " << judgement.reason;
    EXPECT_EQ(judgement.rule, "") << harmless.command;
  }
}

// These commands do harm only where something was prepared, so the list of escapes cannot
// show them.
TEST(SafeMode, VariablesThatProgramsLookAtAreNotSet) {
  for (const char* command :
       {"printf '%s%n' x PATH; ls", "printf \"a$x\" PATH; ls", "IFS=/ ls", "http_proxy=x; ls",
        "read -r LD_PRELOAD < f", "for GIT_DIR in x; do git status; done", "PAGER=less git log",
        "LC_ALL=a/b ls", "TZ=:/x date", "env A=b ls", "export x", "select PS4 in a; do ls; done",
        "SHELLOPTS=x", "BASH_ENV=x; bash -c ls", "_=x ls", "x[0]=$y ls"})
    EXPECT_NE(judge(command).effect, Effect::reads) << command;
}

// An escape stays an escape inside any other command.
TEST(SafeMode, AnEscapeIsFoundInsideOfEverything) {
  for (const std::string& escape :
       {"touch new.txt", "echo x > new.txt", "rm -rf dir", "PATH=. ls"}) {
    for (const std::string& frame : {"{ @; }",
                                     "(@)",
                                     "ls && @",
                                     "ls || @",
                                     "ls; @",
                                     "ls | @",
                                     "ls & @",
                                     "if @; then ls; fi",
                                     "if ls; then @; fi",
                                     "if ls; then ls; else @; fi",
                                     "if ls; then ls; elif @; then ls; fi",
                                     "while @; do ls; done",
                                     "while ls; do @; done",
                                     "for x in a; do @; done",
                                     "case a in a) @ ;; esac",
                                     "case a in (b) ls ;; a) @ ;& c) ls ;; esac",
                                     "echo $(@)",
                                     "echo \"$(@)\"",
                                     "echo `@`",
                                     "cat <(@)",
                                     "x=$(@)",
                                     "x=$(@) ls",
                                     "a=(1 $(@))",
                                     "ls ${x:-$(@)}",
                                     "! @",
                                     "time @",
                                     "f() { @; }; f",
                                     "cat <<E\n$(@)\nE\n",
                                     "[[ -n $(@) ]]",
                                     "echo $(ls $(ls $(@)))",
                                     "ls\n@\n",
                                     "ls > /dev/null; @",
                                     "for x in $(@); do ls; done",
                                     "ls 2> >(@)",
                                     "until @; do ls; done",
                                     "bash -c '@'",
                                     "sh -c \"@\"",
                                     "eval '@'",
                                     "find . -maxdepth 0 -exec bash -c '@' \\;",
                                     "ls # \n @",
                                     "select x in a; do @; done",
                                     "function f { @; }"}) {
      auto command = frame;
      command.replace(command.find('@'), 1, escape);
      EXPECT_NE(judge(command).effect, Effect::reads) << command;
    }
  }
}

}  // namespace
}  // namespace reef::shell
