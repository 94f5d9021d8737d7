// The functions that this process has registered.
#pragma once

#include <mercury_types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace mercury {

/// A registered function. Freed by HG_Finalize() only, since calls refer to it. Registering its name again replaces its
/// routines.
struct function {
  std::string name;
  hg_id_t id;
  uint32_t name_hash;
  hg_proc_cb_t in_proc;
  hg_proc_cb_t out_proc;
  hg_rpc_cb_t execute;
  const function* next = nullptr;  // in the same hash bucket
};

/// The registered functions by id: a hash table. Thread-safe; finding takes no lock.
class function_table {
 public:
  static hg_id_t id_of(const char* name);
  static uint32_t hash_of(const char* name);

  /// Adds or changes a function and returns it. Returns null if a function with another name has the same id.
  const function* add(const char* name, hg_proc_cb_t in, hg_proc_cb_t out, hg_rpc_cb_t execute);
  const function* find(hg_id_t id) const {
    const function* f = first_[id % places].load(std::memory_order_acquire);  // A1
    while (f != nullptr && f->id != id) f = f->next;
    return f;
  }

 private:
  // Number of hash buckets; an id's last bits select one. Large, so that a bucket rarely holds more than one function.
  static constexpr size_t places = 1024;

  std::mutex lock_;  // guards adding
  // R1: release after a function has been initialized; `next` never changes. A1: acquire in find().
  std::array<std::atomic<function*>, places> first_{};
  std::vector<std::unique_ptr<function>> all_;  // under lock_
};

}  // namespace mercury
