// Combining the values of an allreduce(), in the order of the ranks.
#pragma once

#include <cstddef>
#include <vector>

#include "device/data_type.hpp"
#include "transport/reductions.hpp"

namespace commlens::transport::peer {

/// output[i] = inputs[0][i] op inputs[1][i] op ... for `count` elements. An input may be the output. Throws Error for a
/// reduction of complex numbers that is not the sum.
void combine(const std::vector<const std::byte*>& inputs, std::byte* output, std::size_t count, DataType type,
             Reduction reduction);

}  // namespace commlens::transport::peer
