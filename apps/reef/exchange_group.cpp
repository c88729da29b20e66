// The words of the commands that bring sessions in and take them out.
#include "command_rows.h"
#include "commands.h"
#include "exchange/sources.h"

namespace reef::cli {
namespace {

std::string format_names() {
  std::string names;
  for (const auto& format : exchange::formats())
    names += (names.empty() ? "" : ", ") + std::string(format.name);
  return names;
}

// `import` takes these as KIND.
std::vector<std::string> import_words() {
  std::vector<std::string> words{"auto"};
  for (const auto& source : exchange::sources()) {
    words.emplace_back(source.name);
    words.insert(words.end(), source.aliases.begin(), source.aliases.end());
  }
  return words;
}

// "auto, crabtalk, ... or pi".
std::string import_help() {
  const auto all = exchange::sources();
  std::string help = "auto";
  for (const auto& source : all)
    help += (&source == &all.back() ? " or " : ", ") + std::string(source.name);
  return help;
}

void add_export(CLI::App& app, bool& json, CommandRows& rows) {
  auto o = std::make_shared<ExportOptions>();
  auto* command = add_command(app, json, "export", "Write sessions as files of another format",
                              "reef export 261115-swift-river --to html page.html\n"
                              "  reef export --all --to markdown notes/");
  command->add_option("ID", o->ids, "Session ids; the last word may be the path");
  command->add_option("--to", o->format, format_names())->type_name("FORMAT")->required();
  command->add_option("-o,--output", o->path, "A file or folder (default: stdout)")
      ->type_name("PATH");
  command->add_flag("--all", o->all, "Every session, into a folder");
  command->add_option("--where", o->where, "Those a filter holds, into a folder")
      ->type_name("FILTER");
  command->add_flag("--force", o->force, "Replace files that exist");
  rows.add(command, [o](const Context& context) { return run_export(context, *o); });
}

void add_import(CLI::App& app, bool& json, CommandRows& rows) {
  auto o = std::make_shared<ImportOptions>();
  auto* command = add_command(app, json, "import", "Bring in the sessions of another program",
                              "reef import auto   (or: reef import pi ~/.pi/agent --dry-run)");
  command->add_option("KIND", o->kind, import_help())
      ->required()
      ->check(CLI::IsMember(import_words()));
  command->add_option("PATH", o->path, "Where they lie; not with auto");
  command->add_flag("--redact", o->redact, "Mask keys, tokens and passwords");
  command->add_flag("--dry-run", o->dry_run, "Only look; write nothing");
  command->add_flag("--keys", o->keys, "Bind also the keys the sessions' own files name");
  command->add_flag("--yes", o->yes, "Do not ask (auto)");
  rows.add(command, [o](const Context& context) {
    const bool by_itself = o->kind == "auto";
    if (by_itself != o->path.empty())
      return usage(by_itself ? "import auto takes no path" : "import KIND needs a PATH", "import ");
    return run_import(context, *o);
  });
}

void add_backup(CLI::App& app, bool& json, CommandRows& rows) {
  struct Options {
    std::string file;
    bool force = false;
  };
  auto o = std::make_shared<Options>();
  auto* command =
      add_command(app, json, "backup", "Pack everything that cannot be derived into one file",
                  "reef backup reef-2026-11-15.tar.zst");
  command->add_option("FILE", o->file, "The archive to write, a .tar.zst")->required();
  command->add_flag("--force", o->force, "Replace a file that exists");
  rows.add(command, [o](const Context& context) { return run_backup(context, o->file, o->force); });
}

void add_restore_backup(CLI::App& app, bool& json, CommandRows& rows) {
  struct Options {
    std::string file;
    bool merge = false;
  };
  auto o = std::make_shared<Options>();
  auto* command =
      add_command(app, json, "restore-backup", "Unpack a backup into a home without daemon",
                  "reef --home ~/.reef restore-backup reef-2026-11-15.tar.zst");
  command->add_option("FILE", o->file, "What `reef backup` wrote")->required();
  command->add_flag("--merge", o->merge, "Add what is missing to a home that has sessions");
  rows.add(command,
           [o](const Context& context) { return run_restore_backup(context, o->file, o->merge); });
}

}  // namespace

std::unique_ptr<CommandGroup> exchange_commands(CLI::App& app, bool& json) {
  auto rows = std::make_unique<CommandRows>();
  add_export(app, json, *rows);
  add_import(app, json, *rows);
  add_backup(app, json, *rows);
  add_restore_backup(app, json, *rows);
  return rows;
}

}  // namespace reef::cli
