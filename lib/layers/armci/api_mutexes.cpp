// Mutexes, and the lock of a range of memory.
#include <algorithm>
#include <memory>

#include "armci/armcix.h"
#include "armci/parmci.h"
#include "lib/layers/armci/api.hpp"

using namespace armci_layer;

struct armcix_mutex_set {
  mutex_set set;
  const group* of;
};

namespace {

constexpr int most_mutexes = 32768;

const mutex_set& of_world(const char* function, context& c) {
  if (!c.world_mutexes) misuse(function, "there are no mutexes: call ARMCI_Create_mutexes first");
  return *c.world_mutexes;
}
const armcix_mutex_set& checked(const char* function, armcix_mutex_hdl_t hdl) {
  if (hdl == nullptr) misuse(function, "hdl is NULL, but must be a result of ARMCIX_Create_mutexes_hdl");
  return *hdl;
}

/// The stripes that this thread has locked for its program, and not unlocked.
struct locked_range {
  stripes* locks = nullptr;
  size_t first = 0, n = 0;
};
thread_local locked_range locked;

template <class F>
void for_each_stripe(const locked_range& r, F f) {
  // In ascending order, as everybody who locks several.
  for (size_t i = 0; i < stripes::n; ++i)
    if ((i + stripes::n - r.first % stripes::n) % stripes::n < r.n) f(r.locks->at(i));
}

}  // namespace

extern "C" {

int PARMCI_Create_mutexes(int count) {
  return or_code("ARMCI_Create_mutexes", [&] {
    context& c = running();
    if (c.world_mutexes) misuse("ARMCI_Create_mutexes", "there are mutexes already: call ARMCI_Destroy_mutexes first");
    if (count < 0 || count > most_mutexes)
      c.refuse_to_allocate(
          c.world(), {FAIL, "count = " + std::to_string(count) + ", but must be 0.." + std::to_string(most_mutexes)});
    try {
      c.world_mutexes = c.create_mutexes(c.world(), count);
    } catch (const error& e) {
      throw error(FAIL2, e.what());
    }
    return 0;
  });
}
ARMCI_TWIN(Create_mutexes);

int PARMCI_Destroy_mutexes(void) {
  return or_code("ARMCI_Destroy_mutexes", [] {
    context& c = running();
    if (!c.world_mutexes) misuse("ARMCI_Destroy_mutexes", "there are no mutexes: call ARMCI_Create_mutexes first");
    mutex_set set = std::move(*c.world_mutexes);
    c.world_mutexes.reset();
    c.destroy_mutexes(c.world(), set);
    return 0;
  });
}
ARMCI_TWIN(Destroy_mutexes);

void PARMCI_Lock(int mutex, int proc) {
  context& c = running("ARMCI_Lock");
  c.locks.lock("ARMCI_Lock", of_world("ARMCI_Lock", c), mutex, proc);
}
ARMCI_TWIN(Lock);

void PARMCI_Unlock(int mutex, int proc) {
  context& c = running("ARMCI_Unlock");
  c.locks.unlock("ARMCI_Unlock", of_world("ARMCI_Unlock", c), mutex, proc);
}
ARMCI_TWIN(Unlock);

armcix_mutex_hdl_t ARMCIX_Create_mutexes_hdl(int my_count, ARMCI_Group* g) {
  constexpr const char* me = "ARMCIX_Create_mutexes_hdl";
  return or_end(me, [&] {
    context& c = running(me);
    const group& members = member_of(me, c, g);
    if (my_count < 0 || my_count > most_mutexes)
      misuse(me, "my_count = " + std::to_string(my_count) + ", but must be 0.." + std::to_string(most_mutexes));
    auto made = std::make_unique<armcix_mutex_set>();
    made->set = c.create_mutexes(members, my_count);
    made->of = &members;
    return made.release();
  });
}

int ARMCIX_Destroy_mutexes_hdl(armcix_mutex_hdl_t hdl) {
  return or_code("ARMCIX_Destroy_mutexes_hdl", [&] {
    checked("ARMCIX_Destroy_mutexes_hdl", hdl);
    const std::unique_ptr<armcix_mutex_set> ended(hdl);
    running().destroy_mutexes(*ended->of, ended->set);
    return 0;
  });
}

void ARMCIX_Lock_hdl(armcix_mutex_hdl_t hdl, int mutex, int proc) {
  running("ARMCIX_Lock_hdl").locks.lock("ARMCIX_Lock_hdl", checked("ARMCIX_Lock_hdl", hdl).set, mutex, proc);
}
int ARMCIX_Trylock_hdl(armcix_mutex_hdl_t hdl, int mutex, int proc) {
  constexpr const char* me = "ARMCIX_Trylock_hdl";
  return running(me).locks.try_lock(me, checked(me, hdl).set, mutex, proc) ? 0 : 1;
}
void ARMCIX_Unlock_hdl(armcix_mutex_hdl_t hdl, int mutex, int proc) {
  running("ARMCIX_Unlock_hdl").locks.unlock("ARMCIX_Unlock_hdl", checked("ARMCIX_Unlock_hdl", hdl).set, mutex, proc);
}

void armci_lockmem(void* start, void* end, int proc) {
  context& c = running("armci_lockmem");
  check_proc("armci_lockmem", c, proc);
  if (!c.mem.is_near(proc))
    misuse("armci_lockmem", "process " + std::to_string(proc) + " is on another host: use ARMCI_Lock");
  if (locked.locks != nullptr) misuse("armci_lockmem", "this thread has locked memory: call armci_unlockmem first");
  const auto begin = reinterpret_cast<uint64_t>(start), last = reinterpret_cast<uint64_t>(end);
  if (last < begin) misuse("armci_lockmem", "the range ends before it begins");
  locked.first = begin / stripes::block;
  locked.n = std::min<uint64_t>(last / stripes::block - locked.first + 1, stripes::n);
  locked.locks = &c.mem.locks_of(proc);
  for_each_stripe(locked, lock_stripe);
}

void armci_unlockmem(void) {
  if (locked.locks == nullptr) misuse("armci_unlockmem", "this thread has locked no memory: call armci_lockmem first");
  for_each_stripe(locked, [](stripe& s) { pthread_mutex_unlock(&s.mutex); });
  locked.locks = nullptr;
}

}  // extern "C"
