// Registration of transports: one line in each transport's file.
#pragma once

#include "transport/transport.hpp"

namespace commlens::transport {

/// A namespace-scope object of this type registers a transport. `place` is its position in tables: lower comes first.
struct Registration {
  Registration(int place, Description description);
};

}  // namespace commlens::transport
