// Page faults: at the first use of a page the kernel maps it, and clears it if it is new. A library that allocates
// memory in each call, and returns it to the kernel, has them in each call.
#pragma once

namespace commlens {

/// Of this process since it began, without those for which a disk was read.
double page_faults();

/// What one takes in new memory, in seconds: of several rounds the fastest. 0: there is no memory.
double page_fault_s();

}  // namespace commlens
