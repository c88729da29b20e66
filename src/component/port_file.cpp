#include "component/port_file.h"

#include <utility>

#include <fmt/format.h>

#include "component/component.h"

namespace reef::component {

Result<PortFile> PortFile::write(Files& files, const std::string& home, const std::string& name,
                                 std::uint16_t port, const std::string& token) {
  if (!is_service_name(name))
    return Error(Errc::invalid, fmt::format("'{}' cannot name a component", name));
  auto path = fmt::format("{}/run/{}.port", home, name);
  auto text = fmt::format("{}\n{}\n", port, token);
  if (auto written = replace_atomically(files, path, text); !written)
    return std::move(written).error();
  return PortFile(files, std::move(path), std::move(text));
}

PortFile::PortFile(Files& files, std::string path, std::string text)
    : files_(&files), path_(std::move(path)), text_(std::move(text)) {}

PortFile::PortFile(PortFile&& other) noexcept
    : files_(std::exchange(other.files_, nullptr)),
      path_(std::move(other.path_)),
      text_(std::move(other.text_)) {}

PortFile::~PortFile() {
  if (!files_) return;
  const auto now = read_all(*files_, path_);
  if (now && *now == text_) static_cast<void>(files_->remove(path_));
}

}  // namespace reef::component
