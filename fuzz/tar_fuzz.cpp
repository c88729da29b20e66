// Archives from elsewhere: for any bytes, the reader must return whole files with paths that stay
// inside, and the same ones whether it is fed at once or in pieces.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "exchange/archive/tar.h"
#include "exchange/exchange.h"

namespace {

class Log final : public reef::exchange::TarReader::Sink {
 public:
  reef::Status begin(const reef::exchange::TarFile& file) override {
    if (open_ || !reef::exchange::check_path(file.path)) std::abort();
    open_ = true;
    left_ = file.size;
    said += "begin " + file.path + "\n";
    return reef::Ok{};
  }
  reef::Status data(std::string_view bytes) override {
    if (!open_ || bytes.size() > left_) std::abort();
    left_ -= bytes.size();
    said += bytes;
    return reef::Ok{};
  }
  reef::Status end() override {
    if (!open_ || left_ != 0) std::abort();
    open_ = false;
    said += "\nend\n";
    return reef::Ok{};
  }
  std::string said;

 private:
  bool open_ = false;
  std::uint64_t left_ = 0;
};

std::string read(std::string_view bytes, std::size_t step) {
  Log log;
  reef::exchange::TarReader reader(log);
  bool good = true;
  for (std::size_t at = 0; at < bytes.size() && good; at += step)
    good = reader.feed(bytes.substr(at, step)).ok();
  return log.said + (good && reader.finish().ok() ? "whole" : "not whole");
}

// Corrects the checksums first, because no random change gets past them.
std::string with_checksums(std::string bytes) {
  for (std::size_t at = 0; at + 512 <= bytes.size(); at += 512) {
    if (bytes.compare(at + 257, 5, "ustar") != 0) continue;
    unsigned sum = 0;
    for (std::size_t i = 0; i < 512; ++i)
      sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(bytes[at + i]);
    char text[8];
    std::snprintf(text, sizeof text, "%06o", sum);
    bytes.replace(at + 148, 8, std::string(text, 7) + " ");
  }
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = with_checksums(std::string(reinterpret_cast<const char*>(data), size));
  if (read(bytes, bytes.size() + 1) != read(bytes, 37)) std::abort();
  return 0;
}
