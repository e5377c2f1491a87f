#pragma once

#include <string>
#include <string_view>

#include "transport/transport.hpp"

namespace commlens::transport {

/// For what needs a GPU for each rank: which rank has none, or shares one; empty if neither. Collective.
std::string shared_gpu(const Setup& setup, std::string_view who);

}  // namespace commlens::transport
