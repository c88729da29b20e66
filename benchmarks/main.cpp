// reef-bench: measures the daemon that lies beside it. Usually called through ./bench.
#include <cstdio>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "groups.h"
#include "process.h"
#include "searches.h"
#include "sessions.h"

namespace {

using namespace reef;

struct Group {
  std::string_view name;
  std::string_view what;
  Status (*run)();
  bool by_default = true;
};

// A new group also needs a line in the help of ../bench.
constexpr Group kGroups[] = {
    {"core", "Ping, first chunk, turns per second, start-up, memory", benchmarks::core},
    {"sessions", "durable appends, opening, lists and start-up with many", benchmarks::sessions},
    {"context", "what a model is given: building it, and how far off estimates are",
     benchmarks::contexts},
    {"import", "other programs' sessions, MB/s and memory", benchmarks::imports},
    {"search", "full-text search beside SQLite FTS5 and Xapian", benchmarks::search_small},
    {"search-alone", "the same without the others; only when named", benchmarks::search_alone,
     false},
    {"search-1m", "the same alone with a million messages; 3 GB, only when named",
     benchmarks::search_large, false},
    {"runtime", "the loop around a model, per step, and durable turns beside raw syncs",
     benchmarks::runtime_loop},
    {"providers", "CPU a token and memory a stream of 200 models talking", benchmarks::providers},
};

constexpr int kInterrupted = 130;

const Group* find_group(std::string_view name) {
  for (const auto& group : kGroups)
    if (group.name == name) return &group;
  return nullptr;
}

void print_help() {
  fmt::print("usage: reef-bench [GROUP...]   all groups when none is named\n\ngroups:\n");
  for (const auto& group : kGroups) fmt::print("  {:<10} {}\n", group.name, group.what);
}

}  // namespace

int main(int argc, char** argv) {
  // Internal: contexts.cpp and searches.cpp start this program with these arguments.
  if (argc == 4 && argv[1] == std::string_view("--open-context"))
    return benchmarks::open_context_here(argv[2], argv[3]);
  if (argc == 4 && argv[1] == std::string_view("--search-index"))
    return benchmarks::search_here(argv[2]);
  std::vector<const Group*> wanted;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "-h" || argument == "--help") {
      print_help();
      return 0;
    }
    const auto* group = find_group(argument);
    if (!group) {
      fmt::print(stderr, "reef-bench: usage: no group '{}'; --help lists them\n", argument);
      return 2;
    }
    wanted.push_back(group);
  }
  if (wanted.empty())
    for (const auto& group : kGroups)
      if (group.by_default) wanted.push_back(&group);

  benchmarks::catch_signals();
  benchmarks::raise_descriptor_limit();
  fmt::print("{}\n", benchmarks::describe_machine());
  for (const auto* group : wanted) {
    const auto done = group->run();
    std::fflush(stdout);
    if (!benchmarks::check_interrupted()) return kInterrupted;
    if (!done) {
      fmt::print(stderr, "reef-bench: {}: {}\n", group->name, done.error().what);
      return traits(done.error().code).exit_code;
    }
  }
  return 0;
}
