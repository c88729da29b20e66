// Any file name must stay one name in one folder; no path may lead out.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/assert.h"
#include "base/utf8.h"
#include "session/documents.h"
#include "session/file_names.h"

using namespace reef::session;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto name = file_name_from(bytes);
  REEF_ASSERT(!name.empty() && name.size() <= 240 && name != "." && name != "..");
  REEF_ASSERT(name.find('/') == std::string::npos && name.find('\0') == std::string::npos);
  REEF_ASSERT(reef::utf8::valid(name));
  REEF_ASSERT(file_name_from(name) == name);
  const auto second = numbered_file_name(name, 2);
  REEF_ASSERT(second != name && second.size() <= 255 && second.find('/') == std::string::npos);
  REEF_ASSERT(split_file_path("data/" + name).ok());
  if (const auto parts = split_file_path(bytes)) {
    REEF_ASSERT(parts->size() >= 2 && check_folder(parts->front()).ok());
    for (const auto& part : *parts) REEF_ASSERT(!part.empty() && part != "." && part != "..");
  }
  REEF_ASSERT(!file_type(bytes, bytes).empty());
  REEF_ASSERT(split_document_name("sessions/s/data/" + name).ok());
  if (const auto parts = split_document_name(bytes)) {
    std::string joined;
    for (const auto& part : *parts) {
      REEF_ASSERT(!part.empty() && part != "." && part != "..");
      REEF_ASSERT(part.find('/') == std::string::npos && part.find('\0') == std::string::npos);
      joined += (joined.empty() ? "" : "/") + part;
    }
    REEF_ASSERT(joined == bytes);
    for (const auto* no : {"catalog", "config.toml", "index", "logs", "run", "staging", "trash"})
      REEF_ASSERT(parts->front() != no);
    REEF_ASSERT(parts->front() != "sessions" || parts->size() >= 4);
    REEF_ASSERT(session_of(*parts) == (parts->front() == "sessions" ? parts->at(1) : ""));
    REEF_ASSERT(!split_document_folder(std::string(bytes)).ok());
  }
  if (const auto parts = split_document_folder(bytes)) REEF_ASSERT(bytes.ends_with('/'));
  return 0;
}
