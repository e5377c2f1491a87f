// Nodes with labels of which everything is known without asking any other rank, and values for them whose combination
// is known to the last bit: the test data of gather-scatter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/gpu/api.hpp"
#include "gather_scatter/gather_scatter.hpp"
#include "harness/run.hpp"
#include "sem/mesh.hpp"

namespace commlens {

/// What is known of one node: how many nodes of all ranks have its label, which of them it is, and a number that stands
/// for the label.
class Copy {
 public:
  Copy() = default;
  COMMLENS_FUNCTION Copy(std::uint64_t label, std::uint64_t number, std::uint64_t copies)
      : packed_(label << 16 | number << 8 | copies) {}
  [[nodiscard]] COMMLENS_FUNCTION std::uint64_t label() const { return packed_ >> 16; }
  [[nodiscard]] COMMLENS_FUNCTION std::uint64_t number() const { return packed_ >> 8 & 0xFF; }
  [[nodiscard]] COMMLENS_FUNCTION std::uint64_t copies() const { return packed_ & 0xFF; }

 private:
  std::uint64_t packed_;
};

/// Of a rank's nodes.
struct Labels {
  std::vector<std::int64_t> ids;
  std::vector<Copy> copies;
};

/// A node of a mesh is on as many elements as its place in the box says.
Labels labels_of(const sem::Mesh& mesh);

/// Labels of 64 bits on 1, 2 … `most_copies` nodes, scattered over all ranks, and some nodes that take no part.
Labels random_labels(std::size_t nodes, std::size_t most_copies, int rank, int ranks);

inline constexpr std::size_t most_copies_known = 100;  ///< of a label: a float holds what they combine to

class KnownCombination {
 public:
  /// Uploads the copies, which it does not need any more.
  KnownCombination(Run& run, const std::vector<Copy>& copies, const gather_scatter::Kind& kind);
  /// That it asks of Run::buffer().
  [[nodiscard]] static double bytes(double nodes) { return nodes * sizeof(Copy); }
  /// After so many operations in place a bit may be lost.
  [[nodiscard]] static std::size_t exact_operations(const gather_scatter::Kind& kind, std::size_t most_copies);

  /// Queues the writing of every node of every field, by numbers that differ from round to round.
  void write(void* data, std::uint64_t round);
  /// Compares with what `operations` gather-scatters give. Waits for the stream.
  Verdict compare(const void* data, std::uint64_t round, std::size_t operations);

 private:
  template <class T>
  void write_as(T* data, std::uint64_t round);
  template <class T>
  Verdict compare_as(const T* data, std::uint64_t round, std::size_t operations);

  Run& run_;
  gather_scatter::Kind kind_;
  device::Buffer copies_;
};

}  // namespace commlens
