// The file of a rank.
#pragma once

namespace commlens::reroute {

/// Writes it, once; later calls do nothing.
void write_report(bool is_finalized);

}  // namespace commlens::reroute
