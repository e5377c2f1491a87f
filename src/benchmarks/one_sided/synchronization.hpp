// How the two ranks of a pair synchronize around one-sided operations: the six ways of the OSU micro-benchmarks 7.
#pragma once

#include "base/enum_names.hpp"
#include "transport/window.hpp"

namespace commlens::one_sided {

/// Passive: only the origin takes part. `flush` and `flush_local` complete each operation within one long lock, `lock`
/// and `lock_all` lock for each. Active: both take part.
enum class Synchronization { flush, flush_local, lock, lock_all, fence, pscw };
ENUM_NAMES(Synchronization, {flush, "flush"}, {flush_local, "flush-local"}, {lock, "lock"}, {lock_all, "lock-all"},
           {fence, "fence"}, {pscw, "pscw"});

constexpr bool is_active(Synchronization kind) {
  return kind == Synchronization::fence || kind == Synchronization::pscw;
}

/// Epochs of a window, with the rank `target` of it. An epoch that `flush` or `flush_local` need is begun by begin();
/// the others are of each operation.
class Epochs {
 public:
  /// `exclusive`: the lock that `lock` takes; `exclusive_epoch`: that of the flushes.
  Epochs(transport::Window& window, Synchronization kind, int target, bool exclusive, bool exclusive_epoch)
      : window_(window), kind_(kind), target_(target), exclusive_(exclusive), exclusive_epoch_(exclusive_epoch) {}

  void begin() {
    if (!flushes()) return;
    window_.lock(target_, exclusive_epoch_);
    has_begun_ = true;
  }
  void end() {
    if (has_begun_) window_.unlock(target_);
    has_begun_ = false;
  }

  /// The first rank of the pair accesses the second one's memory.
  template <class Access>
  void one_way(bool first, Access access) {
    switch (kind_) {
      case Synchronization::fence:
        window_.fence();
        if (first) access();
        window_.fence();
        return;
      case Synchronization::pscw:
        return first ? access_between(access) : expose();
      default:
        if (first) passively(access);
    }
  }

  /// Then the second one the first one's. Active synchronization only.
  template <class Access>
  void round_trip(bool first, Access access) {
    if (kind_ == Synchronization::fence) {
      window_.fence();
      if (first) access();
      window_.fence();
      if (!first) access();
      window_.fence();
    } else if (first) {
      access_between(access);
      expose();
    } else {
      expose();
      access_between(access);
    }
  }

  /// Both at once. Active synchronization only.
  template <class Access>
  void both_ways(Access access) {
    if (kind_ == Synchronization::fence) return one_way(true, access);
    window_.post();
    access_between(access);
    window_.wait();
  }

 private:
  [[nodiscard]] bool flushes() const {
    return kind_ == Synchronization::flush || kind_ == Synchronization::flush_local;
  }

  template <class Access>
  void passively(Access access) {
    if (kind_ == Synchronization::lock) window_.lock(target_, exclusive_);
    if (kind_ == Synchronization::lock_all) window_.lock_all();
    access();
    if (kind_ == Synchronization::lock) window_.unlock(target_);
    if (kind_ == Synchronization::lock_all) window_.unlock_all();
    if (kind_ == Synchronization::flush) window_.flush(target_);
    if (kind_ == Synchronization::flush_local) window_.flush_local(target_);
  }

  template <class Access>
  void access_between(Access access) {
    window_.start();
    access();
    window_.complete();
  }

  void expose() {
    window_.post();
    window_.wait();
  }

  transport::Window& window_;
  Synchronization kind_;
  int target_;
  bool exclusive_;
  bool exclusive_epoch_;
  bool has_begun_ = false;
};

}  // namespace commlens::one_sided
