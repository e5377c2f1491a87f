#include "trace/trace.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "profile.hpp"
#include "trace/layout.hpp"
#include "trace/pieces.hpp"

namespace commlens::profile {

constinit Trace trace;

namespace {

constexpr const char* operations[] = {COMMLENS_TRACE_OPERATIONS(COMMLENS_TRACE_NAME)};
std::uintptr_t operation_handles[std::size(operations)] = {};

/// MPI's operations: constants in MPICH, addresses of variables of the library in Open MPI.
void find_operations() {
#if defined(OPEN_MPI)
  for (std::size_t index = 0; index < std::size(operations); ++index) {
    char symbol[64] = "ompi_mpi_op_";
    char* end = symbol + std::strlen(symbol);
    for (const char* letter = operations[index] + std::strlen("MPI_"); *letter != '\0'; ++letter) {
      *end++ = static_cast<char>(*letter >= 'A' && *letter <= 'Z' ? *letter - 'A' + 'a' : *letter);
    }
    operation_handles[index] = reinterpret_cast<std::uintptr_t>(variable(symbol));
  }
#else
  const MPI_Op handles[] = {COMMLENS_TRACE_OPERATIONS(COMMLENS_TRACE_HANDLE)};
  for (std::size_t index = 0; index < std::size(operations); ++index) operation_handles[index] = key_of(handles[index]);
#endif
}

pid_t this_thread() {
  static thread_local pid_t id __attribute__((tls_model("initial-exec"))) = 0;
  if (id == 0) id = static_cast<pid_t>(syscall(SYS_gettid));
  return id;
}

std::uint64_t to_ticks(std::uint64_t nanoseconds) {
  return static_cast<std::uint64_t>(static_cast<double>(nanoseconds) / profile.clock.nanoseconds_per_tick());
}

/// The names of functions with the letters of their fields, then the names of operations, each with its zero.
std::uint64_t write_names(char* text, std::size_t room) {
  std::size_t length = 0;
  const auto add = [&](const char* name) {
    const std::size_t size = std::strlen(name) + 1;
    if (length + size > room) return;
    std::memcpy(text + length, name, size);
    length += size;
  };
  for (int function = 0; function < function_count; ++function) {
    char line[128];
    std::snprintf(line, sizeof line, "%s %s", functions[function].name, functions[function].fields);
    add(line);
  }
  for (const char* operation : operations) add(operation);
  return length;
}

void fill_header(TraceHeader& header, const Layout& layout, std::byte* mapping) {
  std::memcpy(header.mark, "CLTRACE", sizeof header.mark);
  header.version = 1;
  header.rank = static_cast<std::uint64_t>(profile.rank);
  header.size = static_cast<std::uint64_t>(profile.size);
  header.nanoseconds_per_tick = profile.clock.nanoseconds_per_tick();
  header.function_count = static_cast<std::uint64_t>(function_count);
  header.names_at = layout.names;
  header.names_length = write_names(reinterpret_cast<char*>(mapping + layout.names), Layout::names_room);
  header.types_at = layout.types;
  header.numbers_at = layout.numbers;
  header.events_at = layout.events;
  header.arrays_at = layout.arrays;
  header.nodes_at = layout.nodes;
  header.pool_at = layout.pool;
  header.exact_at = layout.exact;
  header.node_size = sizeof(Node);
}

}  // namespace

void Trace::drop() { ++header_->dropped; }

void Trace::start(const char* file, bool exact) {
  is_exact_ = exact;
  map(file);
  if (!is_on()) return;
  find_operations();
  const std::uintptr_t known[] = {key_of(world_communicator()), key_of(self_communicator())};
  std::copy(std::begin(known), std::end(known), communicators_);
  communicators_used_ = 2;
  thread_ = this_thread();
  constexpr std::uint64_t long_gap_ns = 20'000;
  long_gap_ = to_ticks(long_gap_ns);
  started_ = last_end_ = last_cpu_ticks_ = profile.clock.ticks();
  last_cpu_ns_ = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
}

void Trace::map(const char* file) {
  const int descriptor = open(file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const Layout layout;
  mapped_ = is_exact_ ? layout.end : layout.exact;
  void* memory = MAP_FAILED;
  if (descriptor >= 0 && ftruncate(descriptor, static_cast<off_t>(mapped_)) == 0 &&
      reserve_in_file(descriptor, 0, layout.types)) {
    memory = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  }
  if (memory == MAP_FAILED) {
    if (descriptor >= 0) close(descriptor);
    return;
  }
  auto* mapping = static_cast<std::byte*>(memory);
  auto* header = reinterpret_cast<TraceHeader*>(mapping);
  *header = {};
  const auto part = [&](auto& section, std::size_t offset, std::size_t capacity, std::uint64_t* length) {
    section.start(descriptor, mapping, offset, capacity, length);
  };
  part(types_, layout.types, Layout::most_types, &header->types);
  part(numbers_, layout.numbers, Layout::most_numbers, &header->numbers);
  part(event_entries_, layout.events, Layout::most_events, &header->events);
  part(array_entries_, layout.arrays, Layout::most_arrays, &header->arrays);
  part(nodes_, layout.nodes, Layout::most_nodes, &header->nodes);
  part(pool_, layout.pool, Layout::most_pooled, &header->pool);
  part(exact_, layout.exact, is_exact_ ? Layout::most_exact : 0, &header->exact);
  void* waiting = mmap(nullptr, most_waiting * sizeof(Event), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (waiting == MAP_FAILED || !events_.start(&event_entries_, &numbers_) ||
      !arrays_.start(&array_entries_, &numbers_)) {
    return;
  }
  waiting_ = static_cast<Event*>(waiting);
  fold_.start({nodes_.items(), pool_.items(), &header->nodes, &header->pool, Layout::most_nodes, Layout::most_pooled});
  fill_header(*header, layout, mapping);
  header_ = header;
}

void Trace::finish() {
  if (!is_on()) return;
  write_waiting(true);
  write_held();
  header_->ticks = profile.clock.ticks() - started_;
  header_->nanoseconds_per_tick = profile.clock.nanoseconds_per_tick();
  header_->is_complete = 1;
}

bool Trace::records_this_thread() {
  if (!profile.multithreaded || this_thread() == thread_) return true;
  __atomic_fetch_add(&header_->dropped, 1, __ATOMIC_RELAXED);
  return false;
}

void Trace::begin(Times& times, std::uint64_t now) const {
  times = {};
  times.gap = times.cpu = times.longest_gap = now - last_end_;
  times.calls = 1;
  if (times.gap < long_gap_) return;
  // Short gaps and calls since the last reading are taken for CPU time.
  const std::uint64_t used = to_ticks(nanoseconds(CLOCK_THREAD_CPUTIME_ID) - last_cpu_ns_);
  const std::uint64_t before = last_end_ - last_cpu_ticks_;
  times.cpu = std::min(times.gap, used > before ? used - before : 0);
}

void Trace::end(Times& times, std::uint64_t now, std::uint64_t ticks) {
  times.call = times.longest_call = ticks;
  last_end_ = now;
  if (times.gap < long_gap_ && ticks < long_gap_) return;
  last_cpu_ns_ = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
  last_cpu_ticks_ = now;
}

void Trace::append(const Event& event, int slot) {
  if (event.is_waiting && slot >= 0) requests.set_waiting_event(slot, next_waiting_);
  if (!event.is_waiting && first_waiting_ == next_waiting_) return fold(event);
  if (next_waiting_ - first_waiting_ == most_waiting) {
    waiting_[first_waiting_ % most_waiting].is_waiting = false;
    write_waiting(false);
  }
  waiting_[next_waiting_++ % most_waiting] = event;
  write_waiting(false);
}

void Trace::resolve(int slot, std::int64_t source, std::int64_t tag) {
  const std::uint64_t place = requests.waiting_event(slot);
  requests.set_waiting_event(slot, 0);
  if (place < first_waiting_ || place >= next_waiting_) return;
  Event& event = waiting_[place % most_waiting];
  if (!event.is_waiting) return;
  event.fields[event.source_field] = source;
  event.fields[event.tag_field] = tag;
  event.is_waiting = false;
  write_waiting(false);
}

void Trace::write_waiting(bool all) {
  for (; first_waiting_ < next_waiting_; ++first_waiting_) {
    const Event& event = waiting_[first_waiting_ % most_waiting];
    if (event.is_waiting && !all) return;
    fold(event);
  }
}

void Trace::fold(const Event& event) {
  if (event.repeats) {
    const bool is_same = has_held_ && held_.function == event.function && held_.length == event.length &&
                         std::equal(event.fields, event.fields + event.length, held_.fields);
    if (is_same) {
      held_.times.add(event.times);
      return;
    }
  }
  write_held();
  held_ = event;
  has_held_ = true;
  if (!event.repeats) write_held();
}

void Trace::write_held() {
  if (!has_held_) return;
  has_held_ = false;
  const std::uint32_t event = events_.find_or_add(held_.function, held_.fields, static_cast<std::size_t>(held_.length));
  const bool has_room = event != ListTable::no_room && nodes_.make_room(1) && pool_.make_room(Fold::longest_body);
  header_->changing = 1;
  if (!has_room || !fold_.append(event, held_.times)) {
    ++header_->dropped;
  } else if (is_exact_) {
    keep_times();
  }
  header_->changing = 0;
  ++header_->calls;
  if (header_->calls % 1024 == 0) {  // for a process that is killed
    header_->ticks = profile.clock.ticks() - started_;
    header_->nanoseconds_per_tick = profile.clock.nanoseconds_per_tick();
  }
  if (header_->calls % calls_in_memory == 0) madvise(header_, mapped_, MADV_DONTNEED);
}

/// Where there is no more room, those of later calls are missing.
void Trace::keep_times() {
  if (exact_.make_room(1)) exact_.push({held_.times.gap, held_.times.cpu, held_.times.call});
}

std::int64_t Trace::number_of(MPI_Comm communicator) {
  const std::uintptr_t handle = key_of(communicator);
  if (communicators_[last_communicator_] == handle) return last_communicator_;
  for (int number = 0; number < communicators_used_; ++number) {
    if (communicators_[number] == handle) return last_communicator_ = number;
  }
  return -1;
}

std::int64_t Trace::add(MPI_Comm communicator) {
  if (communicator == null_communicator()) return -1;
  int number = 0;
  while (number < communicators_used_ && communicators_[number] != 0) ++number;
  if (number == most_communicators) return -1;
  communicators_used_ = std::max(communicators_used_, number + 1);
  communicators_[number] = key_of(communicator);
  return number;
}

void Trace::remove(std::int64_t communicator) {
  if (communicator > 1) communicators_[communicator] = 0;
}

std::int64_t Trace::number_of_type(MPI_Datatype type) {
  const std::uintptr_t handle = key_of(type);
  KnownType& known = known_types_[(handle * 0x9E3779B97F4A7C15U) >> 54U];
  static_assert(most_known_types == 1024);
  if (known.handle != handle || known.number == 0) known = {handle, 1 + describe(type)};
  return known.number - 1;
}

void Trace::forget_types() {
  if (is_on()) std::fill(std::begin(known_types_), std::end(known_types_), KnownType{});
}

std::int64_t Trace::describe(MPI_Datatype type) {
  TypeEntry entry{};
  const MpiLibrary& library = profile.library;
  int integers = 0;
  int addresses = 0;
  int types = 0;
  int combiner = 0;
  MPI_Count size = 0;
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  MPI_Aint true_lower = 0;
  MPI_Aint true_extent = 0;
  if (library.type_size(type, &size) != MPI_SUCCESS) return -1;
  library.type_get_envelope(type, &integers, &addresses, &types, &combiner);
  library.type_get_extent(type, &lower, &extent);
  library.type_get_true_extent(type, &true_lower, &true_extent);
  char name[MPI_MAX_OBJECT_NAME] = {};
  int length = 0;
  if (combiner == MPI_COMBINER_NAMED) library.type_get_name(type, name, &length);
  std::snprintf(entry.name, sizeof entry.name, "%.63s", name);
  entry.size = size;
  entry.lower_bound = lower;
  entry.extent = extent;
  entry.pieces = true_extent == size ? 1 : pieces_of(type);
  for (std::size_t number = 0; number < types_.length(); ++number) {
    if (std::memcmp(&types_.items()[number], &entry, sizeof entry) == 0) return static_cast<std::int64_t>(number);
  }
  if (!types_.make_room(1)) return -1;
  types_.push(entry);
  return static_cast<std::int64_t>(types_.length()) - 1;
}

std::int64_t Trace::number_of_operation(std::uintptr_t operation) {
  const auto* found = std::find(std::begin(operation_handles), std::end(operation_handles), operation);
  return found - std::begin(operation_handles);  // behind the last: the program's own
}

std::int64_t Trace::members(MPI_Group group) {
  const MpiLibrary& library = profile.library;
  int size = 0;
  MPI_Group world{};
  if (library.group_size(group, &size) != MPI_SUCCESS ||
      library.comm_group(world_communicator(), &world) != MPI_SUCCESS) {
    return -1;
  }
  std::int64_t* ranks = numbers.of(static_cast<std::size_t>(size) + 1);
  for (int rank = 0; ranks != nullptr && rank < size; ++rank) {
    int in_world = 0;
    library.group_translate_ranks(group, 1, &rank, world, &in_world);
    ranks[rank] = in_world;
  }
  library.group_free(&world);
  return ranks != nullptr ? array(ranks, static_cast<std::size_t>(size)) : -1;
}

std::int64_t Trace::array(const std::int64_t* values, std::size_t count, std::uint32_t kind) {
  const std::uint32_t number = arrays_.find_or_add(kind, values, count);
  return number == ListTable::no_room ? -1 : static_cast<std::int64_t>(number);
}

std::int64_t* Trace::Scratch::of(std::size_t count) {
  if (count <= capacity_) return items_;
  constexpr std::size_t least = 4096;
  const std::size_t wanted = std::max(2 * count, least);
  void* memory = mmap(nullptr, wanted * sizeof *items_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  if (items_ != nullptr) munmap(items_, capacity_ * sizeof *items_);
  items_ = static_cast<std::int64_t*>(memory);
  capacity_ = wanted;
  return items_;
}

}  // namespace commlens::profile
