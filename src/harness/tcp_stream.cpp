#include "harness/tcp_stream.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <random>
#include <sstream>
#include <utility>

#include "base/error.hpp"
#include "base/stopwatch.hpp"
#include "harness/placement.hpp"

namespace commlens {

namespace {

constexpr double stall_s = 10;         ///< without a byte sent or received the connection counts as broken
constexpr int messages_in_a_row = 64;  ///< before other connections have their turn
constexpr std::size_t receive_bytes = std::size_t{128} << 10;

/// Waits for one of them; false: the time is up.
bool wait_for(std::vector<pollfd>& waiting, double seconds) {
  for (pollfd& connection : waiting) connection.revents = 0;
  return poll(waiting.data(), waiting.size(), std::max(1, static_cast<int>(seconds * 1000))) > 0;
}

void set_no_delay(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

bool is_for_later(ssize_t result) { return result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR); }

[[noreturn]] void fail(const std::string& call, ssize_t result) {
  throw Error(fmt::format("{}: {}", call, result == 0 ? "the peer has closed the connection" : std::strerror(errno)));
}

/// A connection that is being made.
struct Attempt {
  int socket = -1;
  bool connected = false;
  bool failed = false;
};

/// The first that is connected and has none before it that may still be; -1: none yet.
int chosen(const std::vector<Attempt>& attempts) {
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    if (attempts[i].connected) return static_cast<int>(i);
    if (!attempts[i].failed) return -1;
  }
  return -1;
}

bool is_open(const Attempt& attempt) { return !attempt.connected && !attempt.failed; }

/// What has become of it, after poll() said that something has.
void look_at(Attempt& attempt) {
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(attempt.socket, SOL_SOCKET, SO_ERROR, &error, &size);
  (error == 0 ? attempt.connected : attempt.failed) = true;
}

/// Until one is chosen, all have failed, or the time is up.
void await(std::vector<Attempt>& attempts, double limit_s) {
  const Stopwatch stopwatch;
  while (chosen(attempts) < 0 && stopwatch.seconds() < limit_s) {
    std::vector<pollfd> waiting;
    for (const Attempt& attempt : attempts) {
      waiting.push_back({is_open(attempt) ? attempt.socket : -1, POLLOUT, 0});  // poll() leaves out a negative one
    }
    if (std::none_of(attempts.begin(), attempts.end(), is_open)) return;
    wait_for(waiting, limit_s - stopwatch.seconds());
    for (std::size_t i = 0; i < attempts.size(); ++i) {
      if (waiting[i].revents != 0) look_at(attempts[i]);
    }
  }
}

/// Of this node, through which a connected socket sends; empty: unknown.
std::string local_address(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return "";
  return text_of(reinterpret_cast<const sockaddr*>(&address));
}

}  // namespace

int TcpStream::listen(const Settings& settings) {
  if (!settings.listens) return 0;
  auto [socket, port, family] = bind_to_free_port(SOCK_STREAM);
  if (port == 0 || ::listen(socket.get(), SOMAXCONN) != 0) return 0;
  listener_ = std::move(socket);
  return port;
}

/// Equal lengths for all ranks.
std::string TcpStream::greeting(int from, int to) const { return fmt::format("{} {:10} {:10}", session_, from, to); }

TcpStream::TcpStream(const transport::Communicator& communicator, int peer, Settings settings)
    : rank_(communicator.rank()), peer_(peer) {
  std::random_device random;
  session_ = communicator.broadcast(fmt::format("{:08x}{:08x}", random(), random()));
  const auto mine = interface_addresses(settings.loopback);
  std::string card = fmt::format("{}\n{}\n", peer, listen(settings));
  for (const InterfaceAddress& address : mine) {
    card += fmt::format("{} {} {}\n", address.interface, address.rate_Gbps, address.text);
  }
  const auto cards = communicator.gather(card);
  const auto senders = std::count_if(cards.begin(), cards.end(),
                                     [&](const std::string& line) { return std::stoi(line) == communicator.rank(); });
  const auto hosts = communicator.gather(host_name());
  std::string problem;
  if (peer >= 0) {
    const auto& name = hosts[static_cast<std::size_t>(peer)];
    problem = connect(cards[static_cast<std::size_t>(peer)], name, settings);
    if (!problem.empty()) problem = fmt::format("no TCP connection from {} to {}: {}", host_name(), name, problem);
  }
  problem_ = communicator.first(problem);
  if (problem_.empty()) problem_ = communicator.first(accept(static_cast<std::size_t>(senders), settings.connect_s));
  listener_ = Socket();
}

std::string TcpStream::connect(const std::string& card, const std::string& peer_name, const Settings& settings) {
  std::istringstream stream(card);
  int unused = 0;
  int port = 0;
  stream >> unused >> port;
  const auto mine = interface_addresses(settings.loopback);
  std::vector<Socket> sockets;
  std::vector<Attempt> attempts;
  for (InterfaceAddress address; stream >> address.interface >> address.rate_Gbps >> address.text;) {
    // An address that this node has, too, is that of a private network within each node.
    const bool is_local =
        std::any_of(mine.begin(), mine.end(), [&](const auto& candidate) { return candidate.text == address.text; });
    const AddressInfo info(address.text, port, SOCK_STREAM);
    if ((is_local && !settings.loopback) || port == 0 || !info.list) continue;
    Socket socket(::socket(info.list->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket) continue;
    const bool at_once = ::connect(socket.get(), info.list->ai_addr, info.list->ai_addrlen) == 0;
    attempts.push_back({.socket = socket.get(), .connected = at_once, .failed = !at_once && errno != EINPROGRESS});
    sockets.push_back(std::move(socket));
  }
  if (attempts.empty()) return fmt::format("{} has no address to connect to", peer_name);
  await(attempts, settings.connect_s);
  const auto best =
      std::find_if(attempts.begin(), attempts.end(), [](const Attempt& attempt) { return attempt.connected; });
  if (best == attempts.end()) return fmt::format("none of its addresses answers within {:g} s", settings.connect_s);
  outgoing_ = std::move(sockets[static_cast<std::size_t>(best - attempts.begin())]);
  set_no_delay(outgoing_.get());
  const std::string local = local_address(outgoing_.get());
  for (const InterfaceAddress& address : mine) {
    if (local == address.text) interface_ = address.interface;
  }
  const std::string hello = greeting(rank_, peer_);
  const auto sent = send(outgoing_.get(), hello.data(), hello.size(), MSG_NOSIGNAL);
  return sent == static_cast<ssize_t>(hello.size()) ? "" : "send: " + std::string(std::strerror(errno));
}

/// Those that were not chosen are closed, and others than ours do not know the greeting.
std::string TcpStream::accept(std::size_t expected, double limit_s) {
  const Stopwatch stopwatch;
  std::vector<std::pair<Socket, std::string>> unknown;  // with what each has said so far
  while (incoming_.size() < expected) {
    if (stopwatch.seconds() > limit_s) {
      return fmt::format("rank {} was connected to by {} of {} ranks", rank_, incoming_.size(), expected);
    }
    std::vector<pollfd> waiting{{listener_.get(), POLLIN, 0}};
    for (const auto& [socket, said] : unknown) waiting.push_back({socket.get(), POLLIN, 0});
    wait_for(waiting, limit_s - stopwatch.seconds());
    for (std::size_t i = unknown.size(); i-- > 0;) {
      auto& [socket, said] = unknown[i];
      std::array<char, 64> text{};
      const auto wanted = greeting(0, rank_).size() - said.size();
      const auto got = recv(socket.get(), text.data(), std::min(wanted, text.size()), 0);
      if (got > 0) said.append(text.data(), static_cast<std::size_t>(got));
      const bool complete = said.size() == greeting(0, rank_).size();
      if (complete && said.starts_with(session_) && said.ends_with(fmt::format(" {:10}", rank_))) {
        set_no_delay(socket.get());
        incoming_.push_back(std::move(socket));
      }
      if (complete || (got <= 0 && !is_for_later(got))) unknown.erase(unknown.begin() + static_cast<std::ptrdiff_t>(i));
    }
    const int descriptor = accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor >= 0) unknown.emplace_back(Socket(descriptor), "");
  }
  return "";
}

/// This rank's messages; the peer confirms the lead, and then all.
struct TcpStream::Sending {
  int socket;
  const std::vector<std::byte>& message;
  std::size_t messages;  ///< to be sent
  std::size_t offset = 0;
  Stopwatch stopwatch = {};  ///< since the lead was confirmed
  bool in_lead;
  double seconds = 0;
  bool done = false;

  [[nodiscard]] short events() const { return static_cast<short>(POLLIN | (messages > 0 ? POLLOUT : 0)); }
  void proceed() {
    for (int i = 0; i < messages_in_a_row && messages > 0; ++i) {
      const auto sent = send(socket, message.data() + offset, message.size() - offset, MSG_NOSIGNAL);
      if (is_for_later(sent)) break;
      if (sent < 0) fail("send", sent);
      offset += static_cast<std::size_t>(sent);
      if (offset < message.size()) continue;
      offset = 0;
      --messages;
    }
    char confirmation = 0;
    const auto got = recv(socket, &confirmation, 1, 0);
    if (is_for_later(got)) return;
    if (got <= 0) fail("recv", got);
    if (in_lead) {
      in_lead = false;
      stopwatch = {};
    } else {
      seconds = stopwatch.seconds();
      done = true;
    }
  }
};

/// A peer's messages, with a confirmation when the lead is here, and when all are.
struct TcpStream::Receiving {
  int socket;
  std::vector<std::byte>* buffer;
  std::vector<std::size_t> to_come;  ///< bytes until each confirmation, the last one first

  [[nodiscard]] bool done() const { return to_come.empty(); }
  [[nodiscard]] short events() const { return to_come.back() > 0 ? POLLIN : POLLOUT; }
  void proceed() {
    for (int i = 0; i < messages_in_a_row && !done(); ++i) {
      std::size_t& bytes = to_come.back();
      const char confirmation = 1;
      const auto result = bytes > 0 ? recv(socket, buffer->data(), std::min(buffer->size(), bytes), 0)
                                    : send(socket, &confirmation, 1, MSG_NOSIGNAL);
      if (is_for_later(result)) return;
      if (result <= 0) fail(bytes > 0 ? "recv" : "send", result);
      if (bytes > 0) {
        bytes -= static_cast<std::size_t>(result);
      } else {
        to_come.pop_back();
      }
    }
  }
};

double TcpStream::transfer(std::size_t lead, std::size_t messages, std::size_t bytes) {
  const std::vector<std::byte> message(bytes);
  std::vector<std::byte> buffer(receive_bytes);
  std::vector<std::size_t> stretches{messages * bytes};
  if (lead > 0) stretches.push_back(lead * bytes);
  std::vector<Receiving> receiving;
  for (const Socket& socket : incoming_) receiving.push_back({socket.get(), &buffer, stretches});
  std::optional<Sending> sending;
  if (outgoing_) {
    sending.emplace(Sending{.socket = outgoing_.get(),
                            .message = message,
                            .messages = bytes > 0 ? lead + messages : 0,
                            .in_lead = lead > 0});
  }
  while (!receiving.empty() || (sending && !sending->done)) {
    std::vector<pollfd> waiting;
    for (const Receiving& connection : receiving) waiting.push_back({connection.socket, connection.events(), 0});
    if (sending && !sending->done) waiting.push_back({sending->socket, sending->events(), 0});
    if (!wait_for(waiting, stall_s)) {
      throw Error(fmt::format("rank {}: no byte came through a TCP connection for {:g} s", rank_, stall_s));
    }
    for (Receiving& connection : receiving) connection.proceed();
    std::erase_if(receiving, [](const Receiving& connection) { return connection.done(); });
    if (sending && !sending->done) sending->proceed();
  }
  return sending ? sending->seconds : 0;
}

}  // namespace commlens
