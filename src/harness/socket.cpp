#include "harness/socket.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>

namespace commlens {

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    if (descriptor_ >= 0) close(descriptor_);
    descriptor_ = other.release();
  }
  return *this;
}

Socket::~Socket() {
  if (descriptor_ >= 0) close(descriptor_);
}

BoundSocket bind_to_free_port(int type) {
  for (const int family : {AF_INET6, AF_INET}) {
    Socket socket(::socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket) continue;
    const int off = 0;
    if (family == AF_INET6) setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);  // and IPv4
    sockaddr_storage any{};
    any.ss_family = static_cast<sa_family_t>(family);
    socklen_t size = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    auto* address = reinterpret_cast<sockaddr*>(&any);
    if (bind(socket.get(), address, size) != 0 || getsockname(socket.get(), address, &size) != 0) continue;
    const auto port = family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&any)->sin6_port
                                         : reinterpret_cast<sockaddr_in*>(&any)->sin_port;
    return {std::move(socket), ntohs(port), family};
  }
  return {};
}

namespace {

bool is_usable(const ifaddrs& entry, bool loopback) {
  if (entry.ifa_addr == nullptr || (entry.ifa_flags & IFF_UP) == 0) return false;
  if (((entry.ifa_flags & IFF_LOOPBACK) != 0) != loopback) return false;
  if (entry.ifa_addr->sa_family == AF_INET) return true;
  if (entry.ifa_addr->sa_family != AF_INET6) return false;
  sockaddr_in6 address{};
  std::memcpy(&address, entry.ifa_addr, sizeof address);
  return !IN6_IS_ADDR_LINKLOCAL(&address.sin6_addr);  // it would need the other node's name of the interface
}

double rate_of(const std::string& interface) {
  std::ifstream stream("/sys/class/net/" + interface + "/speed");
  double Mbps = 0;
  stream >> Mbps;
  return stream && Mbps > 0 ? Mbps / 1000 : 0;
}

}  // namespace

std::vector<InterfaceAddress> interface_addresses(bool loopback) {
  std::vector<InterfaceAddress> addresses;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return addresses;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (!is_usable(*entry, loopback)) continue;
    const std::string text = text_of(entry->ifa_addr);
    if (!text.empty()) addresses.push_back({entry->ifa_name, rate_of(entry->ifa_name), text});
  }
  freeifaddrs(list);
  std::stable_sort(addresses.begin(), addresses.end(),
                   [](const InterfaceAddress& a, const InterfaceAddress& b) { return a.rate_Gbps > b.rate_Gbps; });
  return addresses;
}

std::string text_of(const sockaddr* address) {
  std::array<char, NI_MAXHOST> text{};
  const socklen_t size = address->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  if (getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0) return "";
  return text.data();
}

AddressInfo::AddressInfo(const std::string& text, int port, int type, int family) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | (family == AF_INET6 ? AI_V4MAPPED : 0);
  hints.ai_family = family;
  hints.ai_socktype = type;
  addrinfo* info = nullptr;
  if (getaddrinfo(text.c_str(), std::to_string(port).c_str(), &hints, &info) == 0) list.reset(info);
}

}  // namespace commlens
