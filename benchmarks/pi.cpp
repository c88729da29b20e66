#include "pi.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

#include <fmt/format.h>

#include "base/files.h"
#include "base/json.h"
#include "process.h"

namespace reef::benchmarks {
namespace {

constexpr std::string_view kPackage = "@mariozechner/pi-coding-agent@0.73.1";
constexpr std::string_view kModule =
    "/node_modules/@mariozechner/pi-coding-agent/dist/core/session-manager.js";
// In seconds; without a network npm would wait longer.
constexpr std::string_view kInstallPatience = "90";
constexpr std::string_view kRunPatience = "60";

// Loads only the file with SessionManager and not the whole agent, which favours pi.
constexpr std::string_view kScript = R"(
import { readFileSync } from "node:fs";
const [module, what, path, times_max, seconds_max] = process.argv.slice(2);
const { SessionManager } = await import(module);
const peak_mib = () =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))[1]) / 1024;
const once = {
  probe: () => 0,
  open: () => SessionManager.open(path).buildSessionContext().messages.length,
  list: async () => (await SessionManager.list("/", path)).length,
}[what];
const times = [];
let count = 0;
let peak = 0;
const began = performance.now();
do {
  const start = performance.now();
  count = await once();
  times.push(performance.now() - start);
  if (peak === 0) peak = peak_mib();
} while (what !== "probe" && times.length < times_max &&
         performance.now() - began < seconds_max * 1000);
times.sort((a, b) => a - b);
const ms = times[Math.floor((times.length - 1) / 2)];
console.log(JSON.stringify({ ms, count, peak_mib: peak }));
)";

// Returns a command's output; an error when it failed.
Result<std::string> output_of(std::vector<std::string> command, const std::string& output) {
  PosixFiles files;
  static_cast<void>(files.remove(output).ok());
  command.insert(command.begin(), "/usr/bin/env");
  REEF_TRY(auto child, Child::start(command, output));
  const auto status = child.wait();
  REEF_CHECK(check_interrupted());
  auto said = read_all(files, output);
  static_cast<void>(files.remove(output).ok());
  if (status != 0)
    return Error(Errc::unavailable,
                 fmt::format("{} failed: {}", fmt::join(command, " "), said ? *said : ""));
  return said;
}

Result<Report> run_script(const std::string& module, std::string_view what, const std::string& path,
                          const std::string& scratch) {
  PosixFiles files;
  const auto script = scratch + "/pi.mjs";
  REEF_CHECK(replace_atomically(files, script, kScript));
  REEF_TRY(const auto said, output_of({"timeout", std::string(kRunPatience), "node", script, module,
                                       std::string(what), path, fmt::format("{}", kRepeatsMax),
                                       fmt::format("{}", kRepeatSecondsMax)},
                                      scratch + "/pi.out"));
  return parse_report(said);
}

bool loads(const std::string& module, const std::string& scratch) {
  return ::access(module.c_str(), R_OK) == 0 && run_script(module, "probe", {}, scratch).ok();
}

// Installs into a directory of our own first, because two installs into one destroy each other's
// files.
Status install(const std::string& target, const std::string& scratch) {
  auto fresh = target + ".XXXXXX";
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(target).parent_path(), failed);
  if (!::mkdtemp(fresh.data())) return sys_error(errno, "make a directory " + fresh);
  auto done = output_of({"timeout", std::string(kInstallPatience), "npm", "install", "--no-audit",
                         "--no-fund", "--ignore-scripts", "--prefix", fresh, std::string(kPackage)},
                        scratch + "/npm.out");
  // The rename fails if somebody else has put one there meanwhile, which is as good.
  if (done && ::rename(fresh.c_str(), target.c_str()) == 0) return Ok{};
  std::filesystem::remove_all(fresh, failed);
  if (!done) return std::move(done).error();
  return Ok{};
}

}  // namespace

Result<Pi> Pi::find() {
  const char* home = std::getenv("HOME");
  if (!home || !*home) return Error(Errc::unavailable, "HOME is not set");
  REEF_TRY(const Scratch scratch, Scratch::make());
  for (const std::string program : {"node", "npm"})
    if (!output_of({program, "--version"}, scratch.path() + "/version.out"))
      return Error(Errc::unavailable, program + " is not installed");
  const auto target = std::string(home) + "/.cache/reef-interop/pi-0.73.1";
  const auto module = target + std::string(kModule);
  if (loads(module, scratch.path())) return Pi(module);
  REEF_CHECK(check_interrupted());
  REEF_CHECK(install(target, scratch.path()));
  if (loads(module, scratch.path())) return Pi(module);
  return Error(Errc::unavailable, target + " is there, but pi cannot be loaded from it");
}

Result<Report> parse_report(std::string_view text) {
  REEF_TRY(const auto parsed, json::parse(text));
  const auto* in = parsed.if_object();
  if (!in) return Error(Errc::internal, fmt::format("not a report: {}", text));
  Report out;
  out.ms = json::find_number(*in, "ms").value_or(0);
  out.peak_mib = json::find_number(*in, "peak_mib").value_or(0);
  out.read_kib = json::find_number(*in, "read_kib").value_or(0);
  out.count = static_cast<std::size_t>(json::find_int(*in, "count").value_or(0));
  return out;
}

Result<Report> Pi::open(const std::string& file, const std::string& scratch) const {
  return run_script(module_, "open", file, scratch);
}

Result<Report> Pi::list(const std::string& directory, const std::string& scratch) const {
  return run_script(module_, "list", directory, scratch);
}

}  // namespace reef::benchmarks
