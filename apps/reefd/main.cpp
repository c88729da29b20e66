// reefd: the daemon. Parses flags; everything else is in src/daemon.
#include <cstdio>

#include <CLI/CLI.hpp>

#include "daemon/daemon.h"

int main(int argc, char** argv) {
  CLI::App app(
      "reefd keeps conversations with agents: clients connect to run/reefd.sock in its home.\n"
      "Runs in the foreground until SIGTERM or SIGINT; SIGHUP reads the configuration again.\n\n"
      "Example:\n  reefd --home ~/.reef",
      "reefd");
  reef::daemon::Options options;
  app.add_option("--home", options.home, "Home directory (default: $REEF_HOME, else ~/.reef)")
      ->type_name("DIR");
  app.add_option("--ready-fd", options.ready_fd,
                 "Write \"ready\" to this descriptor once clients can connect")
      ->type_name("FD");
  app.add_flag("--no-policy", options.no_policy,
               "Do nothing by itself: no titles, no compactions (docs/policy.md)");
  app.set_version_flag("--version", std::string("reefd ") + REEF_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::fprintf(stderr, "reefd: usage: %s\n", error.what());
    return 2;
  }
  return reef::daemon::run_daemon(options);
}
