// nekRS's gather-scatter (its oogs, over Nek5000's gslib): nodes of spectral elements with one label are combined, over
// elements and over ranks, in every way that can be had here. On Crusher the messages of its Kershaw case went at
// 10.9 GB/s a rank from GPU to GPU, and at 19.5 GB/s over the host.
//
// Values are integers, or powers of two, whose combination is known to the last bit: every copy of every label is
// compared.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/kershaw_options.hpp"
#include "benchmarks/known_labels.hpp"
#include "benchmarks/surroundings.hpp"
#include "device/launch.hpp"
#include "gather_scatter/choice.hpp"
#include "harness/benchmark.hpp"
#include "harness/tracer.hpp"
#include "harness/usage_error.hpp"
#include "sem/poisson.hpp"

namespace commlens {
namespace {

using gather_scatter::Combine;
using gather_scatter::GatherScatter;
using gather_scatter::Kind;
using gather_scatter::Method;

/// What is found out once for all modes and transports of a start.
struct SetUp {
  std::vector<Copy> copies;
  gather_scatter::Sharing sharing;
  std::optional<sem::Metrics> mesh;
  gather_scatter::Choice on_host;
  double seconds = 0;
  std::vector<std::string> report;
};

struct GatherScatterOptions {
  static constexpr std::size_t default_nodes = 100'003;  // a prime: a multiple of nothing

  KershawOptions mesh;
  std::string labels = "mesh";
  std::size_t nodes = 0;         ///< 0: not given
  std::size_t multiplicity = 0;  ///< likewise
  std::size_t fields = 1;
  DataType type = DataType::f64;
  std::optional<DataType> wire;  ///< none: `type`
  std::string combine = "add";
  Variants mode{.all = {"pairwise", "neighbor", "crystal-router", "all-reduce", "host"},
                .chosen = {"pairwise", "neighbor", "crystal-router", "all-reduce", "host"},
                .current = "pairwise"};
  bool overlap = false;
  std::string trace;
  bool on_gpu = false;                    ///< told by fit()
  mutable std::unique_ptr<SetUp> set_up;  ///< made by the first run

  void describe(OptionSet& options);
  void settle(int ranks);
  std::vector<std::string> fit(const Room& room, int ranks);
  [[nodiscard]] Footprint footprint(int rank, int ranks) const;
  [[nodiscard]] static device::Memory memory(int /*rank*/, int /*ranks*/, device::Memory chosen) { return chosen; }

  [[nodiscard]] bool on_mesh() const { return labels == "mesh"; }
  [[nodiscard]] Kind kind() const;
  [[nodiscard]] Method method() const;
  [[nodiscard]] std::size_t most_copies() const { return on_mesh() ? 8 : multiplicity; }
  [[nodiscard]] measure::Repetition repetition(int ranks) const;

 private:
  void refuse_options_of_the_other_labels() const;
  [[nodiscard]] double nodes_about(int ranks) const {
    return on_mesh() ? mesh.nodes_about(ranks) : static_cast<double>(nodes);
  }
};

void GatherScatterOptions::describe(OptionSet& options) {
  const auto unless_zero = [this](const std::size_t& value, std::size_t otherwise) {
    return [this, &value, otherwise] {
      return value > 0 ? std::to_string(value) : std::to_string(otherwise) + " with --labels random";
    };
  };
  const auto if_random = [this](const std::size_t& value) {
    return [this, &value]() -> std::optional<measure::Value> {
      if (on_mesh()) return std::nullopt;
      return static_cast<std::int64_t>(value);
    };
  };
  mesh.describe(options);
  options.add_choice("labels", labels, {"mesh", "random"}, "those of a mesh's nodes, or of 64 random bits");
  auto& counted = options.add("nodes", nodes, "of --labels random: nodes a rank");
  counted.text = unless_zero(nodes, default_nodes);
  counted.value = if_random(nodes);
  auto& copied = options.add("multiplicity", multiplicity, "of --labels random: most nodes with one label, up to 100");
  copied.text = unless_zero(multiplicity, most_copies_known);
  copied.value = if_random(multiplicity);
  options.add("fields", fields, "values a node: 1 or 3");
  options.add("dtype", type, "type of a value: f64, f32");
  options.add_text(
      "exchange-dtype",
      [this](const std::string& text) {
        wire = data_type_from(text);
        if (!wire) throw UsageError("exchange-dtype", text.empty() ? "''" : text, "write f64 or f32");
      },
      [this] { return std::string(name(wire.value_or(type))); }, "type of a value on its way: that of --dtype, or f32");
  options.add_choice("combine", combine, {"add", "multiply", "minimum", "maximum"},
                     "what is done with a label's values");
  options.add_variants("mode", mode, "all",
                       "the way of the values: one message a neighbour, all of them in one call, ceil(log2 ranks) "
                       "messages, a reduction of all shared labels, over the host; or all of these in turn");
  options.add_flag("overlap", "no-overlap", overlap,
                   "hide the messages behind bp5's operator on the elements that touch no other rank");
  options.add_trace(trace);
}

void GatherScatterOptions::refuse_options_of_the_other_labels() const {
  if (on_mesh()) {
    const std::string cure = "nodes of a mesh are those of its elements: add --labels random";
    if (nodes > 0) throw UsageError("nodes", std::to_string(nodes), cure);
    if (multiplicity > 0) throw UsageError("multiplicity", std::to_string(multiplicity), cure);
    return;
  }
  if (mesh.given()) throw UsageError("elements", mesh.text(), "random labels have no elements: give --nodes");
  if (overlap) throw UsageError("overlap", "", "random labels have no elements to work on: leave --labels random out");
}

void GatherScatterOptions::settle(int ranks) {
  refuse_options_of_the_other_labels();
  if (type != DataType::f64 && type != DataType::f32) {
    throw UsageError("dtype", std::string(name(type)), "write f64 or f32");
  }
  const Kind how = kind();
  if (how.wire != how.type && how.wire != DataType::f32) {
    throw UsageError(
        "exchange-dtype", std::string(name(how.wire)),
        "values of " + std::string(name(type)) + " travel as they are" + (type == DataType::f64 ? ", or as f32" : ""));
  }
  if (fields != 1 && fields != 3) throw UsageError("fields", std::to_string(fields), "write 1 or 3");
  if (on_mesh()) {
    mesh.settle(ranks);
    return;
  }
  mesh.in_use = false;
  if (nodes == 0) nodes = default_nodes;
  if (multiplicity == 0) multiplicity = most_copies_known;
  if (multiplicity > most_copies_known) {
    throw UsageError("multiplicity", std::to_string(multiplicity),
                     "write at most " + std::to_string(most_copies_known) +
                         ": what more nodes combine to cannot be compared to the last bit");
  }
}

Kind GatherScatterOptions::kind() const {
  const Combine how = combine == "add"        ? Combine::add
                      : combine == "multiply" ? Combine::multiply
                      : combine == "minimum"  ? Combine::minimum
                                              : Combine::maximum;
  return {.type = type, .wire = wire.value_or(type), .fields = fields, .combine = how};
}

Method GatherScatterOptions::method() const {
  return *std::find_if(std::begin(gather_scatter::all_methods), std::end(gather_scatter::all_methods),
                       [&](Method method) { return gather_scatter::name(method) == mode.current; });
}

/// A host takes its time to write, combine and compare so many nodes for each mode: a second or two has to do, which is
/// 20 samples for 20^3 elements of order 7 a rank. The same on all ranks.
measure::Repetition GatherScatterOptions::repetition(int ranks) const {
  measure::Repetition repetition{.timing = measure::Timing::each, .repeat = 100, .warmup = 10, .batches = 10};
  if (on_gpu) return repetition;
  constexpr double values = 8.2e7;
  const double samples = values / (nodes_about(ranks) * static_cast<double>(fields));
  repetition.repeat = static_cast<std::size_t>(std::clamp(samples, 10.0, 100.0));
  repetition.warmup = repetition.repeat / 10;
  return repetition;
}

/// Set-up on the host: labels, what is known of them, and the lists that are sorted to find who shares them.
constexpr double set_up_bytes_a_node = 90;
constexpr double most_nodes = 4294967295;  // of a rank: lists number them in 32 bits

/// Before a mesh is made: its lists alone may be more than there is.
std::vector<std::string> GatherScatterOptions::fit(const Room& room, int ranks) {
  on_gpu = room.on_gpu;
  const std::string option = on_mesh() ? "elements" : "nodes";
  const std::string value = on_mesh() ? mesh.text() : std::to_string(nodes);
  const double count = nodes_about(ranks);
  const std::size_t of_work = overlap ? 2 * sizeof(double) : 0;
  const auto on_device = static_cast<double>(fields * size_of(type) + sizeof(Copy) + sizeof(std::uint32_t) + of_work);
  const double on_host = set_up_bytes_a_node + (room.on_gpu ? 0 : on_device);
  const double largest =
      std::min({most_nodes, room.host / on_host, room.on_gpu ? room.buffers / on_device : most_nodes});
  if (count <= largest) return {};
  const std::string needed = binary_bytes(count * on_host) + " of host memory" +
                             (room.on_gpu ? " and " + binary_bytes(count * on_device) + " of GPU memory" : "");
  const std::string free = binary_bytes(room.host) + (room.on_gpu ? " and " + binary_bytes(room.buffers) : "");
  throw UsageError(option, value,
                   "needs about " + needed + " on each rank, where " + free + " are free; " +
                       (on_mesh() ? mesh.largest_cube(largest, ranks)
                                  : "at most " + std::to_string(static_cast<std::size_t>(largest)) + " nodes fit"));
}

/// The largest over the ranks, or bounds of them: a node of random labels has as many others elsewhere as there are
/// ranks, or copies.
gather_scatter::Counts counts_of(const GatherScatterOptions& options, int ranks) {
  if (!options.on_mesh()) {
    const std::size_t elsewhere = std::min(options.multiplicity, static_cast<std::size_t>(ranks)) - 1;
    return {.grouped_nodes = options.nodes,
            .shared_nodes = options.nodes,
            .sent = options.nodes * elsewhere,
            .ranks = ranks};
  }
  const sem::Partition partition = options.mesh.partition(ranks);
  const int order = options.mesh.shape.order;
  gather_scatter::Counts counts{.ranks = ranks};
  for (int rank = 0; rank < ranks; ++rank) {
    counts.grouped_nodes = std::max(counts.grouped_nodes, partition.grouped_nodes(rank, order));
    counts.shared_nodes = std::max(counts.shared_nodes, partition.shared_nodes(rank, order));
    counts.sent = std::max(counts.sent, partition.sent(rank, order));
  }
  return counts;
}

/// Of a rank.
std::size_t nodes_of(const GatherScatterOptions& options, int rank, int ranks) {
  if (!options.on_mesh()) return options.nodes;
  const auto row = static_cast<std::size_t>(options.mesh.shape.order) + 1;
  return options.mesh.partition(ranks).count(rank) * row * row * row;
}

/// What InteriorWork asks for: an operator, two vectors and an energy.
double bytes_of_work(const GatherScatterOptions& options, int rank, int ranks) {
  return sem::poisson_bytes(options.mesh.partition(ranks).count(rank), options.mesh.shape.order,
                            sem::Geometry::trilinear, sem::Storage::element) +
         static_cast<double>((2 * nodes_of(options, rank, ranks) + 1) * sizeof(double));
}

Footprint GatherScatterOptions::footprint(int rank, int ranks) const {
  const Kind how = kind();
  const auto nodes_here = static_cast<double>(nodes_of(*this, rank, ranks));
  const auto value = static_cast<double>(fields * size_of(type));
  const auto counts = counts_of(*this, ranks);
  const auto asked_for = gather_scatter::bytes(counts, how, on_gpu);
  return {.buffers = nodes_here * value + KnownCombination::bytes(nodes_here) + asked_for.buffers +
                     (overlap ? bytes_of_work(*this, rank, ranks) : 0),
          .staging = asked_for.staging,
          .operation = 2 * static_cast<double>(counts.sent * fields * size_of(how.wire))};
}

// ---- set-up ----

std::unique_ptr<SetUp> set_up_of(Run& run, const GatherScatterOptions& options) {
  auto set_up = std::make_unique<SetUp>();
  Labels labels;
  if (options.on_mesh()) {
    const sem::Mesh mesh(options.mesh.shape, options.mesh.partition(run.ranks()), run.rank());
    set_up->mesh = sem::metrics(mesh, run.communicator());
    labels = labels_of(mesh);
  } else {
    labels = random_labels(options.nodes, options.multiplicity, run.rank(), run.ranks());
  }
  Run::alive();
  const auto start = std::chrono::steady_clock::now();
  set_up->sharing = gather_scatter::discover(labels.ids, run.communicator());
  Run::alive();
  set_up->on_host = gather_scatter::choose_on_host(set_up->sharing, surroundings_of(run));
  set_up->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  set_up->copies = std::move(labels.copies);
  return set_up;
}

/// What nekRS and gslib print of a mesh and of a set-up; the buffers are gslib's, for one double a node.
std::vector<std::string> report_of(const SetUp& set_up, std::size_t list_bytes, Run& run) {
  std::vector<std::string> report;
  if (set_up.mesh) report = sem::lines(*set_up.mesh);
  const auto lines = gather_scatter::setup_lines(set_up.sharing, set_up.on_host, set_up.seconds, list_bytes,
                                                 2 * set_up.sharing.sent() * sizeof(double), run.communicator());
  report.insert(report.end(), lines.begin(), lines.end());
  return report;
}

void add_findings(Run& run, const gather_scatter::Sharing& sharing, const GatherScatter& operation,
                  const gather_scatter::Timing& timing) {
  const auto whole = [](double number) { return static_cast<std::int64_t>(number); };
  const auto most = [&](std::size_t bytes) { return whole(run.communicator().maximum(static_cast<double>(bytes))); };
  const auto counts = gather_scatter::message_counts(sharing, run.communicator());
  run.fact("labels_shared", static_cast<std::int64_t>(sharing.labels_shared));
  run.fact("messages", whole(counts.messages.largest));
  run.fact("message_size_max", whole(counts.size.largest));
  run.fact("message_size_min", whole(counts.size.least));
  run.fact("message_size_avg", counts.size.average);
  run.fact("message_size_sum", whole(counts.size_sum.largest));
  run.fact("buffer_bytes", most(operation.buffer_bytes()));
  run.fact("list_bytes", most(operation.list_bytes()));
  run.fact("exchange_min_us", timing.exchange.least * 1e6);
  run.fact("exchange_max_us", timing.exchange.largest * 1e6);
  run.fact("exchange_avg_us", timing.exchange.average * 1e6);
  run.fact("bidirectional_GBps", timing.bidirectional_GBps);
  run.fact("selection_us", timing.seconds.largest * 1e6);
  const std::string name = gather_scatter::configuration(timing.method, run.transport_name(), run.memory());
  run.candidate({.name = name, .seconds = timing.seconds.largest, .text = gather_scatter::describe(timing, name)});
}

// ---- the operation ----

/// Many different bits: a GPU needs less power for zeros, and may then be faster than with an application's numbers.
void fill_with_fractions(device::Stream& stream, double* values, std::size_t count) {
  device::launch(stream, count, COMMLENS_LAMBDA(std::size_t i) { values[i] = 1 / (1 + static_cast<double>(i % 509)); });
}

/// What an application does while messages travel: the operator on the elements that touch no other rank. It works on
/// vectors of its own, because what is combined has to stay exact.
class InteriorWork {
 public:
  InteriorWork(Run& run, const sem::Mesh& mesh)
      : interior_{mesh.boundary_elements(), mesh.elements()},
        input_(run.buffer(mesh.nodes() * sizeof(double))),
        output_(run.buffer(mesh.nodes() * sizeof(double))),
        energy_(run.buffer(sizeof(double))),
        poisson_(sem::make_poisson(
            mesh, {}, sem::Geometry::trilinear, sem::Storage::element, run.memory(),
            [&run](std::size_t bytes) { return run.buffer(bytes); }, run.stream())) {
    fill_with_fractions(run.stream(), input_.as<double>(), mesh.nodes());
    run.stream().wait();
  }

  void add_to(device::Stream& stream) const {
    poisson_->apply(interior_, input_.as<double>(), output_.as<double>(), energy_.as<double>(), false, stream);
  }

 private:
  sem::ElementRange interior_;
  device::Buffer input_;
  device::Buffer output_;
  device::Buffer energy_;
  std::unique_ptr<sem::Poisson> poisson_;
};

namespace stream_of {
constexpr const char* messages = "gather-scatter";
constexpr const char* work = "operator";
}  // namespace stream_of

/// A gather-scatter of the data, by itself or with work beside it.
class Combination {
 public:
  Combination(Run& run, GatherScatter& operation, void* data) : run_(run), operation_(operation), data_(data) {}

  /// To be done on a stream of its own, while the messages travel.
  void beside(const InteriorWork& work) {
    work_ = &work;
    work_stream_ = run_.concurrent_stream(device::Priority::normal);
    done_ = run_.event();
  }

  void operate(Tracer* tracer);
  void combine_alone() { operation_.apply(data_, run_.stream()); }
  void work_alone() {
    work_->add_to(*work_stream_);
    join();
  }

 private:
  /// The run's stream waits for the work.
  void join() {
    work_stream_->record(*done_);
    run_.stream().wait_for(*done_);
  }

  Run& run_;
  GatherScatter& operation_;
  void* data_;
  const InteriorWork* work_ = nullptr;
  std::unique_ptr<device::Stream> work_stream_;
  std::unique_ptr<device::Event> done_;
};

/// Gives the steps of a gather-scatter to the harness.
class Steps final : public gather_scatter::Observer {
 public:
  Steps(GatherScatter& operation, Tracer* tracer) : operation_(operation), tracer_(tracer) {
    if (tracer != nullptr) operation.watch(this);
  }
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;
  ~Steps() override { operation_.watch(nullptr); }

  void begin(const char* part, device::Stream& stream) override {
    tracer_->begin({stream_of::messages, part, number_++}, stream);
  }
  void end(device::Stream& stream) override { tracer_->end(stream); }

 private:
  GatherScatter& operation_;
  Tracer* tracer_;
  std::size_t number_ = 0;
};

/// Nodes inside the rank are combined behind the work, as in an application, where its results are among them.
void Combination::operate(Tracer* tracer) {
  const Steps steps(operation_, tracer);
  if (work_ == nullptr) return combine_alone();
  auto& stream = run_.stream();
  operation_.start(data_, stream);
  traced(tracer, *work_stream_, {stream_of::work, stream_of::work, 0}, [&] { work_->add_to(*work_stream_); });
  operation_.finish(data_, stream);
  join();
  operation_.local(data_, stream);
}

std::vector<Part> parts(Combination& combination, bool overlap) {
  namespace part = gather_scatter::part;
  if (!overlap) {
    return {{part::pack, stream_of::messages},
            {part::exchange, stream_of::messages},
            {part::local, stream_of::messages},
            {part::unpack, stream_of::messages}};
  }
  return {{stream_of::messages, stream_of::messages, [&] { combination.combine_alone(); }},
          {stream_of::work, stream_of::work, [&] { combination.work_alone(); }}};
}

/// `bytes` leave a rank, and as many come: the mean over the ranks.
std::vector<measure::Figure> figures(double bytes) {
  using measure::Better;
  std::vector<measure::Figure> figures{{"time_us", Better::lower, [](double seconds) { return seconds * 1e6; }}};
  if (bytes > 0) {
    figures.push_back(
        {"bandwidth_GBps", Better::higher, [bytes](double seconds) { return 2 * bytes / seconds * 1e-9; }});
  }
  return figures;
}

/// What goes to other ranks, copied to one of them: by as much as the rank with the most to send has.
std::vector<CeilingRequest> ceilings(Run& run, const gather_scatter::Sharing& sharing, const Kind& kind,
                                     Method method) {
  const std::size_t mine = sharing.sent() * kind.fields * size_of(kind.wire);
  const auto most = static_cast<std::size_t>(run.communicator().maximum(static_cast<double>(mine)));
  const bool neighbors = method == Method::pairwise || method == Method::neighbor;
  if (most == 0 || !neighbors) return {};
  const int peer = sharing.peers.empty() ? (run.rank() + 1) % run.ranks() : sharing.peers.front().rank;
  return {CopyCeiling{.bytes = most, .peer = peer}};
}

void combine_nodes(Run& run, const GatherScatterOptions& options) {
  if (!options.set_up) options.set_up = set_up_of(run, options);
  SetUp& set_up = *options.set_up;
  const gather_scatter::Sharing& sharing = set_up.sharing;
  const auto surroundings = surroundings_of(run);
  const Kind kind = options.kind();
  const Method method = options.method();
  const std::string unfit = run.communicator().first(gather_scatter::unfit(method, sharing, kind, surroundings));
  if (!unfit.empty()) throw Unfit(unfit);

  const auto operation =
      gather_scatter::make(method, gather_scatter::make_lists(sharing, surroundings), kind, surroundings);
  const auto data = run.buffer(sharing.nodes * kind.fields * size_of(kind.type));
  run.stream().fill(data.data(), 0, data.bytes());
  add_findings(run, sharing, *operation,
               gather_scatter::time_of(*operation, method, data.data(), sharing, kind, surroundings));
  if (set_up.report.empty()) set_up.report = report_of(set_up, operation->list_bytes(), run);
  for (const std::string& line : set_up.report) run.report(line);

  KnownCombination known(run, set_up.copies, kind);
  Combination combination(run, *operation, data.data());
  std::optional<InteriorWork> work;
  if (options.overlap) {
    work.emplace(run, sem::Mesh(options.mesh.shape, options.mesh.partition(run.ranks()), run.rank()));
    combination.beside(*work);
  }
  const auto sent = static_cast<double>(sharing.sent() * kind.fields * size_of(kind.wire));
  run.measure({.operation = "gather-scatter",
               .reset = [&](std::size_t round) { known.write(data.data(), round); },
               .operate = [&] { combination.operate(nullptr); },
               .verify = [&](std::size_t round,
                             std::size_t operations) { return known.compare(data.data(), round, operations); },
               .operations_per_reset = KnownCombination::exact_operations(kind, options.most_copies()),
               .repetition = run.repetition(options.repetition(run.ranks())),
               .figures = figures(run.communicator().sum_of_reals(sent) / run.ranks()),
               .parts = parts(combination, options.overlap),
               .trace = [&](Tracer& tracer) { combination.operate(&tracer); },
               .ceilings = ceilings(run, sharing, kind, method)});
}

BENCHMARK("gather-scatter", "combine the nodes that spectral elements share (nekRS's oogs, Nek5000's gslib)",
          combine_nodes, GatherScatterOptions);

}  // namespace
}  // namespace commlens
