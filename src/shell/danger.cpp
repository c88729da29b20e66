#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "shell/judge.h"

namespace reef::shell {
namespace {

bool has(Call call, std::string_view list) {
  return std::ranges::any_of(call, [&](const Argument& word) {
    return is_listed(word.prefix.substr(0, word.prefix.find('=')), list);
  });
}

std::string_view first_operand(Call call, std::size_t which = 0) {
  for (const auto& word : call)
    if (word.literal && !word.literal->starts_with("-") && which-- == 0) return *word.literal;
  return {};
}

std::string git_danger(Call call) {
  // Options before the subcommand may have values. A value that equals a subcommand's name is rare,
  // and then the user is only asked once too often.
  for (std::size_t i = 0; i < call.size(); ++i) {
    if (!call[i].literal) continue;
    const std::string_view name = *call[i].literal;
    const auto rest = call.subspan(i + 1);
    if (name == "push") {
      const bool forced = std::ranges::any_of(rest, [](const Argument& word) {
        return word.prefix.starts_with("+") || word.prefix.starts_with(":");
      });
      if (forced || has_option(rest, "fd", "force force-with-lease mirror delete prune"))
        return "it overwrites or deletes what others may have";
      return {};
    }
    if (name == "reset" && has_option(rest, "", "hard merge keep")) return "it throws away changes";
    if (name == "clean" && has_option(rest, "f", "force")) return "it deletes untracked files";
    if (name == "branch" && (has_option(rest, "DM", "force") ||
                             (has_option(rest, "d", "delete") && has_option(rest, "f", ""))))
      return "it deletes or replaces a branch";
    if (name == "checkout" && (has_option(rest, "fB", "force") || has(rest, "-- .")))
      return "it throws away changes";
    if (name == "restore" || (name == "switch" && has_option(rest, "fC", "force discard-changes")))
      return "it throws away changes";
    if (name == "stash" && has(rest, "drop clear")) return "it throws away changes";
    if (name == "reflog" && has(rest, "expire delete")) return "it deletes history";
    if (name == "update-ref" && has_option(rest, "d", "")) return "it deletes a reference";
    if (is_listed(name, "filter-branch filter-repo")) return "it rewrites history";
    // With --cached only the index changes, so nothing is lost.
    if (name == "rm" && has_option(rest, "rf", "force") && !has(rest, "--cached"))
      return "it deletes files";
    if (name == "gc" && has_option(rest, "", "prune")) return "it deletes what is not referred to";
    if (name == "prune") return "it deletes what is not referred to";
    if (name == "tag" && has_option(rest, "df", "delete force"))
      return "it deletes or replaces a tag";
    if (name == "worktree" && has(rest, "remove") && has_option(rest, "f", "force"))
      return "it deletes a folder with its changes";
    if (is_listed(name,
                  "push reset clean branch checkout switch stash reflog update-ref rm gc tag "
                  "worktree remote add commit log show diff"))
      return {};
  }
  return {};
}

std::string_view last_operand(Call call) {
  for (auto word = call.rbegin(); word != call.rend(); ++word)
    if (!word->prefix.starts_with("-")) return word->prefix;
  return {};
}

std::string tool_danger(std::string_view program, Call call) {
  const auto verb = first_operand(call);
  const auto second = first_operand(call, 1);
  if (is_listed(program, "docker podman")) {
    if (is_listed(verb, "rm rmi kill") || second == "prune" || second == "rm" ||
        (is_listed(verb, "compose system volume network image container") &&
         is_listed(second, "down prune rm kill")))
      return "it removes containers or their data";
  } else if (program == "docker-compose") {
    if (is_listed(verb, "down rm kill")) return "it removes containers or their data";
  } else if (program == "kubectl") {
    if (is_listed(verb, "delete drain replace")) return "it deletes what runs in a cluster";
  } else if (is_listed(program, "terraform tofu pulumi")) {
    if (is_listed(verb, "destroy apply up")) return "it changes machines";
  } else if (program == "helm") {
    if (is_listed(verb, "uninstall delete")) return "it deletes what runs in a cluster";
  } else if (is_listed(program, "npm pnpm yarn cargo gem twine")) {
    if (is_listed(verb, "publish unpublish push upload yank")) return "it publishes";
  } else if (program == "aws") {
    if (verb == "s3" && is_listed(second, "rm rb")) return "it deletes what is stored";
  } else if (program == "gh") {
    if (is_listed(second, "delete archive")) return "it deletes";
  } else if (program == "systemctl") {
    if (is_listed(verb, "poweroff reboot halt kexec suspend hibernate emergency rescue isolate"))
      return "it stops the machine";
  } else if (is_reefs_own(program)) {
    if (has(call, "gc") && has(call, "--yes -y")) return "it deletes what cannot be had back";
    if (has(call, "answer mode grant permissions plan"))
      return "it grants what only the user may grant";
  } else if (program == "crontab") {
    if (has_option(call, "r", "")) return "it deletes all timed jobs";
  } else if (is_listed(program, "iptables ip6tables nft ufw")) {
    if (has(call, "-F --flush flush disable reset")) return "it opens the machine";
  } else if (is_listed(program, "zfs zpool btrfs")) {
    if (has(call, "destroy delete")) return "it destroys a file system";
  }
  return {};
}

}  // namespace

bool has_option(Call call, std::string_view letters, std::string_view longs) {
  for (const auto& word : call) {
    const std::string_view text = word.prefix;
    if (text == "--") return false;
    if (text.starts_with("--") && text.size() > 3) {
      const auto name = text.substr(2, text.find('=') - 2);
      for (std::size_t at = 0; at < longs.size();) {
        const auto end = std::min(longs.find(' ', at), longs.size());
        if (longs.substr(at, end - at).starts_with(name)) return true;
        at = end + 1;
      }
    } else if (text.size() > 1 && text.front() == '-' && text[1] != '-' &&
               text.find_first_of(letters, 1) != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

std::string danger_of_path(std::string_view path) {
  const auto normal = std::filesystem::path(path).lexically_normal().native();
  if (is_listed(normal, "/dev/null /dev/stdout /dev/stderr /dev/tty /dev/full /dev/zero") ||
      normal.starts_with("/dev/fd/") || normal.starts_with("/dev/shm/"))
    return {};
  for (const std::string_view place :
       {"/dev/", "/etc/", "/boot/", "/sys/", "/proc/", "/usr/", "/bin/", "/sbin/", "/lib"})
    if (normal.starts_with(place))
      return fmt::format("it writes to '{}', which belongs to the system", normal);
  return {};
}

std::string danger_of(std::string_view program, Call call) {
  if (const auto slash = program.rfind('/'); slash != std::string_view::npos)
    program.remove_prefix(slash + 1);
  if (program == "rm") {
    if (has_option(call, "rRf", "recursive force")) return "'rm' with -r or -f";
    for (const auto& word : call)
      if (!word.literal &&
          (word.prefix.empty() ? !word.one : word.prefix == "/" || word.prefix == "~/"))
        return "'rm' of everything that matches";
    return {};
  }
  if (program == "dd") return has(call, "of") ? "'dd' overwrites" : "";
  if (program.starts_with("mkfs") || is_listed(program,
                                               "mkswap shred wipefs fdisk sfdisk cfdisk parted "
                                               "gdisk sgdisk blkdiscard hdparm cryptsetup "
                                               "lvremove vgremove pvremove mdadm badblocks mke2fs"))
    return fmt::format("'{}' destroys what is on a disk", program);
  if (is_listed(program, "chmod chown chgrp setfacl chattr"))
    return has_option(call, "R", "recursive") ? fmt::format("'{}' of a whole tree", program) : "";
  // These end all programs whose names match, also those of other terminals.
  if (is_listed(program, "pkill killall skill killall5"))
    return fmt::format("'{}' ends programs by their name", program);
  if (program == "kill") {
    const bool everything = std::ranges::any_of(call.empty() ? call : call.subspan(1),
                                                [](const Argument& word) { return word.is("-1"); });
    return everything || has(call, "-9 -KILL -SIGKILL -kill -1 KILL SIGKILL 9 -s9")
               ? fmt::format("'{}' that cannot be refused", program)
               : "";
  }
  if (is_listed(program, "shutdown reboot halt poweroff init telinit kexec insmod rmmod"))
    return fmt::format("'{}' stops or changes the running system", program);
  if (is_listed(program, "userdel groupdel passwd visudo usermod chpasswd"))
    return fmt::format("'{}' changes who may log in", program);
  if (is_listed(program, "dropdb dropuser")) return "it deletes a database";
  if (program == "truncate") return "'truncate' cuts files";
  if (program == "rsync" &&
      has_option(call, "", "delete delete-before delete-after delete-excluded remove-source-files"))
    return "'rsync' that deletes";
  if (program == "find" && has(call, "-delete")) return "'find -delete'";
  // These run their program for everything that is found.
  if (((is_listed(program, "fd fdfind") && has_option(call, "xX", "exec exec-batch")) ||
       program == "parallel") &&
      has(call, "rm unlink rmdir /bin/rm /usr/bin/rm"))
    return fmt::format("'{}' that removes everything it is given", program);
  if (program == "fuser" && has_option(call, "k", "kill"))
    return "'fuser -k' ends whatever uses a file";
  if (is_listed(program, "mv cp tee install ln")) {
    for (const auto& word : call)
      if ((program == "tee" || &word == &call.back()) && word.prefix.starts_with("/"))
        if (auto danger = danger_of_path(last_operand(call)); !danger.empty()) return danger;
    if (program == "mv" && last_operand(call) == "/dev/null") return "'mv' into nothing";
    return {};
  }
  if (program == "git") return git_danger(call);
  return tool_danger(program, call);
}

std::string danger_in_text(std::string_view text) {
  Arguments words;
  for (std::size_t at = 0; at < text.size();) {
    const auto begin = text.find_first_not_of(" \t\n;|&(){}`'\"$<>", at);
    if (begin == std::string_view::npos) break;
    const auto end = std::min(text.find_first_of(" \t\n;|&(){}`'\"$<>", begin), text.size());
    words.push_back(literal_argument(std::string(text.substr(begin, end - begin))));
    at = end;
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    // Nobody knows where the command ends, so only the next few words are looked at.
    const auto rest = Call(words).subspan(i + 1, std::min<std::size_t>(words.size() - i - 1, 6));
    if (auto danger = danger_of(*words[i].literal, rest); !danger.empty()) return danger;
  }
  return {};
}

}  // namespace reef::shell
