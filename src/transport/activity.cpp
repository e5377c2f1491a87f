#include "transport/activity.hpp"

namespace commlens {

namespace {
Activity before_sharing;
std::atomic<Activity*> current{&before_sharing};
}  // namespace

Activity& activity() { return *current.load(std::memory_order_relaxed); }

void set_activity(Activity& shared) { current.store(&shared, std::memory_order_release); }

}  // namespace commlens
