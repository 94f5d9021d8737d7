#include "lib/layers/armci/groups.hpp"

#include <algorithm>
#include <climits>
#include <numeric>
#include <utility>

#include "lib/layers/armci/errors.hpp"

namespace armci_layer {

namespace {

/// A variable of the program's that was never set is none of ours, whatever it contains.
constexpr int first_id = 0x41524d00;

uint64_t key_of(const std::vector<int>& members) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const int m : members) hash = (hash ^ static_cast<uint64_t>(m)) * 0x100000001b3u;
  return hash;
}

}  // namespace

group::group(std::vector<int> processes, int proc)
    : members(std::move(processes)), me(rank_of(proc)), key(key_of(members)) {}

int group::rank_of(int proc) const {
  const auto found = std::find(members.begin(), members.end(), proc);
  return found == members.end() ? -1 : static_cast<int>(found - members.begin());
}

group_table::group_table(int me, int n) : me_(me), latest_id_(first_id) {
  std::vector<int> all(static_cast<size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  the_world_ = (groups_[first_id] = std::make_unique<group>(std::move(all), me)).get();
  world_.id = first_id;
  comms_ = find_communicators();  // tells the user now what is missing
  if (usable_communicators() != nullptr) comms_->of_world(&world_.comm_ptr);
  world_.rank = me;
  world_.size = n;
  default_ = world_;
}

const communicators* group_table::usable_communicators() {
  if (comms_ == nullptr) comms_ = find_communicators();
  return comms_ != nullptr && comms_->is_usable() ? comms_ : nullptr;
}

const group* group_table::find(const ARMCI_Group* g) {
  if (g == nullptr) return nullptr;
  const std::lock_guard guard(mutex_);
  const auto found = groups_.find(g->id);
  return found != groups_.end() ? found->second.get() : nullptr;
}

void group_table::make(const std::vector<int>& members, ARMCI_Group* out) {
  ARMCI_Group made{};
  made.size = static_cast<int>(members.size());
  // The other members may wait for this one in MPI.
  auto g = insist([&] { return std::make_unique<group>(members, me_); });
  if (g->me < 0) g = insist([&] { return std::make_unique<group>(std::vector<int>(), me_); });  // a group of nobody
  made.rank = g->me;
  made.size = g->size();
  std::unique_lock guard(mutex_);
  if (const communicators* const comms = usable_communicators(); comms != nullptr && g->me >= 0) {
    guard.unlock();  // it waits for the other members
    comms->of_members(&made.comm_ptr, g->members.data(), g->size());
    guard.lock();
  }
  do latest_id_ = latest_id_ < INT_MAX ? latest_id_ + 1 : first_id + 1;
  while (groups_.count(latest_id_) != 0);
  made.id = latest_id_;
  insist([&] { return &groups_[made.id]; })->swap(g);
  *out = made;
}

void group_table::release(ARMCI_Group* g) {
  if (g == nullptr || g->id == first_id) return;
  std::unique_ptr<group> ended;
  const communicators* comms = nullptr;
  {
    const std::lock_guard guard(mutex_);
    const auto found = groups_.find(g->id);
    if (found == groups_.end()) return;
    ended = std::move(found->second);
    groups_.erase(found);
    if (default_.id == g->id) default_ = world_;
    comms = usable_communicators();
  }
  if (ended->me >= 0 && comms != nullptr && g->comm_ptr != nullptr) comms->release(&g->comm_ptr);
  g->id = 0;
  g->rank = -1;
  g->size = 0;
}

void group_table::world(ARMCI_Group* out) {
  const std::lock_guard guard(mutex_);
  if (world_.comm_ptr == nullptr)
    if (const communicators* const comms = usable_communicators()) comms->of_world(&world_.comm_ptr);
  *out = world_;
}
void group_table::get_default(ARMCI_Group* out) {
  {
    const std::lock_guard guard(mutex_);
    *out = default_;
  }
  if (out->id == first_id) world(out);
}
void group_table::set_default(const ARMCI_Group* g) {
  const std::lock_guard guard(mutex_);
  default_ = *g;
}

}  // namespace armci_layer
