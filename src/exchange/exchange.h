// Table of contents of exchange/, and its two seams: readers of foreign transcripts give what they
// find to an Intake, writers of foreign formats give files to an Outlet. docs/exchange.md tells how
// they work together.
//
//   exchange.h   Intake, Outlet, Writer                 this file
//   import.h     Importer                               one source into the home, once
//   places.h     where other programs keep their sessions
//   pi.h, clawdbot.h, crabtalk.h, craft.h               readers (and writers) of one program each
//   formats.h    find_format                            everything that can be written
//   redact.h     masks secrets on the way in
//   source.h, feed.h, content.h                         what the readers share
//   staging.h, definitions.h, import_job.h, trust.h     what the importer is made of
//   spool.h, tar.h                                      what exports and backups are made of
//   formats.h    make_writer                every format sessions can be written in
//   crabtalk.h   read_crabtalk, its writer  CrabTalk
//   craft.h      read_craft, its writers    Craft Agents
//   source.h     LineReader, time_from      files and clocks of others
//   feed.h       Feed, to_foreign           entries in, and what is added to foreign lines
//   home_files.h HomeFiles                  what a backup holds
//   outline.h    outline                    a transcript in the order people read it
//   session_files.h bring_files, write_files  the files beside a transcript, in and out
//   spool.h      Spool                      an Outlet that waits for its reader
//   tar.h        tar_header, TarReader      archives
//
// Readers and writers know formats, not where sessions live; they run on any thread, one at a time
// on each seam.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "session/documents.h"
#include "session/row.h"
#include "session/transcript.h"

namespace reef::exchange {

enum class Kind : std::uint8_t { crabtalk, craft, clawdbot, pi };

// What a foreign session says of itself, in our words.
struct Head {
  // Names the session for ever, whatever is added to it: "craft:<id>", "pi:<id>". A second import
  // of the same origin continues the session that has it.
  std::string origin;
  std::string path;    // the file or folder it is read from, for messages to a person
  std::string id;      // its id there; kept as ours when it may be one and is free
  std::string mark;    // changes when the source does (size and time); empty: always read it
  std::string parent;  // the origin it was forked from; empty: none
  TimePoint created;
  std::string cwd;
  json::object meta;  // fields of session/metadata.h and key, agent, sender
  // Its key and model are those of the store somebody named, not words of the session's own file:
  // whoever imports a store wants its conversations to go on.
  bool of_store = false;
};

// Something that is not a session. In the words of this house, whatever its source called it:
//   agent         description, model, max_iterations, tools, skills; what else there is, for people
//   subscription  source, target_agent, once
//   cron          a job as reef-cron keeps it: schedule, agent, message, sender, quietStart, ...
//   note          of the memory of `agent`; aliases, created_at
//   skill         `text` is its SKILL.md, `folder` where its other files lie
//   instructions  `text`, for every agent
struct Definition {
  enum class Kind : std::uint8_t {
    agent,
    status,
    label,
    subscription,
    cron,
    archive,
    note,
    skill,
    instructions
  };
  Kind kind;
  std::string name;
  json::object body;
  std::string text;  // an agent's prompt, the content of a note, an archive, a skill
};

// A place of a source that could not be read as it should.
struct Problem {
  std::string path;
  std::uint64_t line = 0;  // 0: the file as a whole
  std::string why;
};

// Where readers put what they find. An error ends the import: readers hand it up.
class Intake {
 public:
  virtual ~Intake() = default;

  // A session begins. False: it has not changed since it was last imported, and what it says is not
  // wanted; end() is not called then.
  virtual Result<bool> begin(Head head) = 0;
  // The next entry of the session. Its id is the same at every import, and unique in it; its parent
  // is an entry given before. `line` is the entry as it stands in its source, when that is a line
  // which says exactly this: it is kept as it is.
  virtual Status entry(session::Entry entry, std::string_view line = {}) = 0;
  // A file of the session, into one of its folders (attachments, plans, data, ...). Returns the
  // path under which it will be, relative to the session's folder.
  virtual Result<std::string> copy(std::string_view folder, std::string_view name,
                                   const std::string& from) = 0;
  virtual Result<std::string> put(std::string_view folder, std::string_view name,
                                  std::string_view bytes) = 0;
  // Facts learned on the way: merged over those of the head.
  virtual void learn(json::object meta) = 0;
  virtual Status end() = 0;

  virtual Status define(Definition definition) = 0;
  virtual void problem(Problem problem) = 0;
  // More bytes of the source were consumed; for a progress bar.
  virtual void consumed(std::uint64_t bytes) = 0;
  // A folder for copies a reader needs for a moment; empty: there is none.
  virtual std::string scratch() const { return ""; }
  // The person gave up: readers stop at the next chance.
  virtual bool cancelled() const = 0;
};

// An id that is the same at every import: made from what the source calls the message, or from its
// place and text where it has no name.
session::EntryId stable_id(std::string_view seed);

// A session to be written: everything known of it.
struct Exported {
  const session::Row& row;
  const session::Transcript& transcript;
  struct File {
    std::string path;      // relative to the session's folder: attachments/photo.png
    std::string document;  // its name
    std::uint64_t bytes = 0;
  };
  std::vector<File> files;
  std::string_view bytes = {};              // the transcript as it is on disk, whole lines
  session::Documents* documents = nullptr;  // where the files are; needed when there are any
};

// Whether a path is fit for an Outlet: relative, of names a file system takes, never leading out.
Status check_path(std::string_view path);
// What is safe in a file's name of a title somebody chose: lower-case words with '-' between them;
// may be empty.
std::string slug(std::string_view title);

// Where writers put what they make. Paths are relative, with '/', and never lead out.
class Outlet {
 public:
  virtual ~Outlet() = default;
  virtual Status begin(std::string path) = 0;
  virtual Status write(std::string_view bytes) = 0;
  virtual Status end() = 0;
};

// One foreign format; sessions are added one after the other, and finish() writes what is about all
// of them.
class Writer {
 public:
  virtual ~Writer() = default;
  virtual Status add(const Exported& session) = 0;
  virtual Status finish() = 0;
};

}  // namespace reef::exchange
