// Page faults: the kernel gives this process a page, which it clears first. A library that allocates memory in each
// call, and gives it back, has them in each call.
#pragma once

namespace commlens {

/// Of this process since it began, without those for which a disk was read.
double page_faults();

/// What one takes at least, in seconds: of several rounds over fresh memory the fastest. 0: there is no memory.
double page_fault_s();

}  // namespace commlens
