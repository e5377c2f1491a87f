// Lets the watch threads of different nodes ask each other what their ranks are doing: by UDP, as it is MPI that does
// not go on. Whoever has been stopped does not answer.
#pragma once

#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "harness/socket.hpp"
#include "transport/communicator.hpp"

namespace commlens {

/// Ranks by what they do: "timing latency, in MPI_Recv".
using RanksByActivity = std::map<std::string, std::vector<int>>;
using RanksByHost = std::map<std::string, std::vector<int>>;

/// What a watch thread sees on its node.
struct NodeReport {
  std::string host;
  double idle_s = 0;  ///< since a rank there has made progress
  RanksByActivity doing;
};

struct Answers {
  std::vector<NodeReport> reports;
  RanksByHost silent;       ///< they have answered before
  RanksByHost unreachable;  ///< they never have: as behind a firewall
  bool has_lower = false;   ///< a rank below this one has answered
};

class NodePoll {
 public:
  using Report = std::function<NodeReport()>;

  /// Collective. `watched`: the ranks that this rank's watch thread sees, itself among them; empty: it has none. Ranks
  /// that see the same do not ask each other. `loopback`: for tests on one machine.
  NodePoll(const transport::Communicator& communicator, const std::vector<int>& watched, bool loopback = false);

  /// Waits for so long, and answers whoever asks meanwhile. Stopped, it ends at once where there is nobody to ask.
  void answer(double seconds, const Report& report_node, const std::stop_token& stop);
  /// Asks all others, and waits until they have answered, two seconds at most.
  Answers ask(const Report& report_node, const std::stop_token& stop);
  /// One of the few that ask, so that there are not as many datagrams as pairs of nodes. Several, as some may have been
  /// stopped.
  [[nodiscard]] bool leads() const { return leads_; }

 private:
  struct Peer {
    int rank = 0;
    std::string host;
    std::vector<int> watched;
    int port = 0;
    std::vector<std::string> addresses;
    bool has_answered = false;  ///< ever
  };

  void add_peer(int rank, const std::string& card);
  void send_questions(int number, const std::map<int, NodeReport>& answered);
  /// Answers others until the time is up or, unless `number` is 0, all have answered the question with that number.
  std::map<int, NodeReport> receive(double seconds, const Report& report_node, std::map<int, NodeReport> answered,
                                    int number);
  [[nodiscard]] Answers sorted(const std::map<int, NodeReport>& answered);

  int rank_;
  std::vector<int> watched_;
  std::string key_;  ///< random: others' datagrams do not have it
  BoundSocket bound_;
  std::vector<Peer> peers_;
  int questions_ = 0;
  bool leads_ = true;
};

}  // namespace commlens
