// Table of contents of exchange/, and its two seams: readers of foreign transcripts give what they
// find to an Intake, writers of foreign formats give files to an Outlet. docs/exchange.md tells how
// they work together.
//
//   exchange.h       Intake, Outlet, Writer         this file
//   sources.h        Source, Format                 the table of programs, and every format
//   import.h         Importer                       one source into the home, once
//   places.h         find_places                    where other programs keep their sessions
//   pi/              read_pi, its writer            pi
//   clawdbot/        read_clawdbot, its writer      Clawdbot, now OpenClaw
//   crabtalk/        read_crabtalk, its writer      CrabTalk
//   craft/           read_craft, its writers        Craft Agents
//   text/, html/     writers                        Markdown, NDJSON, pages
//   archive/         HomeFiles, TarReader, Spool    what a backup holds, tar, an Outlet that waits
//   redact.h         Redactor                       masks secrets on the way in
//   foreign_file.h   LineReader, time_from          foreign files and clocks
//   feed.h           Feed, to_foreign               entries in, and what is added to foreign lines
//   content.h        take_apart, put_together       messages in formats without blocks
//   session_files.h  bring_files, write_files       the files beside a transcript, in and out
//   outline.h        outline                        a transcript in the order people read it
//   staging.h, definitions.h, import_job.h, trust.h   what the importer is made of
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

// A foreign session as it describes itself, under our names.
struct Head {
  // Names the session for ever, whatever is added to it: "craft:<id>", "pi:<id>". A second import
  // of the same origin continues the session that has it.
  std::string origin;
  std::string path;    // the file or folder it is read from, for messages to a person
  std::string id;      // its id there; becomes ours when it is valid and free
  std::string mark;    // changes when the source does (size and time); empty: always read it
  std::string parent;  // the origin it was forked from; empty: none
  TimePoint created;
  std::string cwd;
  json::object meta;  // fields of session/metadata.h and key, agent, sender
  // The key and the model come from a store that somebody named, not from the session's own file.
  // They are taken over, because whoever imports a store wants its conversations to go on.
  bool of_store = false;
};

// Something other than a session, under our names whatever its source called it:
//   agent         description, model, max_iterations, tools, skills; other fields, for people
//   subscription  source, target_agent, once
//   cron          a job in reef-cron's form: schedule, agent, message, sender, quietStart, ...
//   note          belongs to the memory of `agent`; aliases, created_at
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

// A place in a source that could not be read properly.
struct Problem {
  std::string path;
  std::uint64_t line = 0;  // 0: the file as a whole
  std::string why;
};

// Receives what readers find. An error ends the import: readers hand it up.
class Intake {
 public:
  virtual ~Intake() = default;

  // Begins a session. False when its entries are not wanted, for example because it has not changed
  // since the last import; end() is then not called.
  virtual Result<bool> begin(Head head) = 0;
  // Takes the next entry of the session. Its id is the same at every import and unique in the
  // session; its parent was given before. `line` is the entry's text in the source when that says
  // exactly the same; it is then kept byte for byte.
  virtual Status entry(session::Entry entry, std::string_view line = {}) = 0;
  // Takes a file into one of the session's folders (attachments, plans, data, ...). Returns its new
  // path, relative to the session's folder.
  virtual Result<std::string> copy(std::string_view folder, std::string_view name,
                                   const std::string& from) = 0;
  virtual Result<std::string> put(std::string_view folder, std::string_view name,
                                  std::string_view bytes) = 0;
  // Takes facts learned on the way; they are merged over those of the head.
  virtual void learn(json::object meta) = 0;
  virtual Status end() = 0;

  virtual Status define(Definition definition) = 0;
  virtual void problem(Problem problem) = 0;
  // More bytes of the source were consumed; for a progress bar.
  virtual void consumed(std::uint64_t bytes) = 0;
  // A folder for a reader's temporary copies; empty when there is none.
  virtual std::string scratch() const { return ""; }
  // The person gave up: readers stop at the next chance.
  virtual bool cancelled() const = 0;
};

// An id that is the same at every import. The seed is what the source calls the message, or its
// place and text when it has no name.
session::EntryId stable_id(std::string_view seed);

// A session to be written, with everything known about it.
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

// Whether a path is fit for an Outlet: relative, made of valid file names, and inside its folder.
Status check_path(std::string_view path);
// Turns a title into a safe file name: lower-case words with '-' between them; may be empty.
std::string slug(std::string_view title);

// Receives the files writers make. Paths are relative, use '/' and stay inside the folder.
class Outlet {
 public:
  virtual ~Outlet() = default;
  virtual Status begin(std::string path) = 0;
  virtual Status write(std::string_view bytes) = 0;
  virtual Status end() = 0;
};

// One foreign format. Sessions are added one after the other; finish() writes what concerns all of
// them.
class Writer {
 public:
  virtual ~Writer() = default;
  virtual Status add(const Exported& session) = 0;
  virtual Status finish() = 0;
};

}  // namespace reef::exchange
