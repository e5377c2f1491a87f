#include "harness/node_poll.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <stop_token>
#include <string_view>
#include <utility>

#include "base/json.hpp"
#include "base/stopwatch.hpp"
#include "harness/placement.hpp"

namespace commlens {

namespace {

constexpr double patience_s = 2;     ///< far longer than a thread waits for its turn on a busy node
constexpr double again_s = 0.2;      ///< a datagram may be lost
constexpr std::size_t most = 65507;  ///< bytes in a datagram
constexpr int leaders = 4;

std::optional<Json> receive_datagram(int socket, sockaddr_storage& from, socklen_t& size) {
  std::string text(most, '\0');
  size = sizeof from;
  const auto got = recvfrom(socket, text.data(), text.size(), 0, reinterpret_cast<sockaddr*>(&from), &size);
  if (got < 0) return std::nullopt;
  return json_in(std::string_view(text).substr(0, static_cast<std::size_t>(got)));
}

void send_datagram(int socket, const Json& content, const sockaddr* to, socklen_t size) {
  const std::string text = line_of(content);
  sendto(socket, text.data(), text.size(), 0, to, size);  // what does not arrive is asked for again
}

}  // namespace

NodePoll::NodePoll(const transport::Communicator& communicator, const std::vector<int>& watched, bool loopback)
    : rank_(communicator.rank()), watched_(watched) {
  std::random_device random;
  key_ = communicator.broadcast(fmt::format("{:08x}{:08x}", random(), random()));
  const bool is_alone = communicator.sum(static_cast<int>(watched.size()) == communicator.size() ? 0 : 1) == 0;
  if (is_alone) return;
  std::string card;
  if (!watched.empty()) {
    bound_ = bind_to_free_port(SOCK_DGRAM);
    card = fmt::format("{} {} {}", host_name(), ranges(watched), bound_.port);
    for (const auto& address : interface_addresses(loopback)) card += fmt::format(" {}", address.text);
  }
  const auto cards = communicator.gather(card);
  if (watched.empty()) return;
  for (int rank = 0; rank < communicator.size(); ++rank) add_peer(rank, cards[static_cast<std::size_t>(rank)]);
  leads_ =
      std::count_if(cards.begin(), cards.begin() + rank_, [](const auto& other) { return !other.empty(); }) < leaders;
}

void NodePoll::add_peer(int rank, const std::string& card) {
  std::istringstream stream(card);
  Peer peer{.rank = rank};
  std::string watched;
  if (!(stream >> peer.host >> watched >> peer.port)) return;
  peer.watched = numbers(watched);
  if (peer.watched == watched_) return;
  for (std::string address; stream >> address;) peer.addresses.push_back(address);
  peers_.push_back(std::move(peer));
}

void NodePoll::answer(double seconds, const Report& report_node, const std::stop_token& stop) {
  if (peers_.empty()) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any().wait_for(lock, stop, std::chrono::duration<double>(seconds), [] { return false; });
  } else {
    receive(seconds, report_node, {}, 0);
  }
}

Answers NodePoll::ask(const Report& report_node, const std::stop_token& stop) {
  const Stopwatch stopwatch;
  std::map<int, NodeReport> answered;
  const int number = ++questions_;
  while (answered.size() < peers_.size() && stopwatch.seconds() < patience_s && !stop.stop_requested()) {
    send_questions(number, answered);
    answered = receive(again_s, report_node, std::move(answered), number);
  }
  return sorted(answered);
}

void NodePoll::send_questions(int number, const std::map<int, NodeReport>& answered) {
  const Json question{{"key", key_}, {"question", number}};
  for (const Peer& peer : peers_) {
    if (answered.contains(peer.rank)) continue;
    for (const std::string& address : peer.addresses) {
      const AddressInfo info(address, peer.port, SOCK_DGRAM, bound_.family);
      if (info.list) send_datagram(bound_.socket.get(), question, info.list->ai_addr, info.list->ai_addrlen);
    }
  }
}

std::map<int, NodeReport> NodePoll::receive(double seconds, const Report& report_node,
                                            std::map<int, NodeReport> answered, int number) {
  const Stopwatch stopwatch;
  while (stopwatch.seconds() < seconds) {
    if (number > 0 && answered.size() == peers_.size()) break;
    pollfd waiting{bound_.socket.get(), POLLIN, 0};
    const double left = seconds - stopwatch.seconds();
    if (poll(&waiting, 1, std::max(1, static_cast<int>(left * 1000))) <= 0) continue;
    sockaddr_storage from{};
    socklen_t size = 0;
    const auto datagram = receive_datagram(bound_.socket.get(), from, size);
    if (!datagram || !datagram->is_object() || datagram->value("key", Json()) != key_) continue;
    const Json& content = *datagram;
    if (content.contains("question")) {
      const NodeReport report = report_node();
      const Json reply{{"key", key_},         {"answer", content["question"]}, {"rank", rank_},
                       {"host", report.host}, {"idle_s", report.idle_s},       {"doing", report.doing}};
      send_datagram(bound_.socket.get(), reply, reinterpret_cast<const sockaddr*>(&from), size);
    } else if (number > 0 && content.value("answer", 0) == number) {
      answered[content["rank"]] = {content["host"], content["idle_s"], content["doing"]};
    }
  }
  return answered;
}

Answers NodePoll::sorted(const std::map<int, NodeReport>& answered) {
  Answers result;
  std::set<int> reported(watched_.begin(), watched_.end());
  std::set<int> known;
  for (Peer& peer : peers_) {
    const auto reply = answered.find(peer.rank);
    peer.has_answered = peer.has_answered || reply != answered.end();
    if (peer.has_answered) known.insert(peer.watched.begin(), peer.watched.end());
    if (reply == answered.end()) continue;
    result.has_lower = result.has_lower || peer.rank < rank_;
    // Two may have told of the same ranks.
    if (reported.contains(peer.rank)) continue;
    reported.insert(peer.watched.begin(), peer.watched.end());
    result.reports.push_back(reply->second);
  }
  for (const Peer& peer : peers_) {
    for (const int rank : peer.watched) {
      if (reported.insert(rank).second)
        (known.contains(rank) ? result.silent : result.unreachable)[peer.host].push_back(rank);
    }
  }
  return result;
}

}  // namespace commlens
