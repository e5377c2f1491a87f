// Registration of transports: one line in each transport's file.
#pragma once

#include "transport/transport.hpp"

namespace commlens::transport {

/// A namespace-scope object of this type makes a transport known. `place` orders tables: lower comes first.
struct Registration {
  Registration(int place, Kind kind);
};

}  // namespace commlens::transport
