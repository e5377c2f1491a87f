// Replays of traces that a test writes, on as many ranks as it is started on.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <string>

#include "base/json.hpp"
#include "started.hpp"
#include "trace_writer.hpp"
#include "world.hpp"

namespace commlens::replay {

using Fields = TraceWriter::Fields;

struct Outcome {
  Exit exit = Exit::ok;
  Json record;

  [[nodiscard]] double fact(const std::string& name) const { return record.at("facts").at(name).get<double>(); }
  [[nodiscard]] std::string reason() const { return record.value("reason", ""); }
};

/// Of all ranks, each of which writes the same.
class Replay : public testing::Test {
 protected:
  using Sequence = std::function<void(std::int64_t rank, std::int64_t ranks)>;

  void TearDown() override {
    world().barrier();
    if (file_.empty()) return;
    std::remove(file_.c_str());
    std::remove((file_ + ".record").c_str());
  }

  Replay() : trace_(static_cast<std::size_t>(world().size())) {}

  void each_rank(const Sequence& sequence) {
    for (std::int64_t rank = 0; rank < ranks_; ++rank) {
      trace_.rank(static_cast<std::size_t>(rank));
      sequence(rank, ranks_);
    }
  }
  void call(const std::string& function, const Fields& fields, std::uint64_t calls = 1, std::uint64_t more = 0) {
    trace_.call(function, fields, calls, more);
  }
  [[nodiscard]] std::int64_t array(const Fields& values) { return trace_.array(values); }
  [[nodiscard]] std::int64_t array_of(std::int64_t length, const std::function<std::int64_t(std::int64_t)>& value) {
    Fields values;
    for (std::int64_t i = 0; i < length; ++i) values.push_back(value(i));
    return array(values);
  }

  Outcome replayed(const std::string& options = "", const std::string& transport = "mpi") {
    const std::string file = write();
    const std::string record = file + ".record";
    Outcome outcome;
    outcome.exit = run({.name = {},
                        .ranks = {},
                        .words = "replay --transport " + transport + " --memory host --repeat 2 --trace " + file +
                                 " --record " + record + options});
    world().barrier();
    std::ifstream stream(record);
    for (std::string line; std::getline(stream, line);) outcome.record = parse_json(line);
    world().barrier();
    if (world().rank() == 0) std::remove(record.c_str());
    return outcome;
  }

  /// Over each transport, with the same calls.
  void expect_right(const std::string& options = "") {
    expect_right_over("mpi", options);
    const double unchecked = unchecked_;
    const double calls = calls_;
    const double bytes = bytes_;
    for (const std::string transport : {"staged", "peer"}) {
      expect_right_over(transport, options);
      EXPECT_EQ(unchecked_, unchecked) << transport;
      EXPECT_EQ(calls_, calls) << transport;
      EXPECT_EQ(bytes_, bytes) << transport;
    }
  }

  /// Where all collectives stay with MPI, `peer` is skipped, and what was counted before is kept.
  void expect_right_over(const std::string& transport, const std::string& options = "") {
    const Outcome outcome = replayed(options, transport);
    peer_skipped_ = transport == "peer" && outcome.exit == Exit::nothing_ran ? outcome.reason() : "";
    if (!peer_skipped_.empty()) return;
    ASSERT_EQ(outcome.exit, Exit::ok) << transport << ": " << outcome.reason();
    EXPECT_EQ(outcome.record.at("validation").at("status"), "passed");
    unchecked_ = outcome.fact("unchecked_calls");
    calls_ = outcome.fact("calls");
    bytes_ = outcome.fact("sent_bytes");
    if (transport == "peer") share_of_calls_ = outcome.fact("transport_calls_share");
    report_ = outcome.record.contains("report") ? outcome.record.at("report").dump() : "";
    const bool is_known = report_.find("waiting is not known: the program") == std::string::npos;
    EXPECT_EQ(outcome.record.at("facts").contains("waiting_s"), is_known);
    if (is_known) expect_waiting(outcome);
  }

  /// Times are what they are, but they add up.
  static void expect_waiting(const Outcome& outcome) {
    constexpr double rounding = 1e-9;
    const double waiting = outcome.fact("waiting_s");
    EXPECT_NEAR(waiting,
                outcome.fact("late_sender_s") + outcome.fact("late_receiver_s") + outcome.fact("late_collective_s"),
                rounding);
    EXPECT_GE(waiting, 0);
    EXPECT_LE(waiting, outcome.fact("observed_s") + rounding);
    EXPECT_GT(outcome.fact("critical_path_s"), 0);
    EXPECT_LE(outcome.fact("critical_path_s"), outcome.fact("observed_s") + rounding);
    EXPECT_EQ(outcome.record.at("parts").size(), 3U);
    EXPECT_EQ(outcome.record.at("series").at("critical_path_over_time").size(), 300U);
  }

  std::string write() {
    if (world().rank() == 0) {
      file_ = testing::TempDir() + "replay_" + std::to_string(getpid()) + ".clt";
      std::ofstream(file_, std::ios::binary) << trace_.content();
    }
    return world().broadcast(file_);
  }

  std::string file_;  ///< on rank 0, others' names are not theirs to remove
  TraceWriter trace_;
  const std::int64_t ranks_ = world().size();
  const std::int64_t real_ = trace_.type("MPI_DOUBLE", 8);
  const std::int64_t integer_ = trace_.type("MPI_INT", 4);
  const std::int64_t byte_ = trace_.type("MPI_BYTE", 1);
  const std::int64_t row_ = trace_.type("", 24, 800);
  const std::int64_t sum_ = trace_.operation("MPI_SUM");
  double unchecked_ = 0;
  double calls_ = 0;
  double bytes_ = 0;
  std::string report_;         ///< what the replay has to say; empty: each message has its other side
  std::string peer_skipped_;   ///< why, the last time
  double share_of_calls_ = 0;  ///< of collectives that peer had
};

}  // namespace commlens::replay
