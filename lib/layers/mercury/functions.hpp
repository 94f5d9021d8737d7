// The functions that this process has registered.
#pragma once

#include <mercury_types.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "lib/concurrent/spinlock.hpp"

namespace mercury {

/// Never freed before HG_Finalize(), so that calls refer to it. Registering a name again changes the routines.
struct function {
  std::string name;
  hg_id_t id;
  uint32_t name_hash;
  hg_proc_cb_t in_proc;
  hg_proc_cb_t out_proc;
  hg_rpc_cb_t execute;
};

/// Thread-safe.
class function_table {
 public:
  static hg_id_t id_of(const char* name);
  static uint32_t hash_of(const char* name);

  /// The function; null if another name has its id.
  const function* add(const char* name, hg_proc_cb_t in, hg_proc_cb_t out, hg_rpc_cb_t execute);
  const function* find(hg_id_t id) const;

 private:
  mutable lci::spinlock lock_;
  std::unordered_map<hg_id_t, std::unique_ptr<function>> functions_;
};

}  // namespace mercury
