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
  if (id == 0) return nullptr;
  std::lock_guard guard(lock_);
  std::atomic<function*>& first = first_[id % places];
  for (const auto& f : all_) {
    if (f->id != id) continue;
    if (f->name != name) return nullptr;
    f->in_proc = in;
    f->out_proc = out;
    if (execute != nullptr) f->execute = execute;
    return f.get();
  }
  all_.push_back(std::make_unique<function>(function{name, id, hash_of(name), in, out, execute}));
  function* const made = all_.back().get();
  made->next = first.load(std::memory_order_relaxed);
  first.store(made, std::memory_order_release);  // R1
  return made;
}

}  // namespace mercury
