#include "http_server/http_server.h"

namespace reef::http_server {

std::string_view Request::path() const {
  return std::string_view(target).substr(0, target.find('?'));
}

const std::string* Request::find(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (key == name) return &value;
  return nullptr;
}

Task<Result<std::string>> Request::read() const {
  if (!body) co_return std::string();
  co_return co_await body->read();
}

Task<Result<std::string>> Request::whole_body() const {
  std::string out;
  for (;;) {
    auto piece = co_await read();
    if (!piece) co_return std::move(piece).error();
    if (piece->empty()) co_return out;
    out += *piece;
  }
}

}  // namespace reef::http_server
