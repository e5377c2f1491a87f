// Numbers are small integers, so that sums are exact in every type. In u8 they stay below 256: Open MPI's vectorized
// sums saturate where others wrap around.
#include "benchmarks/one_sided/operations.hpp"

#include <algorithm>
#include <string>

#include "device/launch.hpp"
#include "device/upload.hpp"
#include "harness/pattern.hpp"

namespace commlens::one_sided {

namespace {

using transport::Window;

constexpr std::size_t exact_sums = 100'000;    // times 50 is within the 24 bits of f32
constexpr std::size_t exact_sums_of_u8 = 200;  // of 0 or 1, after 50
constexpr std::uint64_t of_window = 1;
constexpr std::uint64_t of_local = 2;

const std::byte* at(const device::Buffer& buffer, std::size_t offset) { return buffer.as<std::byte>() + offset; }

/// From 1 to 50; 0 or 1 where bytes are added.
template <class T>
COMMLENS_FUNCTION T number(std::size_t i, std::uint64_t seed, std::uint64_t which) {
  const std::uint64_t mixed = pattern::mix(i, pattern::mix(which, seed));
  return static_cast<T>(sizeof(T) == 1 && which == of_local ? mixed % 2 : 1 + mixed % 50);
}

// What is where, by index.

template <class T>
struct Number {
  std::uint64_t seed;
  std::uint64_t which;
  COMMLENS_FUNCTION T operator()(std::size_t i) const { return number<T>(i, seed, which); }
};

/// The window's numbers, after `times` sums with those of the origin.
template <class T>
struct Sum {
  std::uint64_t target;
  std::uint64_t origin;
  std::size_t times;
  COMMLENS_FUNCTION T operator()(std::size_t i) const {
    return static_cast<T>(number<T>(i, target, of_window) + static_cast<T>(times) * number<T>(i, origin, of_local));
  }
};

/// The first number of the window, as operation i finds it.
template <class T>
struct Count {
  std::uint64_t target;
  std::uint64_t origin;
  COMMLENS_FUNCTION T operator()(std::size_t i) const {
    return static_cast<T>(number<T>(0, target, of_window) + static_cast<T>(i) * number<T>(0, origin, of_local));
  }
};

/// One more for each swap: every other comparison is to fail. `shift` is 1, or 0 for the numbers without failures.
template <class T>
struct Swaps {
  std::uint64_t target;
  unsigned shift;
  COMMLENS_FUNCTION T operator()(std::size_t i) const {
    return static_cast<T>(number<T>(0, target, of_window) + static_cast<T>((i + shift) >> shift));
  }
};

template <class T>
struct Poison {
  COMMLENS_FUNCTION T operator()(std::size_t /*i*/) const { return static_cast<T>(-1); }
};

template <class T, class Values>
void write(device::Stream& stream, const device::Buffer& buffer, std::size_t count, Values values) {
  T* data = buffer.as<T>();
  device::launch(stream, count, COMMLENS_LAMBDA(std::size_t i) { data[i] = values(i); });
}

/// From element `begin` on.
template <class T, class Values>
Verdict expect(device::Stream& stream, const char* what, const device::Buffer& buffer, std::size_t count, Values values,
               std::size_t begin = 0) {
  const T* data = buffer.as<T>();
  const std::size_t wrong =
      device::find_first(stream, count, COMMLENS_LAMBDA(std::size_t i) { return data[i] != values(i + begin); });
  if (wrong == count) return {.elements = count};
  return {.elements = count,
          .error = "element " + std::to_string(wrong) + " of " + std::to_string(count) + " " + what + " is " +
                   std::to_string(device::download(data + wrong, stream)) + ", must be " +
                   std::to_string(values(wrong + begin))};
}

constexpr const char* in_window = "in the window";
constexpr const char* fetched = "that were fetched";

void fill_put(device::Stream& stream, const Memory& memory, const Seeds& seeds) {
  pattern::write_bytes(stream, memory.local, seeds.mine);
  pattern::poison_bytes(stream, memory.window, seeds.partners);
}
void fill_get(device::Stream& stream, const Memory& memory, const Seeds& seeds) {
  pattern::write_bytes(stream, memory.window, seeds.mine);
  pattern::poison_bytes(stream, memory.local, seeds.partners);
}
void fill_sum(device::Stream& stream, const Memory& memory, const Seeds& seeds) {
  with_element(memory.type, [&](auto zero) {
    using T = decltype(zero);
    write<T>(stream, memory.window, memory.elements(), Number<T>{seeds.mine, of_window});
    write<T>(stream, memory.local, memory.elements(), Number<T>{seeds.mine, of_local});
    write<T>(stream, memory.before, memory.before.bytes() / sizeof(T), Poison<T>{});
  });
}
/// A comparison with an earlier number fails.
void fill_swap(device::Stream& stream, const Memory& memory, const Seeds& seeds) {
  fill_sum(stream, memory, seeds);
  with_element(memory.type, [&](auto zero) {
    using T = decltype(zero);
    write<T>(stream, memory.local, memory.local.bytes() / sizeof(T), Swaps<T>{seeds.partners, 0});
  });
}

void issue_put(Window& window, const Memory& memory, int target, std::size_t number) {
  window.put(at(memory.local, number * memory.step), memory.bytes, target, number * memory.step);
}
void issue_get(Window& window, const Memory& memory, int target, std::size_t number) {
  window.get(memory.local.as<std::byte>() + number * memory.step, memory.bytes, target, number * memory.step);
}
void issue_accumulate(Window& window, const Memory& memory, int target, std::size_t /*count*/) {
  window.accumulate(memory.local.data(), memory.elements(), memory.type, target);
}
void issue_get_accumulate(Window& window, const Memory& memory, int target, std::size_t /*count*/) {
  window.get_accumulate(memory.local.data(), memory.before.data(), memory.elements(), memory.type, target);
}
void issue_fetch_and_op(Window& window, const Memory& memory, int target, std::size_t number) {
  window.fetch_and_add(memory.local.data(), memory.before.as<std::byte>() + number * memory.bytes, memory.type, target);
}
void issue_compare_and_swap(Window& window, const Memory& memory, int target, std::size_t number) {
  const std::size_t present = (number + 1) / 2;  // its place among the local numbers
  const std::size_t expected = number % 2 == 0 ? present : present - 1;
  window.compare_and_swap(at(memory.local, (present + 1) * memory.bytes), at(memory.local, expected * memory.bytes),
                          memory.before.as<std::byte>() + number * memory.bytes, memory.type, target);
}

Verdict verify_put(device::Stream& stream, const Memory& memory, const Seeds& seeds, std::size_t /*operations*/) {
  return pattern::expect_bytes(stream, memory.window, seeds.partners);
}
Verdict verify_get(device::Stream& stream, const Memory& memory, const Seeds& seeds, std::size_t /*operations*/) {
  return pattern::expect_bytes(stream, memory.local, seeds.partners);
}
Verdict verify_sum(device::Stream& stream, const Memory& memory, const Seeds& seeds, std::size_t operations) {
  return with_element(memory.type, [&](auto zero) {
    using T = decltype(zero);
    return expect<T>(stream, in_window, memory.window, memory.elements(),
                     Sum<T>{seeds.mine, seeds.partners, operations});
  });
}
Verdict verify_sum_before(device::Stream& stream, const Memory& memory, const Seeds& seeds, std::size_t operations) {
  return with_element(memory.type, [&](auto zero) {
    using T = decltype(zero);
    return expect<T>(stream, fetched, memory.before, memory.elements(),
                     Sum<T>{seeds.partners, seeds.mine, operations - 1});
  });
}
Verdict verify_counts(device::Stream& stream, const Memory& memory, const Seeds& seeds, std::size_t operations) {
  return with_element(memory.type, [&](auto zero) {
    using T = decltype(zero);
    return expect<T>(stream, fetched, memory.before, operations, Count<T>{seeds.partners, seeds.mine});
  });
}
Verdict verify_swaps(device::Stream& stream, const Memory& memory, const Seeds& seeds, std::size_t operations) {
  return with_element(memory.type, [&](auto zero) {
    using T = decltype(zero);
    return expect<T>(stream, fetched, memory.before, operations, Swaps<T>{seeds.partners, 1});
  });
}
Verdict verify_last_swap(device::Stream& stream, const Memory& memory, const Seeds& seeds, std::size_t operations) {
  return with_element(memory.type, [&](auto zero) {
    using T = decltype(zero);
    return expect<T>(stream, in_window, memory.window, 1, Swaps<T>{seeds.mine, 1}, operations);
  });
}

/// No constant to the compiler: clang puts constants of a file with kernels on the GPU, too, where the functions are
/// not.
Operation on_host(const Operation& operation) { return operation; }

}  // namespace

std::size_t most_operations(const Operation& operation, transport::AtomicType type) {
  std::size_t most = operation.fetches ? most_fetches : static_cast<std::size_t>(-1);
  if (operation.sums) most = std::min(most, type == transport::AtomicType::u8 ? exact_sums_of_u8 : exact_sums);
  return most;
}

const Operation put = on_host({.name = "put", .issue = issue_put, .fill = fill_put, .verify_target = verify_put});
const Operation get = on_host({.name = "get", .issue = issue_get, .fill = fill_get, .verify_origin = verify_get});
const Operation accumulate = on_host(
    {.name = "accumulate", .sums = true, .issue = issue_accumulate, .fill = fill_sum, .verify_target = verify_sum});
const Operation get_accumulate = on_host({.name = "get-accumulate",
                                          .exclusive = true,
                                          .exclusive_epoch = true,
                                          .sums = true,
                                          .issue = issue_get_accumulate,
                                          .fill = fill_sum,
                                          .verify_origin = verify_sum_before,
                                          .verify_target = verify_sum});
const Operation fetch_and_op = on_host({.name = "fetch-and-op",
                                        .exclusive = true,
                                        .sums = true,
                                        .fetches = true,
                                        .issue = issue_fetch_and_op,
                                        .fill = fill_sum,
                                        .verify_origin = verify_counts,
                                        .verify_target = verify_sum});
const Operation compare_and_swap = on_host({.name = "compare-and-swap",
                                            .exclusive = true,
                                            .fetches = true,
                                            .issue = issue_compare_and_swap,
                                            .fill = fill_swap,
                                            .verify_origin = verify_swaps,
                                            .verify_target = verify_last_swap});

}  // namespace commlens::one_sided
