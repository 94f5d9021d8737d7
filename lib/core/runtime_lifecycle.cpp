// Allocating and freeing runtimes, and the process's default one.
#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "lib/base/call_watch.hpp"
#include "lib/base/check.hpp"
#include "lib/base/objects.hpp"
#include "lib/core/checking/inspection.hpp"
#include "lib/core/device.hpp"
#include "lib/core/net_context.hpp"
#include "lib/core/runtime.hpp"

namespace lci {

std::atomic<core::device*> detail::default_device{nullptr};

}  // namespace lci

namespace lci::core {

namespace {

std::mutex g_mutex;                // start and end of runtimes
std::vector<runtime*> g_runtimes;  // those alive, under g_mutex

// Held while the first global_initialize() allocates, so that the second finds a runtime.
std::mutex g_references_mutex;
int g_references = 0;             // of global_initialize(), under g_references_mutex
runtime* g_referenced = nullptr;  // what the first one has allocated, under g_references_mutex

void allocate_defaults(runtime_t rt, const net_context_attr_t& net_attr) {
  runtime& r = *rt.p_impl;
  auto context = alloc_net_context_x().runtime(rt);
  // One exchange for both.
  r.default_device_follows = r.attr.alloc_default_device && r.attr.alloc_default_packet_pool;
  r.default_net_context = context.attr(net_attr)();
  r.default_device_follows = false;
  if (r.attr.alloc_default_packet_pool) r.default_packet_pool = alloc_packet_pool_x().runtime(rt)();
  if (r.attr.alloc_default_matching_engine) {
    r.default_matching_engine = alloc_matching_engine_x().runtime(rt)();
    r.default_coll_matching_engine = alloc_matching_engine_x().runtime(rt)();
  }
  if (!r.attr.alloc_default_device) return;
  if (r.default_packet_pool.is_empty())
    throw_invalid("alloc_runtime", "alloc_default_device", "true",
                  "false where alloc_default_packet_pool is false", "a device needs a packet pool");
  r.default_device = alloc_device_x().runtime(rt)();
}

void free_defaults(runtime_t rt) {
  runtime& r = *rt.p_impl;
  r.service.reset();
  if (!r.default_device.is_empty()) free_device_x(&r.default_device).runtime(rt)();
  for (matching_engine_t* engine : {&r.default_coll_matching_engine, &r.default_matching_engine})
    if (!engine->is_empty()) free_matching_engine_x(engine).runtime(rt)();
  if (!r.default_packet_pool.is_empty()) free_packet_pool_x(&r.default_packet_pool).runtime(rt)();
  if (!r.default_net_context.is_empty()) free_net_context_x(&r.default_net_context).runtime(rt)();
}

runtime_t start(const runtime_attr_t& attr, const net_context_attr_t& net_attr) {
  auto rt = std::make_unique<runtime>(attr, net_attr);
  try {
    allocate_defaults(rt.get(), net_attr);
  } catch (...) {
    free_defaults(rt.get());
    throw;
  }
  std::lock_guard guard(g_mutex);
  g_runtimes.push_back(rt.get());
  return rt.release();
}

/// Devices of the user would be left with a runtime and a packet pool that are gone.
void require_no_devices(const char* operation, const runtime& rt) {
  size_t n = 0;
  for (size_t i = 0; i < rt.devices.size(); ++i) {
    const device* d = rt.devices.get(i);
    n += d != nullptr && d != rt.default_device.p_impl;
  }
  if (n > 0)
    throw_invalid(operation, "devices of the user", std::to_string(n), "0",
                  "free what was allocated in the runtime first");
}

void stop(const char* operation, runtime_t rt) {
  {
    std::lock_guard guard(g_mutex);
    const auto at = std::find(g_runtimes.begin(), g_runtimes.end(), rt.p_impl);
    if (at == g_runtimes.end())
      throw_invalid(operation, "runtime", "no runtime", "allocated and not yet freed",
                    "it may have been freed through a copy of the handle");
    if (tls_in_progress)
      throw_invalid(operation, "caller", "a handler", "outside of progress()",
                    "what called the handler still needs the runtime");
    require_no_devices(operation, *rt.p_impl);
    g_runtimes.erase(at);
  }
  runtime* expected = rt.p_impl;
  if (g_default_runtime.load(std::memory_order_acquire) == expected)
    detail::default_device.store(nullptr, std::memory_order_relaxed);
  // Handlers that run while the default device is freed may need the default runtime.
  free_defaults(rt);
  if (rt.p_impl->attr.check) report_leaks(*rt.p_impl);
  objects::forget_those_of(rt.p_impl);
  g_default_runtime.compare_exchange_strong(expected, nullptr, std::memory_order_acq_rel);
  delete rt.p_impl;
}

net_context_attr_t default_net_attr() { return alloc_net_context_x().args().attr; }

}  // namespace

runtime_t default_runtime() {
  runtime* rt = g_default_runtime.load(std::memory_order_acquire);
  if (LCI_UNLIKELY(rt == nullptr))
    throw_invalid("operation", "runtime", "empty", "given while there is no default runtime",
                  "call g_runtime_init() first, or pass .runtime(...)");
  return rt;
}

runtime_t alloc_runtime(alloc_runtime_args& a) {
  return start(a.attr, default_net_attr());
}

void free_runtime(free_runtime_args& a) {
  if (a.runtime == nullptr || a.runtime->is_empty())
    throw_invalid("free_runtime", "runtime", "empty", "an allocated runtime");
  stop("free_runtime", *a.runtime);
  *a.runtime = runtime_t();
}

runtime_t g_runtime_init(g_runtime_init_args& a) {
  static std::mutex one_at_a_time;
  std::lock_guard guard(one_at_a_time);
  if (g_default_runtime.load(std::memory_order_acquire) != nullptr)
    throw_invalid("g_runtime_init", "calls", "2", "1 before g_runtime_fina()",
                  "use alloc_runtime() for further runtimes");
  runtime_attr_t attr = a.attr;
  net_context_attr_t net_attr = default_net_attr();
  if (!a.device_name.empty()) net_attr.device_name = a.device_name;
  runtime_t rt = start(attr, net_attr);
  g_default_runtime.store(rt.p_impl, std::memory_order_release);
  detail::default_device.store(rt.p_impl->default_device.p_impl, std::memory_order_release);  // R1
  return rt;
}

void g_runtime_fina(g_runtime_fina_args&) { stop("g_runtime_fina", default_runtime()); }

runtime_t get_g_runtime(get_g_runtime_args&) {
  return g_default_runtime.load(std::memory_order_acquire);
}

namespace {

/// The given runtime, else the default one, else any; null if there is none.
runtime* some_runtime(runtime_t given) {
  if (!given.is_empty()) return given.p_impl;
  if (runtime* rt = g_default_runtime.load(std::memory_order_acquire)) return rt;
  std::lock_guard guard(g_mutex);
  return g_runtimes.empty() ? nullptr : g_runtimes.front();
}

}  // namespace

int get_rank_me(get_rank_me_args& a) {
  const runtime* rt = some_runtime(a.runtime);
  return rt == nullptr ? -1 : rt->rank();
}

int get_rank_n(get_rank_n_args& a) {
  const runtime* rt = some_runtime(a.runtime);
  return rt == nullptr ? -1 : rt->size();
}

// --- simple accessors ---

void set_allocator(set_allocator_args& a) { a.runtime.p_impl->set_allocator(a.allocator); }
allocator_base_t* get_allocator(get_allocator_args& a) {
  // What the runtime does without a user's allocator, for users who want to do the same.
  struct malloc_and_free final : allocator_base_t {
    void* allocate(size_t size) override { return std::malloc(size); }
    void deallocate(void* p) override { std::free(p); }
  };
  static malloc_and_free built_in;
  allocator_base_t* given = a.runtime.p_impl->allocator();
  return given != nullptr ? given : &built_in;
}
net_context_t get_default_net_context(get_default_net_context_args& a) {
  return a.runtime.p_impl->default_net_context;
}
device_t get_default_device(get_default_device_args& a) {
  return a.runtime.p_impl->default_device;
}
packet_pool_t get_default_packet_pool(get_default_packet_pool_args& a) {
  return a.runtime.p_impl->default_packet_pool;
}
matching_engine_t get_default_matching_engine(get_default_matching_engine_args& a) {
  return a.runtime.p_impl->default_matching_engine;
}

}  // namespace lci::core

namespace lci {

void detail::global_initialize(uint64_t layout_of_the_program) {
  require_layout(layout_of_the_program);
  std::lock_guard guard(core::g_references_mutex);
  // A default runtime that is there already serves, too, and stays with who has allocated it.
  if (core::g_references == 0 && get_g_runtime().is_empty())
    core::g_referenced = g_runtime_init().p_impl;
  ++core::g_references;  // not before: nothing is to be undone if that throws
}

void global_finalize() {
  if (watched_for(process_was_forked)) return;  // destructors of a forked child may come here
  std::lock_guard guard(core::g_references_mutex);
  if (core::g_references == 0) return;
  if (core::g_references == 1) {
    core::runtime* mine = core::g_referenced;
    if (mine != nullptr && get_g_runtime().p_impl == mine) g_runtime_fina();
    core::g_referenced = nullptr;
  }
  --core::g_references;
}

}  // namespace lci
