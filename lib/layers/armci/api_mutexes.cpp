// Mutexes, and the lock of a range of memory.
#include <algorithm>
#include <memory>

#include "armci/armcix.h"
#include "armci/parmci.h"
#include "lib/layers/armci/api.hpp"

using namespace armci_layer;

namespace {

constexpr int most_mutexes = 32768;

const mutex_set& of_world(const char* function, context& c) {
  if (!c.world_mutexes) misuse(function, "there are no mutexes: call ARMCI_Create_mutexes first");
  return *c.world_mutexes;
}
uint64_t number_of(armcix_mutex_hdl_t hdl) { return reinterpret_cast<uintptr_t>(hdl); }
[[noreturn]] void refuse_handle(const char* function) {
  misuse(function, "hdl is no result of ARMCIX_Create_mutexes_hdl, or was destroyed");
}
const mutex_set& of_handle(const char* function, context& c, armcix_mutex_hdl_t hdl) {
  const group_mutexes* const found = c.mutex_sets.find(number_of(hdl));
  if (found == nullptr) refuse_handle(function);
  return found->set;
}

/// The stripes that this thread has locked for its program, and not unlocked.
struct locked_range {
  const context* of = nullptr;  ///< null: none are locked. The stripes end with the context
  int proc = 0;
  size_t first = 0, n = 0;
};
thread_local locked_range locked;

template <class F>
void for_each_stripe(context& c, const locked_range& r, F f) {
  stripes& locks = c.mem.locks_of(r.proc);
  // In ascending order, as everybody who locks several.
  for (size_t i = 0; i < stripes::n; ++i)
    if ((i + stripes::n - r.first % stripes::n) % stripes::n < r.n) f(locks.at(i));
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
    auto made = std::make_unique<group_mutexes>();
    made->of = members;
    made->set = c.create_mutexes(members, my_count);
    c.mutex_sets.add(made.get());
    return reinterpret_cast<armcix_mutex_hdl_t>(static_cast<uintptr_t>(made.release()->number));
  });
}

int ARMCIX_Destroy_mutexes_hdl(armcix_mutex_hdl_t hdl) {
  constexpr const char* me = "ARMCIX_Destroy_mutexes_hdl";
  return or_code(me, [&] {
    context& c = running();
    const std::unique_ptr<group_mutexes> ended(c.mutex_sets.remove(number_of(hdl)));
    if (ended == nullptr) refuse_handle(me);
    c.destroy_mutexes(ended->of, ended->set);
    return 0;
  });
}

void ARMCIX_Lock_hdl(armcix_mutex_hdl_t hdl, int mutex, int proc) {
  constexpr const char* me = "ARMCIX_Lock_hdl";
  context& c = running(me);
  c.locks.lock(me, of_handle(me, c, hdl), mutex, proc);
}
int ARMCIX_Trylock_hdl(armcix_mutex_hdl_t hdl, int mutex, int proc) {
  constexpr const char* me = "ARMCIX_Trylock_hdl";
  context& c = running(me);
  return c.locks.try_lock(me, of_handle(me, c, hdl), mutex, proc) ? 0 : 1;
}
void ARMCIX_Unlock_hdl(armcix_mutex_hdl_t hdl, int mutex, int proc) {
  constexpr const char* me = "ARMCIX_Unlock_hdl";
  context& c = running(me);
  c.locks.unlock(me, of_handle(me, c, hdl), mutex, proc);
}

void armci_lockmem(void* start, void* end, int proc) {
  context& c = running("armci_lockmem");
  check_proc("armci_lockmem", c, proc);
  if (!c.mem.is_near(proc))
    misuse("armci_lockmem", "process " + std::to_string(proc) + " is on another host: use ARMCI_Lock");
  if (locked.of == &c) misuse("armci_lockmem", "this thread has locked memory: call armci_unlockmem first");
  const auto begin = reinterpret_cast<uint64_t>(start), last = reinterpret_cast<uint64_t>(end);
  if (last < begin) misuse("armci_lockmem", "the range ends before it begins");
  locked.of = &c;
  locked.proc = proc;
  locked.first = begin / stripes::block;
  locked.n = std::min<uint64_t>(last / stripes::block - locked.first + 1, stripes::n);
  for_each_stripe(c, locked, lock_stripe);
}

void armci_unlockmem(void) {
  context& c = running("armci_unlockmem");
  if (locked.of != &c) misuse("armci_unlockmem", "this thread has locked no memory: call armci_lockmem first");
  for_each_stripe(c, locked, [](stripe& s) { pthread_mutex_unlock(&s.mutex); });
  locked.of = nullptr;
}

}  // extern "C"
