#include "base/tcp_table.h"

#include <cstdio>
#include <string_view>
#include <unistd.h>

namespace reef {
namespace {

constexpr unsigned kListening = 0x0A;

struct Row {
  std::string_view local, remote;  // addresses in hexadecimal, as they lie in memory
  unsigned local_port = 0, remote_port = 0, state = 0;
  TcpSocket socket;
};

// 127.0.0.1, alone or mapped into an IPv6 address.
bool is_loopback(std::string_view address) {
  return address.ends_with(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? "0100007F" : "7F000001");
}

bool is_any(std::string_view address) {
  return address.find_first_not_of('0') == std::string_view::npos;
}

// Calls `see` with each row until it says that it has seen enough.
template <class See>
void each_row(See see) {
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::FILE* file = std::fopen(table, "re");
    if (file == nullptr) continue;
    char line[512];
    bool enough = false;
    while (!enough && std::fgets(line, sizeof line, file) != nullptr) {
      char local[64];
      char remote[64];
      Row row;
      if (std::sscanf(line, " %*d: %63[0-9A-F]:%x %63[0-9A-F]:%x %x %*x:%*x %*x:%*x %*x %u %*d %lu",
                      local, &row.local_port, remote, &row.remote_port, &row.state, &row.socket.uid,
                      &row.socket.inode) != 7)
        continue;
      row.local = local;
      row.remote = remote;
      enough = see(row);
    }
    std::fclose(file);
    if (enough) return;
  }
}

}  // namespace

std::optional<TcpSocket> loopback_socket(std::uint16_t port, std::uint16_t other_port) {
  std::optional<TcpSocket> found;
  each_row([&](const Row& row) {
    if (row.local_port == port && row.remote_port == other_port && is_loopback(row.local) &&
        is_loopback(row.remote))
      found = row.socket;
    return found.has_value();
  });
  return found;
}

bool listener_is_ours(std::uint16_t port) {
  bool ours = false;
  bool others = false;
  each_row([&](const Row& row) {
    if (row.state != kListening || row.local_port != port) return false;
    if (!is_loopback(row.local) && !is_any(row.local)) return false;
    (row.socket.uid == ::geteuid() || row.socket.uid == 0 ? ours : others) = true;
    return others;
  });
  return ours && !others;
}

}  // namespace reef
