// Starts of the program within a test. All are in one job: MPI's own start takes longer than most of them.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <ostream>
#include <string>
#include <vector>

#include "base/parse.hpp"
#include "harness/case_loop.hpp"
#include "harness/command_line.hpp"
#include "harness/session.hpp"
#include "transport/rank_device.hpp"
#include "world.hpp"

namespace commlens {

struct Started {
  std::string name;         ///< of the test
  std::string ranks;        ///< the numbers of ranks that it is started on: "1234"
  std::string words;        ///< the command line; RANKS stands for the number of ranks
  std::string output = {};  ///< a regular expression of what it must say
};

inline void PrintTo(const Started& start, std::ostream* out) { *out << start.words; }
inline std::string test_name(const testing::TestParamInfo<Started>& start) { return start.param.name; }

/// Those for as many ranks as there are. After MPI_Init.
inline std::vector<Started> here(const std::vector<Started>& all) {
  const std::string placeholder = "RANKS";
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const std::string ranks = std::to_string(size);
  std::vector<Started> chosen;
  for (Started start : all) {
    if (start.ranks.find(ranks) == std::string::npos) continue;
    for (auto at = start.words.find(placeholder); at != std::string::npos; at = start.words.find(placeholder)) {
      start.words.replace(at, placeholder.size(), ranks);
    }
    chosen.push_back(start);
  }
  return chosen;
}

/// Collective.
inline Exit run(const Started& start) {
  const std::vector<std::string> words = split(start.words + " --no-ceilings", ' ');
  const CommandLine line = parse(words);
  Session session(line.settings, open_rank_device(world().node().rank()), words, 0);
  return session.execute(*line.benchmark);
}

}  // namespace commlens
