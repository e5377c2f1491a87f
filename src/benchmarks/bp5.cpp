// CEED's bake-off problem 5 as nekRS runs it: -laplace u = f on a Kershaw mesh, u = 0 on the boundary, order 7, by
// conjugate gradients without a preconditioner (Fischer et al., IJHPCA 34, 2020; nekRS's kershaw case). What it costs
// is memory traffic, and the gather-scatter in it.
//
// nekRS's own iteration has the residual's norm where its square belongs, and does not converge. This is the true one.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/kershaw_options.hpp"
#include "benchmarks/known_poisson.hpp"
#include "benchmarks/surroundings.hpp"
#include "device/launch.hpp"
#include "gather_scatter/choice.hpp"
#include "harness/benchmark.hpp"
#include "harness/usage_error.hpp"
#include "sem/assembled_poisson.hpp"
#include "sem/conjugate_gradients.hpp"

namespace commlens {
namespace {

namespace gs = gather_scatter;
using known_poisson::RightHandSide;
using sem::Geometry;
using sem::Solver;
using sem::Storage;

double cube(double x) { return x * x * x; }

std::string printed(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

struct Bp5Options {
  KershawOptions mesh;
  Sweep edge;  ///< without values there is one case, of `mesh`
  std::string geometry = "trilinear";
  std::string storage = "unique";
  std::string solver = "classical";
  std::string rhs = "nekrs";
  std::size_t iterations = 0;  ///< 0: chosen by fit()
  double tolerance = 1e-15;
  DataType exchange_type = DataType::f64;
  std::string mode = "auto";
  bool overlap = true;
  bool on_gpu = false;
  int ranks = 1;

  void describe(OptionSet& options);
  void settle(int all_ranks);
  [[nodiscard]] std::vector<std::string> fit(const Room& room, int all_ranks);
  [[nodiscard]] Footprint footprint(int rank, int all_ranks) const;
  [[nodiscard]] static device::Memory memory(int /*rank*/, int /*ranks*/, device::Memory chosen) { return chosen; }
  void refuse_a_mesh_beyond(const Room& room) const;
  void refuse_iterations_beyond(const Room& room) const;

  /// Of the case at hand.
  [[nodiscard]] KershawOptions current() const { return edge.values.empty() ? mesh : mesh.with_edge(edge, ranks); }
  [[nodiscard]] Geometry how_geometry() const { return geometry == "stored" ? Geometry::stored : Geometry::trilinear; }
  [[nodiscard]] Storage how_stored() const { return storage == "unique" ? Storage::unique : Storage::element; }
  [[nodiscard]] Solver how_solved() const { return solver == "fused" ? Solver::fused : Solver::classical; }
  [[nodiscard]] RightHandSide right_hand_side() const {
    return rhs == "manufactured" ? RightHandSide::manufactured : RightHandSide::nekrs;
  }
  [[nodiscard]] sem::ConjugateGradients::Limits limits() const {
    return {.iterations = iterations, .tolerance = tolerance};
  }
  [[nodiscard]] gs::Kind exchange() const { return {.type = DataType::f64, .wire = exchange_type}; }
};

double tolerance_from(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const bool is_number = end != text.c_str() && *end == '\0';
  const bool fits = value >= 0 && value < 1;  // not what is no number
  if (!is_number || !fits) {
    throw UsageError("tolerance", text.empty() ? "''" : text, "write a number from 0 to below 1, such as 1e-8");
  }
  return value;
}

void Bp5Options::describe(OptionSet& options) {
  mesh.describe(options);
  options.add("edge", edge,
              "instead of --elements: so many along each edge of a rank's cube; one or several, such as 4:32");
  options.add_choice("geometry", geometry, {"trilinear", "stored"},
                     "metric terms: computed from an element's 8 vertices, or read, six a node");
  options.add_choice("storage", storage, {"unique", "element"},
                     "vectors: every unknown once, or every node of every element");
  options.add_choice("solver", solver, {"classical", "fused"},
                     "conjugate gradients with two reductions an iteration, or with one (Chronopoulos and Gear)");
  options.add_choice("rhs", rhs, {"nekrs", "manufactured"},
                     "right-hand side: nekRS's; or one whose solution is known, with its error");
  auto& most = options.add_text(
      "iterations", [this](const std::string& text) { iterations = parse_size("iterations", text); },
      [this] { return iterations > 0 ? std::to_string(iterations) : std::string("500; 20 in host memory"); },
      "iterations, at most");
  most.value = [this] { return static_cast<std::int64_t>(iterations); };
  auto& limit = options.add_text(
      "tolerance", [this](const std::string& text) { tolerance = tolerance_from(text); },
      [this] { return printed("%g", tolerance); }, "relative residual at which a solve ends");
  limit.value = [this] { return tolerance; };
  options.add("exchange-dtype", exchange_type, "type in which shared values travel: f64, f32");
  options.add_choice("mode", mode, {"auto", "pairwise", "neighbor", "crystal-router", "all-reduce", "host"},
                     "of the gather-scatter; auto times them and takes the fastest");
  options.add_flag("overlap", "no-overlap", overlap,
                   "do elements inside a rank while shared nodes travel, or all elements first");
}

void Bp5Options::settle(int all_ranks) {
  ranks = all_ranks;
  if (!edge.values.empty() && mesh.given()) {
    throw UsageError("edge", std::to_string(edge.values.front()), "--elements says another size: give one of the two");
  }
  mesh.fixed_size = edge.values.empty();
  mesh.settle(ranks);
  if (exchange_type != DataType::f64 && exchange_type != DataType::f32) {
    throw UsageError("exchange-dtype", std::string(name(exchange_type)), "real numbers travel: write f64 or f32");
  }
}

/// Bytes that a node costs the host while the mesh is numbered.
constexpr double setup_bytes_a_node = 100;

std::vector<std::string> Bp5Options::fit(const Room& room, int /*ranks*/) {
  on_gpu = room.on_gpu;
  std::vector<std::string> notes;
  if (iterations == 0) {
    iterations = on_gpu ? 500 : 20;
    if (!on_gpu) {
      notes.emplace_back("20 iterations a solve in host memory, where nekRS does 500: --iterations changes it");
    }
  }
  refuse_iterations_beyond(room);
  refuse_a_mesh_beyond(room);
  return notes;
}

void Bp5Options::refuse_iterations_beyond(const Room& room) const {
  const double needed = sem::ConjugateGradients::bytes(how_solved(), 0, limits());
  if (needed <= room.buffers / 2) return;
  throw UsageError("iterations", std::to_string(iterations),
                   "their residuals need " + binary_bytes(needed) + ", where " + binary_bytes(room.buffers) +
                       " are free; nekRS does 500");
}

/// What a request beyond any machine needs is not counted node by node.
void Bp5Options::refuse_a_mesh_beyond(const Room& room) const {
  const double on_device = 8.0 * 6 + (geometry == "stored" ? 48 : 0);
  const double on_host = setup_bytes_a_node + (on_gpu ? 0 : on_device);
  const double largest = std::min({static_cast<double>(sem::Numbering::most_unknowns), room.host / on_host,
                                   on_gpu ? room.buffers / on_device : room.host / on_host});
  const std::size_t longest = edge.values.empty() ? 0 : *std::max_element(edge.values.begin(), edge.values.end());
  const double nodes = (longest > 0 ? mesh.with_edge(longest, ranks) : mesh).nodes_about(ranks);
  if (nodes <= largest) return;
  const std::string needed = binary_bytes(nodes * on_host) + " of host memory" +
                             (on_gpu ? " and " + binary_bytes(nodes * on_device) + " of GPU memory" : "");
  const std::string free = binary_bytes(room.host) + (on_gpu ? " and " + binary_bytes(room.buffers) : "");
  const std::string why = "needs about " + needed + " on each rank, where " + free + " are free; ";
  if (longest == 0) throw UsageError("elements", mesh.text(), why + mesh.largest_cube(largest, ranks));
  throw UsageError("edge", std::to_string(longest),
                   why + "the largest is about --edge " + std::to_string(mesh.largest_edge(largest)));
}

/// The unknowns of a rank's box, with those that it shares.
double unknowns_of(const sem::Partition& partition, int rank, int order) {
  double unknowns = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto [begin, end] = partition.block(rank)[axis];
    const std::size_t points = (end - begin) * static_cast<std::size_t>(order) + 1;
    const std::size_t outer = (begin == 0 ? 1U : 0U) + (end == partition.elements()[axis] ? 1U : 0U);
    unknowns *= static_cast<double>(points - std::min(points, outer));
  }
  return unknowns;
}

/// The largest over the ranks. Nodes on the boundary of the domain are counted too, though they are not shared.
gs::Counts counts_of(const sem::Partition& partition, int order, Storage storage) {
  gs::Counts counts{.ranks = partition.ranks()};
  for (int rank = 0; rank < partition.ranks(); ++rank) {
    counts.shared_nodes = std::max(counts.shared_nodes, partition.shared_nodes(rank, order));
    counts.sent = std::max(counts.sent, partition.sent(rank, order));
    counts.grouped_nodes = std::max(counts.grouped_nodes, partition.grouped_nodes(rank, order));
  }
  if (storage == Storage::unique) counts.grouped_nodes = counts.shared_nodes;
  return counts;
}

Footprint Bp5Options::footprint(int rank, int /*ranks*/) const {
  const KershawOptions now = current();
  const sem::Partition partition = now.partition(ranks);
  const int order = now.shape.order;
  const double nodes = static_cast<double>(partition.count(rank)) * cube(order + 1);
  const double length = how_stored() == Storage::element ? nodes : unknowns_of(partition, rank, order);
  const double vectors = how_stored() == Storage::element ? 4 : 3;  // b, x and a further one; weights
  const gs::Counts counts = counts_of(partition, order, how_stored());
  const gs::Bytes exchange_bytes = gs::bytes(counts, exchange(), on_gpu);
  return {.buffers = vectors * length * sizeof(double) + device::sum_scratch_bytes + sizeof(double) +
                     sem::ConjugateGradients::bytes(how_solved(), static_cast<std::size_t>(length), limits()) +
                     sem::poisson_bytes(partition.count(rank), order, how_geometry(), how_stored()) +
                     exchange_bytes.buffers,
          .staging = exchange_bytes.staging,
          .operation = 2 * static_cast<double>(counts.sent) * sizeof(double)};
}

void copy_to(const device::Buffer& buffer, const std::vector<double>& values, device::Stream& stream) {
  stream.copy(buffer.data(), values.data(), values.size() * sizeof(double));
  stream.wait();
}

std::vector<double> copy_of(const double* values, std::size_t count, device::Stream& stream) {
  std::vector<double> copy(count);
  stream.copy(copy.data(), values, count * sizeof(double));
  stream.wait();
  return copy;
}

/// 1 over every element; what is 0 stays 0.
void invert(double* values, std::size_t count, device::Stream& stream) {
  device::launch(stream, count, COMMLENS_LAMBDA(std::size_t i) { values[i] = values[i] == 0 ? 0.0 : 1 / values[i]; });
}

/// What a solve is, for figures that outlive the run.
struct Work {
  double dof_iterations = 0;  ///< as nekRS counts degrees of freedom: elements order^3
  double flops = 0;
  double bytes = 0;
};

/// Everything of one record: what is solved, with what, and how it is checked.
class Bp5 {
 public:
  Bp5(Run& run, const Bp5Options& options);

  void solve() {
    solution_ = solver_->solve(b_.as<double>(), x_.as<double>(), run_.stream(), [] { Run::alive(); });
  }
  /// So that what was there cannot pass for a solution.
  void spoil() { run_.stream().fill(x_.data(), 0xFF, x_.bytes()); }
  [[nodiscard]] Verdict verify(bool thoroughly);
  void tell(const std::vector<double>& seconds);

  [[nodiscard]] Work work() const;  ///< of the last solve, on this rank
  [[nodiscard]] double working_set() const { return static_cast<double>(space_.length) * 4 * sizeof(double); }

 private:
  void number_unknowns();
  void choose_exchange();
  void weigh();
  void write_right_hand_side();
  void count_bytes();
  [[nodiscard]] std::string wrong_sums(device::Stream& stream);
  [[nodiscard]] known_poisson::InnerProducts inner_products(device::Stream& stream) {
    return {space_, scratch_.data(), stream, run_.communicator()};
  }
  [[nodiscard]] double elements() const;  ///< a rank, on average: what nekRS's figures are made of
  [[nodiscard]] double dof() const;
  [[nodiscard]] double flops_of_solve(std::size_t iterations) const;  ///< as nekRS counts

  Run& run_;
  const Bp5Options& options_;
  sem::Partition partition_;
  sem::Mesh mesh_;
  sem::Numbering numbering_;
  gs::Sharing sharing_;  ///< of the vectors' places
  sem::VectorSpace space_;
  device::Buffer b_, x_, image_, weights_, scratch_;
  std::unique_ptr<sem::Poisson> poisson_;
  std::unique_ptr<gs::GatherScatter> gather_scatter_;
  std::string used_;  ///< the exchange's configuration
  std::unique_ptr<sem::AssembledPoisson> operator_;
  std::unique_ptr<sem::ConjugateGradients> solver_;
  sem::Solution solution_;
  double bytes_of_iteration_ = 0;
  double norm_of_b_ = 0;
  std::optional<double> error_;  ///< of the manufactured solution; nothing: not looked at
  std::string wrong_set_up_;
};

Bp5::Bp5(Run& run, const Bp5Options& options)
    : run_(run),
      options_(options),
      partition_(options.current().partition(run.ranks())),
      mesh_(options.current().shape, partition_, run.rank()) {
  for (const std::string& line : sem::lines(sem::metrics(mesh_, run.communicator()))) run.report(line);
  run.report("");
  Run::alive();  // each step of a large mesh takes seconds
  number_unknowns();
  Run::alive();
  const auto allocate = [&run](std::size_t bytes) { return run.buffer(bytes); };
  const std::size_t bytes = space_.length * sizeof(double);
  b_ = allocate(bytes);
  x_ = allocate(bytes);
  image_ = allocate(bytes);
  scratch_ = allocate(device::sum_scratch_bytes + sizeof(double));
  run.stream().fill(scratch_.data(), 0, scratch_.bytes());
  poisson_ = sem::make_poisson(mesh_, numbering_, options.how_geometry(), options.how_stored(), run.memory(), allocate,
                               run.stream());
  Run::alive();
  choose_exchange();
  weigh();
  Run::alive();
  write_right_hand_side();
  operator_ = std::make_unique<sem::AssembledPoisson>(*poisson_, *gather_scatter_, mesh_.boundary_elements(),
                                                      mesh_.elements(), options.overlap && run.ranks() > 1);
  solver_ = std::make_unique<sem::ConjugateGradients>(
      options.how_solved(), space_, options.limits(),
      [this](const double* input, double* output, double* energy, device::Stream& stream) {
        operator_->apply(input, output, energy, stream);
      },
      run.transport(), run.ranks(), allocate, run.stream());
  count_bytes();
}

void Bp5::number_unknowns() {
  auto ids = mesh_.ids();
  const auto fixed = mesh_.on_boundary();
  numbering_ = sem::number(ids, fixed, run_.communicator());
  if (options_.how_stored() == Storage::unique) {
    sharing_ = numbering_.sharing;
    space_ = {.length = numbering_.unknowns, .counted = numbering_.owned};
    return;
  }
  for (std::size_t node = 0; node < ids.size(); ++node) {
    if (fixed[node] != 0) ids[node] = 0;
  }
  sharing_ = gs::discover(ids, run_.communicator());
  space_ = {.length = ids.size()};
}

/// As nekRS does: every way is timed, and the one whose slowest rank is fastest is used.
void Bp5::choose_exchange() {
  const auto around = surroundings_of(run_);
  const auto lists = gs::make_lists(sharing_, around);
  std::optional<gs::Timing> best;
  std::string refused;
  for (const gs::Method method : gs::all_methods) {
    if (options_.mode != "auto" && options_.mode != gs::name(method)) continue;
    refused = gs::unfit(method, sharing_, options_.exchange(), around);
    if (!refused.empty()) continue;
    auto candidate = gs::make(method, lists, options_.exchange(), around);
    if (options_.mode == "auto" && run_.ranks() > 1) {
      const auto timing = gs::time_of(*candidate, method, image_.data(), sharing_, options_.exchange(), around);
      if (best && best->seconds.largest <= timing.seconds.largest) continue;
      best = timing;
    }
    gather_scatter_ = std::move(candidate);
    used_ = gs::configuration(method, run_.transport_name(), run_.memory());
    if (!best) break;
  }
  if (!gather_scatter_) throw Unfit("--mode " + options_.mode + ": " + refused + "; --mode auto takes what there is");
  if (best) run_.report("used config over " + run_.transport_name() + ": " + gs::describe(*best, used_));
}

/// How often each unknown is stored: exactly known, and what the gather-scatter must find.
void Bp5::weigh() {
  const std::vector<double> ones(mesh_.nodes(), 1.0);
  copy_to(image_, known_poisson::to_vector(ones, mesh_, numbering_, options_.how_stored()), run_.stream());
  gather_scatter_->apply(image_.data(), run_.stream());
  wrong_set_up_ = known_poisson::wrong_multiplicity(copy_of(image_.as<double>(), space_.length, run_.stream()), mesh_,
                                                    numbering_, options_.how_stored());
  if (options_.how_stored() == Storage::unique) return;
  weights_ = run_.buffer(space_.length * sizeof(double));
  run_.stream().copy(weights_.data(), image_.data(), weights_.bytes());
  invert(weights_.as<double>(), space_.length, run_.stream());
  space_.weights = weights_.as<double>();
}

void Bp5::write_right_hand_side() {
  const auto nodal = known_poisson::right_hand_side(mesh_, options_.right_hand_side());
  copy_to(b_, known_poisson::to_vector(nodal, mesh_, numbering_, options_.how_stored()), run_.stream());
  gather_scatter_->apply(b_.data(), run_.stream());
  norm_of_b_ = inner_products(run_.stream()).norm(b_.as<double>());
}

/// What an iteration must read and write if nothing stays in a cache between two kernels, and everything within one.
void Bp5::count_bytes() {
  const auto nodes = static_cast<double>(mesh_.nodes());
  const auto length = static_cast<double>(space_.length);
  const bool unique = options_.how_stored() == Storage::unique;
  double bytes = sem::ConjugateGradients::traffic(options_.how_solved(), space_.length);
  // The operator reads its input and writes its output, to which it adds what is there, by numbers of unknowns.
  bytes += unique ? 3 * length * sizeof(double) + nodes * sizeof(std::uint32_t) : 2 * length * sizeof(double);
  bytes += options_.how_geometry() == Geometry::stored ? nodes * 6 * sizeof(double)
                                                       : static_cast<double>(mesh_.elements()) * 8 * 3 * sizeof(double);
  // The gather-scatter reads and writes what is in groups, by a number a node and one a group.
  const auto grouped = static_cast<double>(sharing_.local.nodes.size() + sharing_.shared.nodes.size());
  const auto groups = static_cast<double>(sharing_.local.size() + sharing_.shared.size());
  bytes += grouped * (2 * sizeof(double) + sizeof(std::uint32_t)) + groups * sizeof(std::uint32_t);
  bytes_of_iteration_ = bytes;
}

/// nekRS's: 12 N^4 + 15 N^3 an element and application, N = order + 1; and the vector operations.
double Bp5::flops_of_solve(std::size_t iterations) const {
  const double n = options_.current().shape.order + 1;
  const double application = elements() * (12 * cube(n) * n + 15 * cube(n));
  const double nodes = elements() * cube(n);
  return static_cast<double>(iterations) * (application + 16 * nodes) + application + 9 * nodes;
}

/// b - A x must be the residual of the iteration, with the norm that it had there, whatever the iteration did; and both
/// ways to x . A x one number. Leaves A x in the image.
std::string Bp5::wrong_sums(device::Stream& stream) {
  // Messages of 32 bits leave as much in every sum.
  const double tolerance = options_.exchange_type == DataType::f32 ? 1e-4 : 1e-9;
  const auto* const x = x_.as<double>();
  auto* const image = image_.as<double>();
  auto* const energy = reinterpret_cast<double*>(scratch_.as<std::byte>() + device::sum_scratch_bytes);
  stream.fill(image, 0, image_.bytes());
  operator_->apply(x, image, energy, stream);
  const double of_elements = run_.communicator().sum_of_reals(copy_of(energy, 1, stream).front());
  const auto products = inner_products(stream);
  const double of_vectors = products.product(x, image);
  const double difference = products.difference(b_.as<double>(), image, solver_->residual());
  const double norm = products.norm(solver_->residual());
  const double known = solution_.relative_residuals.back() * norm_of_b_;
  double largest = 1;  // |r| may grow far beyond |b|
  for (const double residual : solution_.relative_residuals) largest = std::max(largest, residual);
  if (!(difference <= tolerance * largest * norm_of_b_)) {
    return "b - A x differs from the residual of the iteration by " + printed("%.3g", difference / norm_of_b_) +
           " of b";
  }
  if (!(std::abs(norm - known) <= tolerance * largest * norm_of_b_)) {
    return "the norm of the residual is " + printed("%.17g", norm) + ", and was " + printed("%.17g", known) +
           " in the iteration";
  }
  if (!(std::abs(of_vectors - of_elements) <= tolerance * std::abs(of_elements))) {
    return "x . A x is " + printed("%.17g", of_vectors) + ", and " + printed("%.17g", of_elements) +
           " as the sum over elements";
  }
  return {};
}

Verdict Bp5::verify(bool thoroughly) {
  auto& stream = run_.stream();
  std::string error = wrong_sums(stream);
  if (thoroughly) {
    const auto x = copy_of(x_.as<double>(), space_.length, stream);
    const auto image = copy_of(image_.as<double>(), space_.length, stream);
    if (error.empty()) {
      error = known_poisson::wrong_element(x, image, mesh_, numbering_, options_.how_stored(), 1e-10);
    }
    error_ = run_.communicator().maximum(known_poisson::error_of(x, mesh_, numbering_, options_.how_stored()));
  }
  return {.elements = space_.length, .error = wrong_set_up_.empty() ? error : wrong_set_up_};
}

double Bp5::elements() const {
  const auto& [x, y, z] = options_.current().shape.elements;
  return static_cast<double>(x) * static_cast<double>(y) * static_cast<double>(z) / run_.ranks();
}

double Bp5::dof() const { return elements() * cube(options_.current().shape.order); }

Work Bp5::work() const {
  const auto iterations = static_cast<double>(solution_.iterations);
  return {.dof_iterations = dof() * iterations,
          .flops = flops_of_solve(solution_.iterations),
          .bytes = bytes_of_iteration_ * iterations};
}

/// In nekRS's words what it would have printed, and in ours what it would not.
void Bp5::tell(const std::vector<double>& seconds) {
  run_.fact("dof_per_rank", dof());
  run_.fact("degrees_of_freedom", mesh_.degrees_of_freedom());
  run_.fact("norm_of_b", norm_of_b_);
  run_.fact("iterations", static_cast<std::int64_t>(solution_.iterations));
  run_.fact("bytes_per_iteration", bytes_of_iteration_);
  run_.fact("bytes_per_dof_iteration", bytes_of_iteration_ / dof());
  run_.fact("flops_per_iteration", flops_of_solve(1) - flops_of_solve(0));
  run_.fact("exchange", used_);
  if (options_.right_hand_side() == RightHandSide::manufactured && error_) run_.fact("largest_error", *error_);
  run_.series("relative_residual", solution_.relative_residuals);
  if (seconds.empty()) return;
  const double least = *std::min_element(seconds.begin(), seconds.end());
  const double largest = *std::max_element(seconds.begin(), seconds.end());
  const double mean = std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
  run_.report("repetitions: " + std::to_string(seconds.size()));
  run_.report("solve time: min: " + printed("%gs", least) + "  avg: " + printed("%gs", mean) +
              "  max: " + printed("%gs", largest));
  run_.report("iterations: " + std::to_string(solution_.iterations));
  run_.report("throughput: " + printed("%g", work().dof_iterations / least) + " (DOF x iter)/s/rank");
  run_.report("flops/rank: " + printed("%g", work().flops / least));
}

std::vector<measure::Figure> figures(const Work& work) {
  using measure::Better;
  return {{"throughput_DOF_iter_per_s", Better::higher, [=](double seconds) { return work.dof_iterations / seconds; }},
          {"time_ms", Better::lower, [](double seconds) { return seconds * 1e3; }},
          {"GFLOPs", Better::higher, [=](double seconds) { return work.flops / seconds * 1e-9; }},
          {"memory_GBps", Better::higher, [=](double seconds) { return work.bytes / seconds * 1e-9; }}};
}

/// Copies of as much memory as the vectors of an iteration take: what does not fit a cache here does not there.
std::vector<CeilingRequest> ceilings(Run& run, const Work& work, double working_set) {
  constexpr double least = 1 << 20;  // smaller ones are mostly the time of a call
  const double copied = std::max(least, run.communicator().maximum(working_set) / 2);
  return {
      CopyCeiling{.bytes = static_cast<std::size_t>(copied), .copies = work.bytes / (2 * copied), .peer = run.rank()},
      GemmCeiling{.flops = work.flops, .gemm = {.type = DataType::f64}}};
}

void bp5(Run& run, const Bp5Options& options) {
  Bp5 problem(run, options);
  problem.solve();  // its iterations are those of all solves
  const Work work = problem.work();
  run.measure({.operation = "solve",
               .reset = [&](std::size_t) { problem.spoil(); },
               .operate = [&] { problem.solve(); },
               .verify = [&](std::size_t round, std::size_t) { return problem.verify(round <= 2); },
               .exact = false,
               .repetition = run.repetition({.timing = measure::Timing::each,
                                             .repeat = options.on_gpu ? std::size_t{25} : std::size_t{5},
                                             .warmup = 1,
                                             .batches = 1}),
               .figures = figures(work),
               .ceilings = ceilings(run, work, problem.working_set())});
  problem.tell(run.samples());
}

BENCHMARK("bp5", "conjugate gradients on spectral elements (nekRS's BP5 on a Kershaw mesh)", bp5, Bp5Options);

}  // namespace
}  // namespace commlens
