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

/// Never freed before HG_Finalize(), so that calls refer to it. Registering a name again changes the routines.
struct function {
  std::string name;
  hg_id_t id;
  uint32_t name_hash;
  hg_proc_cb_t in_proc;
  hg_proc_cb_t out_proc;
  hg_rpc_cb_t execute;
  const function* next = nullptr;  // at the same place in the table
};

/// Thread-safe.
class function_table {
 public:
  static hg_id_t id_of(const char* name);
  static uint32_t hash_of(const char* name);

  /// The function; null if another name has its id.
  const function* add(const char* name, hg_proc_cb_t in, hg_proc_cb_t out, hg_rpc_cb_t execute);
  const function* find(hg_id_t id) const {
    const function* f = first_[id % places].load(std::memory_order_acquire);  // A1
    while (f != nullptr && f->id != id) f = f->next;
    return f;
  }

 private:
  // So many places, by the last bits of the id, that each call finds its function at once.
  static constexpr size_t places = 1024;

  std::mutex lock_;  // of adding
  // R1: a function is complete when it is published, and `next` does not change; A1: acquire by whoever looks for one.
  std::array<std::atomic<function*>, places> first_{};
  std::vector<std::unique_ptr<function>> all_;  // under lock_
};

}  // namespace mercury
