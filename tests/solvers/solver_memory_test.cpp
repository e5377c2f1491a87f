// The components allocate no more than their estimates.
#include <cstddef>
#include <memory>
#include <string>

#include "gather_scatter/gather_scatter.hpp"
#include "solver_fixture.hpp"
#include "solvers/chebyshev.hpp"
#include "solvers/fgmres.hpp"
#include "solvers/jacobi.hpp"
#include "solvers/schwarz.hpp"

namespace commlens::solvers {
namespace {

class SolverMemoryIn : public SolversIn {
 protected:
  /// Bytes that `make` allocates.
  template <class Make>
  double bytes_of(Make make) {
    const double before = allocated;
    const auto made = make();
    stream->wait();
    return allocated - before;
  }

  /// Of a gather-scatter and its lists.
  double bytes_of_gather_scatter(const gather_scatter::Sharing& sharing) {
    return bytes_of([&] {
      const gather_scatter::ValueKind kind{.type = DataType::f32, .exchange_type = DataType::f32};
      return gather_scatter::make(gather_scatter::Method::pairwise, gather_scatter::make_lists(sharing, context()),
                                  kind, context());
    });
  }
};

TEST_P(SolverMemoryIn, IsAtMostTheEstimates) {
  const auto n = static_cast<std::size_t>(ranks);
  for (const sem::Shape& shape :
       {sem::Shape{.elements = {n, 1, 1}, .order = 2}, sem::Shape{.elements = {5, 4, 3}, .order = 3},
        sem::Shape{.elements = {7, 3, 3}, .order = 7}, sem::Shape{.elements = {n, 2, 1}, .order = 15}}) {
    const std::string label = text(shape);
    const sem::FunctionSpace space(sem::mesh_of(shape), context());
    const double lists = bytes_of_gather_scatter(space.numbering().sharing);
    const auto nodes = static_cast<double>(space.mesh().nodes());
    const auto elements = static_cast<double>(space.mesh().elements());
    const auto length = static_cast<double>(space.length());
    const double of_space =
        bytes_of([&] { return std::make_unique<sem::FunctionSpace>(sem::mesh_of(shape), context()); });
    EXPECT_LE(of_space - lists, sem::FunctionSpace::upper_bytes(nodes, length)) << label;

    Level<float> level(space, level_options(), context(), nobody);
    Schwarz schwarz(level, level_options(), context(), nobody);
    const auto ghosts = static_cast<double>(schwarz.ghosts());
    const Extension extension = extend(space, world());
    // With several ranks there is a vector during the set-up, too.
    const double of_fetch =
        ranks == 1 ? 0 : bytes_of_gather_scatter(extension.sharing) + (length + ghosts) * sizeof(float);
    const double of_schwarz =
        bytes_of([&] { return std::make_unique<Schwarz>(level, level_options(), context(), nobody); });
    EXPECT_LE(of_schwarz - of_fetch, Schwarz::upper_bytes(elements, shape.order)) << label;
    const double of_chebyshev = bytes_of([&] {
      return std::make_unique<Chebyshev>(level, schwarz, 2, Chebyshev::Bounds{.least = 1, .largest = 10}, context(),
                                         nobody);
    });
    EXPECT_LE(of_chebyshev, Chebyshev::upper_bytes(length)) << label;

    Level<double> in_double(space, level_options(), context(), nobody);
    for (const std::size_t restart : {1, 30, 200}) {
      const double of_fgmres = bytes_of([&] {
        return std::make_unique<Fgmres>(in_double, Fgmres::Precondition{}, Fgmres::Options{.restart = restart},
                                        context(), nobody);
      });
      EXPECT_LE(of_fgmres, Fgmres::upper_bytes(restart, length)) << label << ", restart " << restart;
    }
  }
}

TEST_P(SolverMemoryIn, IsNotMuchLessThanTheEstimates) {
  const sem::Shape shape{.elements = {6, 6, 6 * static_cast<std::size_t>(ranks)}, .order = 7};
  const sem::FunctionSpace space(sem::mesh_of(shape), context());
  const auto elements = static_cast<double>(space.mesh().elements());
  const auto length = static_cast<double>(space.length());
  Level<float> level(space, level_options(), context(), nobody);
  Schwarz schwarz(level, level_options(), context(), nobody);
  EXPECT_LT(Schwarz::upper_bytes(elements, shape.order),
            1.5 * bytes_of([&] { return std::make_unique<Schwarz>(level, level_options(), context(), nobody); }));
  EXPECT_LT(Chebyshev::upper_bytes(length), 1.5 * bytes_of([&] {
                                              return std::make_unique<Chebyshev>(
                                                  level, schwarz, 2, Chebyshev::Bounds{.least = 1, .largest = 10},
                                                  context(), nobody);
                                            }));
  Level<double> in_double(space, level_options(), context(), nobody);
  EXPECT_LT(Fgmres::upper_bytes(10, length), 1.5 * bytes_of([&] {
                                               return std::make_unique<Fgmres>(in_double, Fgmres::Precondition{},
                                                                               Fgmres::Options{.restart = 10},
                                                                               context(), nobody);
                                             }));
}

INSTANTIATE_TEST_SUITE_P(Memories, SolverMemoryIn, sem::memories, name_of);

}  // namespace
}  // namespace commlens::solvers
