// The workers' half of an import: an Intake that writes sessions into folders of their own and
// hands them to the loop when they are whole. A worker's thread.
#pragma once

#include "exchange/id_table.h"
#include "exchange/import_job.h"
#include "exchange/redact.h"
#include "exchange/staged_files.h"

namespace reef::exchange {

std::string staging_of(const std::string& home);
// Removes the folder and all that is in it.
Status remove_tree(Files& files, const std::string& path);

class StagedIntake final : public Intake {
 public:
  explicit StagedIntake(ImportJob& job);
  ~StagedIntake() override;

  Result<bool> begin(Head head) override;
  Status entry(session::Entry entry, std::string_view line = {}) override;
  Result<std::string> copy(std::string_view folder, std::string_view name,
                           const std::string& from) override;
  Result<std::string> put(std::string_view folder, std::string_view name,
                          std::string_view bytes) override;
  void learn(json::object meta) override;
  std::string scratch() const override;
  Status end() override;
  Status define(Definition definition) override;
  void problem(Problem problem) override;
  void consumed(std::uint64_t bytes) override;
  bool cancelled() const override { return job_.cancelled(); }

 private:
  struct Open;  // the session under way

  Status begin_fresh(Open& open, const Decision& decision);
  Status begin_known(Open& open, Decision decision);
  Status write(const session::Entry& entry, std::string_view line = {});
  Status flush_lines();
  Status flush_entries(bool last);
  Status end_fresh();
  // The metadata an import adds at the end of a session, without the key.
  json::object meta_of_import();
  Status count_usage();
  // Settles what the source claimed: allowed claims go into the metadata, the others into the
  // report.
  void settle_claims(json::object& out);
  std::string fact(std::string_view name) const;
  std::string title();
  StagedFiles staged_files();
  Status keep_archive(Definition archive);
  const Keeper* keeper_of(Definition::Kind kind) const;
  void abandon();
  // Whether it masked anything.
  bool redact(json::value& value);
  std::string redacted(std::string_view text);

  ImportJob& job_;
  Files& files_;
  Redactor redactor_;
  std::unique_ptr<Open> open_;
  std::string lines_;  // lines of a fresh session, not yet written; the memory is used again
  bool counting_ = true;
};

}  // namespace reef::exchange
