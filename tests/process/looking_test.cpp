// Real bash against the judge: a command the judge calls looking must not touch anything, however
// oddly it is written.
#include <cstdlib>
#include <iostream>
#include <random>

#include <gtest/gtest.h>

#include "process/canary.h"
#include "shell/shell.h"

namespace reef::process {
namespace {

// Pieces that make devious commands. A line of a few dozen of them is rarely harmless, and rarely
// understood differently by bash and by the judge.
const std::vector<std::string> kPieces = {"echo",
                                          "ls",
                                          "cat",
                                          "true",
                                          "touch new.txt",
                                          "touch new.txt",
                                          "x",
                                          "a.txt",
                                          "$x",
                                          "\"$x\"",
                                          " ",
                                          " ",
                                          " ",
                                          " ",
                                          "\n",
                                          ";",
                                          "&&",
                                          "||",
                                          "|",
                                          "&",
                                          "(",
                                          ")",
                                          "{ ",
                                          "; }",
                                          "$(",
                                          "`",
                                          "\"",
                                          "'",
                                          "\\",
                                          "\\\n",
                                          "$'",
                                          "#",
                                          "<<E\n",
                                          "\nE\n",
                                          "<<'E'\n",
                                          "<<-E\n",
                                          "<(",
                                          ">(",
                                          "> ",
                                          "> new.txt",
                                          "2>&1",
                                          "< a.txt",
                                          "> /dev/null",
                                          "${x:-",
                                          "}",
                                          "$((",
                                          "))",
                                          "1+1",
                                          "if ",
                                          "; then ",
                                          "; fi",
                                          "for x in a; do ",
                                          "; done",
                                          "while false; do ",
                                          "case x in x) ",
                                          ";; esac",
                                          "[[ ",
                                          " ]]",
                                          "! ",
                                          "x=",
                                          "=",
                                          "PATH=bin ",
                                          "*",
                                          "{a,b}",
                                          "~",
                                          "bash -c '",
                                          "eval ",
                                          "\\\"",
                                          "\\`",
                                          "$",
                                          "\t",
                                          "[",
                                          "]",
                                          "-n",
                                          "\\$",
                                          "E",
                                          "$(("};

std::string random_command(std::mt19937_64& random) {
  std::string command;
  const auto pieces = 2 + random() % 12;
  for (std::uint64_t i = 0; i < pieces; ++i) command += kPieces[random() % kPieces.size()];
  return command;
}

int number_from(const char* variable, int otherwise) {
  const char* value = std::getenv(variable);
  return value != nullptr ? std::atoi(value) : otherwise;
}

TEST(Looking, TouchesNothingInBash) {
  boost::asio::io_context io(1);
  test::Canary canary(io);
  const auto seed = number_from("REEF_SEED", 1);
  std::mt19937_64 random(static_cast<std::uint64_t>(seed));
  const int wanted = number_from("REEF_ROUNDS", 150);
  int ran = 0;
  for (long tried = 0; ran < wanted && tried < 2'000'000; ++tried) {
    const auto command = random_command(random);
    // Only commands that could touch something are worth running.
    if (command.find("touch") == std::string::npos && command.find('>') == std::string::npos)
      continue;
    if (shell::judge(command).effect != shell::Judgement::Effect::reads) continue;
    ++ran;
    static_cast<void>(canary.run(command, std::nullopt));
    const auto touched = canary.touched();
    EXPECT_EQ(touched, "") << "REEF_SEED=" << seed << "\n" << command;
    if (!touched.empty()) canary.restore();
  }
  std::cout << ran << " odd commands judged to look were run\n";
  EXPECT_EQ(ran, wanted);
}

}  // namespace
}  // namespace reef::process
