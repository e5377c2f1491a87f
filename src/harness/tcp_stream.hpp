// A TCP connection from each rank to the rank that it sends to, on which messages travel back to back: what the sockets
// of two nodes achieve without an MPI library.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/socket.hpp"
#include "transport/communicator.hpp"

namespace commlens {

class TcpStream {
 public:
  struct Settings {
    bool loopback = false;  ///< over the loopback interface alone: for tests on one machine
    bool listens = true;    ///< for tests: this rank can be connected to
    double connect_s = 2;   ///< the most that connecting may take
    double round_s = 0.2;   ///< of a round of measuring a ceiling
  };

  /// Collective: connects this rank to `peer`, over the fastest interface on which the peer answers; -1: it sends
  /// nothing.
  TcpStream(const transport::Communicator& communicator, int peer, Settings settings);

  /// Why there is no connection; empty if all are there. The same on all ranks.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// Through which this rank sends; empty: it does not.
  [[nodiscard]] const std::string& interface() const { return interface_; }

  /// By all ranks of the streams at the same time, with equal arguments: sends `lead` messages and then `messages`,
  /// receives those of the ranks that send to this one, and confirms them. Calls no MPI, so that another thread may do
  /// it. Returns the seconds from the confirmation of the lead (without one, from the start) to that of all of this
  /// rank's own messages; 0 if it sends none. Throws Error where a connection breaks or stands still.
  double transfer(std::size_t lead, std::size_t messages, std::size_t bytes);

 private:
  /// One direction of a connection, during a transfer.
  struct Sending;
  struct Receiving;

  /// Its port; 0: this machine has no sockets, or the rank is not to listen.
  int listen(const Settings& settings);
  /// What goes wrong; empty: connected.
  std::string connect(const std::string& card, const std::string& peer_name, const Settings& settings);
  std::string accept(std::size_t expected, double limit_s);
  [[nodiscard]] std::string greeting(int from, int to) const;

  int rank_;
  int peer_;
  std::string session_;  ///< random: whoever else connects does not know it
  std::string problem_;
  std::string interface_;
  Socket listener_;
  Socket outgoing_;
  std::vector<Socket> incoming_;
};

}  // namespace commlens
