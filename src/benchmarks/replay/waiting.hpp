// Waiting apart from transfer, and the critical path: of one more replay, after the samples.
#pragma once

#include "benchmarks/replay/executor.hpp"
#include "benchmarks/replay/program.hpp"
#include "harness/benchmark.hpp"

namespace commlens::replay {

inline constexpr Fact waiting_s{
    "waiting_s", unit::s,
    "mean over the ranks of the time in MPI calls that is waiting for another rank, in the observed replay: one more "
    "after the samples, in which each call is looked at"};
inline constexpr Fact late_sender_s{"late_sender_s", unit::s,
                                    "the part of waiting_s before the send of a message that is received or awaited"};
inline constexpr Fact late_receiver_s{"late_receiver_s", unit::s,
                                      "the part of waiting_s in which a send, or the wait for it, has no receive yet"};
inline constexpr Fact late_collective_s{
    "late_collective_s", unit::s,
    "the part of waiting_s before the last rank has begun a collective; with a root: before those that MPI makes it "
    "await"};
inline constexpr Fact observed_s{"observed_s", unit::s,
                                 "time of the observed replay, from the first rank's begin to the last one's end"};
inline constexpr Fact critical_path_s{
    "critical_path_s", unit::s,
    "time of the observed replay if communication were free: the longest chain of computation that messages and "
    "collectives impose"};
inline constexpr Fact free_communication_saves{
    "free_communication_saves", unit::none,
    "share of observed_s that communication for free would save: 1 - critical_path_s / observed_s"};

/// Collective: executes the trace, keeps a log of all ranks' calls, and adds what follows from it to the record.
void add_waiting(Run& run, Executor& executor, const Program& program);

}  // namespace commlens::replay
