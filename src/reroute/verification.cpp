#include "verification.hpp"

#include <atomic>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "report.hpp"

namespace commlens::reroute {

constinit Difference differences[max_differences] = {};
constinit std::atomic<int> difference_count = 0;

namespace {

template <class Number>
double value_at(const char* elements, std::uint64_t index) {
  Number number;
  std::memcpy(&number, elements + index * sizeof number, sizeof number);
  return static_cast<double>(number);
}

double floating_at(CclType type, const char* elements, std::uint64_t index) {
  return type == CclType::float32 ? value_at<float>(elements, index) : value_at<double>(elements, index);
}

template <class Number>
void make_absolute(char* elements, std::uint64_t count) {
  for (std::uint64_t index = 0; index < count; ++index) {
    Number number;
    std::memcpy(&number, elements + index * sizeof number, sizeof number);
    number = std::fabs(number);
    std::memcpy(elements + index * sizeof number, &number, sizeof number);
  }
}

/// An element as text: a number where the type is one of NCCL's, else its bytes.
void print_element(CclType type, const char* element, std::uint64_t size, char (&text)[32]) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, element, size < sizeof bits ? size : sizeof bits);
  switch (type) {
    case CclType::float32:
      std::snprintf(text, sizeof text, "%.9g", floating_at(type, element, 0));
      break;
    case CclType::float64:
      std::snprintf(text, sizeof text, "%.17g", floating_at(type, element, 0));
      break;
    case CclType::int8:
      std::snprintf(text, sizeof text, "%d", static_cast<int>(static_cast<signed char>(bits)));
      break;
    case CclType::int32:
      std::snprintf(text, sizeof text, "%d", static_cast<int>(bits));
      break;
    case CclType::int64:
      std::snprintf(text, sizeof text, "%lld", static_cast<long long>(bits));
      break;
    case CclType::none:
      std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(bits));
      break;
    default:
      std::snprintf(text, sizeof text, "%llu", static_cast<unsigned long long>(bits));
  }
}

}  // namespace

Verification::Verification(const Arguments& arguments, const Operands& operands, const Signature& signature,
                           Device& device)
    : arguments_(arguments),
      operands_(operands),
      signature_(signature),
      device_(device),
      is_on_(reroute.settings.verify),
      call_(preload::value_of(reroute.tally(arguments.function).calls)) {}

bool Verification::begin() {
  if (!is_on_) return true;
  const ScopedTime time(ticks_, reroute.adder());
  reroute.mpi.comm_size(arguments_.comm, &ranks_);
  const Side& written = written_side(operands_);
  const Side::Span span = written.span();
  char* base = nullptr;
  if (span.bytes != 0) {
    second_ = device_.memory.take(span.bytes);
    is_second_on_host_ = second_ == nullptr;  // the other ranks are within MPI's call in any case
    if (is_second_on_host_) second_ = std::malloc(span.bytes);
    if (second_ == nullptr || !device_.copy(second_, span.begin, span.bytes)) return false;
    base = static_cast<char*>(second_) + (written.base - span.begin);
  }
  const bool is_scatter_in_place = operands_.is_in_place && operands_.receive.blocks == 0;
  Arguments again = is_scatter_in_place ? arguments_ : with_buffers(arguments_, nullptr, base);
  if (is_nonblocking(arguments_.function)) again.request = &requests_[request_count_++];
  if (!begin_bound()) return false;
  return pass_on(again) == MPI_SUCCESS;
}

/// The same reduction of the absolute values, on the host.
bool Verification::begin_bound() {
  const bool is_sum = signature_.reduction == Reduction::sum && is_floating(signature_.type);
  if (!is_sum) return true;
  const std::uint64_t bytes = operands_.send.total();
  absolute_ = std::malloc(bytes);
  absolute_sums_ = std::malloc(bytes);
  if (absolute_ == nullptr || absolute_sums_ == nullptr) return false;
  auto* values = static_cast<char*>(absolute_);
  if (!device_.copy(values, operands_.send.base, bytes)) return false;
  const std::uint64_t count = operands_.send.elements(0);
  if (signature_.type == CclType::float32) {
    make_absolute<float>(values, count);
  } else {
    make_absolute<double>(values, count);
  }
  Arguments bound = arguments_;
  bound.sendbuf = absolute_;
  bound.recvbuf = absolute_sums_;
  if (is_nonblocking(arguments_.function)) bound.request = &requests_[request_count_++];
  return pass_on(bound) == MPI_SUCCESS;
}

bool Verification::is_done() {
  while (request_count_ > 0) {
    int is_complete = 0;
    reroute.mpi.test(&requests_[request_count_ - 1], &is_complete, MPI_STATUS_IGNORE);
    if (is_complete == 0) return false;
    --request_count_;
  }
  return true;
}

/// Two sums of the same numbers in another order differ by less than twice the bound of the error of each.
bool Verification::is_within_bound(double expected, double found, std::uint64_t element) const {
  if (expected == found || (std::isnan(expected) && std::isnan(found))) return true;
  const double unit = signature_.type == CclType::float32 ? FLT_EPSILON : DBL_EPSILON;
  double magnitude = std::fabs(expected);
  if (absolute_sums_ != nullptr) {
    magnitude = floating_at(signature_.type, static_cast<const char*>(absolute_sums_), element);
  }
  return std::fabs(expected - found) <= 2 * ranks_ * unit * magnitude;
}

void Verification::compare_block(const char* expected, const char* found, std::uint64_t first, std::uint64_t elements) {
  const bool is_rounded = is_floating(signature_.type) &&
                          (signature_.reduction == Reduction::sum || signature_.reduction == Reduction::product);
  const std::uint64_t size = operands_.receive.layout.size;
  if (std::memcmp(expected, found, elements * size) == 0) return;
  for (std::uint64_t index = 0; index < elements; ++index) {
    const char* one = expected + index * size;
    const char* other = found + index * size;
    if (std::memcmp(one, other, size) == 0) continue;
    if (is_floating(signature_.type) && !is_rounded &&
        floating_at(signature_.type, one, 0) == floating_at(signature_.type, other, 0)) {
      continue;  // zeros of both signs
    }
    const bool is_near = is_rounded && is_within_bound(floating_at(signature_.type, one, 0),
                                                       floating_at(signature_.type, other, 0), first + index);
    if (is_near) continue;
    char expected_text[32];
    char found_text[32];
    const CclType type = signature_.type != CclType::none ? signature_.type : ccl_type_of(operands_.receive.type);
    print_element(type, one, size, expected_text);
    print_element(type, other, size, found_text);
    report(first + index, expected_text, found_text);
    return;
  }
}

void Verification::report(std::uint64_t element, const char* expected, const char* found) const {
  const int number = difference_count.load(std::memory_order_relaxed);
  if (number == max_differences) return;
  Difference& difference = differences[number];
  difference.function = arguments_.function;
  difference.call = call_;
  difference.element = element;
  std::snprintf(difference.expected, sizeof difference.expected, "%s", expected);
  std::snprintf(difference.found, sizeof difference.found, "%s", found);
  difference_count.store(number + 1, std::memory_order_release);
  print_line("--verify: %s, call %llu, rank %d, element %llu: %s by MPI, %s rerouted",
             function_names[static_cast<int>(arguments_.function)], static_cast<unsigned long long>(call_),
             reroute.rank, static_cast<unsigned long long>(element), expected, found);
}

void Verification::compare() {
  const Side& received = operands_.receive;
  if (!is_on_ || received.total() == 0 || !received.layout.is_dense) return;
  const Side::Span span = written_side(operands_).span();
  const ScopedTime time(ticks_, reroute.adder());
  std::uint64_t element = 0;
  for (int block = 0; block < received.blocks; ++block) {
    const std::uint64_t bytes = received.bytes(block);
    auto* expected = static_cast<char*>(std::malloc(bytes + 1));
    auto* found = static_cast<char*>(std::malloc(bytes + 1));
    const char* second = static_cast<const char*>(second_) + (received.address(block) - span.begin);
    const bool is_copied = expected != nullptr && found != nullptr && device_.copy(expected, second, bytes) &&
                           device_.copy(found, received.address(block), bytes);
    if (is_copied) compare_block(expected, found, element, received.elements(block));
    std::free(expected);
    std::free(found);
    element += received.elements(block);
  }
  if (difference_count == 0) return;
  write_report(false);
  reroute.mpi.abort(reroute.mpi.world, 1);
}

void Verification::end() {
  if (is_second_on_host_) {
    std::free(second_);
  } else {
    device_.memory.give_back(second_);
  }
  std::free(absolute_);
  std::free(absolute_sums_);
}

}  // namespace commlens::reroute
