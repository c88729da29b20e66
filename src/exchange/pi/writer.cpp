// Writes pi's session files: our transcripts, byte for byte, under the names pi looks for, with a
// session's files in a folder beside it.

#include "base/utf8.h"
#include "exchange/pi/pi.h"
#include "exchange/session_files.h"

namespace reef::exchange {
namespace {

constexpr std::size_t kFolderBytesMax = 200;

// pi keeps the sessions of a working directory in a folder named after it.
std::string folder_of(std::string_view cwd) {
  if (cwd.starts_with('/') || cwd.starts_with('\\')) cwd.remove_prefix(1);
  std::string name = "--";
  for (const char c : utf8::prefix(cwd, kFolderBytesMax)) {
    const bool separates = c == '/' || c == '\\' || c == ':';
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    name.push_back(separates || control ? '-' : c);
  }
  return name + "--";
}

std::string file_of(const session::Row& row) {
  auto time = format_iso(row.created);
  for (auto& c : time)
    if (c == ':' || c == '.') c = '-';
  return time + "_" + row.id.text() + ".jsonl";
}

class PiWriter final : public Writer {
 public:
  explicit PiWriter(Outlet& outlet) : outlet_(outlet) {}

  Status add(const Exported& session) override {
    const auto path = folder_of(session.row.cwd) + "/" + file_of(session.row);
    REEF_CHECK(outlet_.begin(path));
    REEF_CHECK(outlet_.write(session.bytes));
    REEF_CHECK(outlet_.end());
    return write_files(session, files_folder_of(path), outlet_);
  }
  Status finish() override { return Ok{}; }

 private:
  Outlet& outlet_;
};

}  // namespace

std::unique_ptr<Writer> pi_writer(Outlet& outlet) {
  return std::make_unique<PiWriter>(outlet);
}

}  // namespace reef::exchange
