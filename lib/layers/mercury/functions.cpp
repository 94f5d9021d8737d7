#include "lib/layers/mercury/functions.hpp"

namespace mercury {

hg_id_t function_table::id_of(const char* name) {
  hg_id_t h = 5381;
  for (; *name != 0; ++name) h = h * 33 + static_cast<hg_id_t>(static_cast<unsigned char>(*name));
  return h;
}

uint32_t function_table::hash_of(const char* name) {  // FNV-1a
  uint32_t h = 2166136261;
  for (; *name != 0; ++name) h = (h ^ static_cast<unsigned char>(*name)) * 16777619;
  return h;
}

const function* function_table::add(const char* name, hg_proc_cb_t in, hg_proc_cb_t out, hg_rpc_cb_t execute) {
  const hg_id_t id = id_of(name);
  auto made = std::make_unique<function>(function{name, id, hash_of(name), in, out, execute});
  std::lock_guard guard(lock_);
  auto& entry = functions_[id];
  if (entry == nullptr) {
    entry = std::move(made);
  } else {
    if (entry->name != name || id == 0) return nullptr;
    entry->in_proc = in;
    entry->out_proc = out;
    if (execute != nullptr) entry->execute = execute;
  }
  return entry.get();
}

const function* function_table::find(hg_id_t id) const {
  std::lock_guard guard(lock_);
  const auto found = functions_.find(id);
  return found != functions_.end() ? found->second.get() : nullptr;
}

}  // namespace mercury
