// Sockets with an owner, and the addresses of a node: for what travels beside MPI.
#pragma once

#include <netdb.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace commlens {

class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(other.release()) {}
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  [[nodiscard]] int get() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }

 private:
  int release() { return std::exchange(descriptor_, -1); }
  int descriptor_ = -1;
};

/// A socket on a free port of all addresses, which does not block, and the port; 0: this machine has no sockets.
struct BoundSocket {
  Socket socket;
  int port = 0;
  int family = AF_UNSPEC;
};
/// `type` is SOCK_STREAM or SOCK_DGRAM.
BoundSocket bind_to_free_port(int type);

struct InterfaceAddress {
  std::string interface;
  double rate_Gbps = 0;  ///< nominal; 0: unknown
  std::string text;      ///< numeric
};
/// Of this node, that others can reach: the fastest interface first. `loopback`: those of the loopback interface alone.
std::vector<InterfaceAddress> interface_addresses(bool loopback);

/// "10.0.0.1" or "fe80::1".
std::string text_of(const sockaddr* address);

/// The reverse, with a port; `list` is empty for what is no address. `family` is that of the socket which sends there.
struct AddressInfo {
  struct Free {
    void operator()(addrinfo* first) const { freeaddrinfo(first); }
  };
  std::unique_ptr<addrinfo, Free> list;

  AddressInfo(const std::string& text, int port, int type, int family = AF_UNSPEC);
};

}  // namespace commlens
