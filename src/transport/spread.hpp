// A number that each rank has, over all ranks.
#pragma once

#include "transport/communicator.hpp"

namespace commlens::transport {

struct Spread {
  double minimum = 0;
  double maximum = 0;
  double average = 0;
};

/// Collective.
inline Spread spread(double mine, const Communicator& communicator) {
  return {.minimum = -communicator.maximum(-mine),
          .maximum = communicator.maximum(mine),
          .average = communicator.sum_of_reals(mine) / communicator.size()};
}

}  // namespace commlens::transport
