// Allocating and freeing runtimes, and the process's default one.
#include <algorithm>
#include <exception>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "lib/base/call_watch.hpp"
#include "lib/base/check.hpp"
#include "lib/base/log.hpp"
#include "lib/base/memory.hpp"
#include "lib/base/objects.hpp"
#include "lib/core/checking/checked_comp.hpp"
#include "lib/core/checking/inspection.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/device/in_progress.hpp"
#include "lib/core/device/net_context.hpp"
#include "lib/core/runtime/forking.hpp"
#include "lib/core/runtime/process.hpp"
#include "lib/core/runtime/runtime.hpp"

namespace lci {

std::atomic<core::device*> detail::default_device{nullptr};

}  // namespace lci

namespace lci::core {

namespace {

std::mutex g_mutex;
std::vector<runtime*> g_runtimes;  // allocated and not yet freed; under g_mutex

// Held while the default runtime is allocated or freed, so that other threads never see a part of it.
std::mutex g_default_mutex;
int g_default_users = 0;  // calls of g_runtime_init() not yet matched by g_runtime_fina(); under g_default_mutex

void allocate_defaults(runtime_t rt, const net_context_attr_t& net_attr) {
  runtime& r = *rt.p_impl;
  // First what concerns this rank alone: a rank that fails before the ranks exchange addresses can try again, and the
  // others wait for it meanwhile.
  if (r.attr.alloc_default_packet_pool) r.default_packet_pool = alloc_packet_pool_x().runtime(rt)();
  if (r.attr.alloc_default_matching_engine) {
    r.default_matching_engine = alloc_matching_engine_x().runtime(rt)();
    r.default_coll_matching_engine = alloc_matching_engine_x().runtime(rt)();
  }
  auto context = alloc_net_context_x().runtime(rt);
  // Context and device share one address exchange.
  r.defers_address_exchange = r.attr.alloc_default_device;
  r.default_net_context = context.attr(net_attr)();
  r.defers_address_exchange = false;
  if (!r.attr.alloc_default_device) return;
  const auto allocate = [&] { r.default_device = alloc_device_x().runtime(rt)(); };
  // Over shared memory the addresses have been exchanged with the context: the other ranks wait no more.
  if (r.default_net_context.p_impl->attr.backend == attr_backend_t::shm)
    insist_on_memory<resource_error>(allocate);
  else
    allocate();
}

/// Returns what a handler has thrown while the device was freed. Throws if something could not be freed.
std::exception_ptr free_defaults(runtime_t rt) {
  runtime& r = *rt.p_impl;
  // A progress thread that waits for memory must end.
  if (!r.default_device.is_empty()) r.default_device.p_impl->lifetime.stop_waits();
  r.service.reset();
  std::exception_ptr thrown;
  try {
    if (!r.default_device.is_empty()) free_device_x(&r.default_device).runtime(rt)();
  } catch (...) {
    if (!r.default_device.is_empty()) throw;
    thrown = std::current_exception();
  }
  for (matching_engine_t* engine : {&r.default_coll_matching_engine, &r.default_matching_engine})
    if (!engine->is_empty()) free_matching_engine_x(engine).runtime(rt)();
  if (!r.default_packet_pool.is_empty()) free_packet_pool_x(&r.default_packet_pool).runtime(rt)();
  if (!r.default_net_context.is_empty()) free_net_context_x(&r.default_net_context).runtime(rt)();
  return thrown;
}

/// As many bits as the published interface has for both in the immediate data of a put.
void check_immediate_bits(const char* operation, const runtime_attr_t& attr) {
  constexpr int bits = 31;
  if (attr.imm_nbits_tag + attr.imm_nbits_rcomp > bits)
    throw_invalid(operation, "imm_nbits_tag + imm_nbits_rcomp",
                  std::to_string(attr.imm_nbits_tag) + " + " + std::to_string(attr.imm_nbits_rcomp),
                  "at most " + std::to_string(bits), "lower one of the two attributes");
}

runtime_t start(const char* operation, const runtime_attr_t& attr, const net_context_attr_t& net_attr) {
  check_immediate_bits(operation, attr);
  auto rt = std::make_unique<runtime>(attr, net_attr);
  try {
    allocate_defaults(rt.get(), net_attr);
    std::lock_guard guard(g_mutex);
    insist_on_memory([&] { g_runtimes.push_back(rt.get()); });
  } catch (...) {
    try {
      (void)free_defaults(rt.get());
    } catch (const std::exception& e) {
      log_warning(std::string("allocating a runtime failed, and so did freeing its parts: ") + e.what());
    }
    throw;
  }
  return rt.release();
}

/// The user's devices would refer to a freed runtime and packet pool.
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

void require_nothing_published(const char* operation, const runtime& rt) {
  if (!rt.default_device.is_empty() && !rt.default_device.p_impl->published.empty())
    throw_invalid(operation, "default device", "one with published memory", "one without",
                  "unpublish_memory() comes first");
}

/// Frees the runtime. Returns what a handler has thrown meanwhile, for the caller to throw.
std::exception_ptr stop(const char* operation, runtime_t rt) {
  {
    std::lock_guard guard(g_mutex);
    const auto at = std::find(g_runtimes.begin(), g_runtimes.end(), rt.p_impl);
    if (at == g_runtimes.end())
      throw_invalid(operation, "runtime", "no runtime", "allocated and not yet freed",
                    "it may have been freed through a copy of the handle");
    if (tls_in_progress)
      throw_invalid(operation, "caller", "a handler", "outside of progress()",
                    "the caller of the handler still uses the runtime");
    require_no_devices(operation, *rt.p_impl);
    require_nothing_published(operation, *rt.p_impl);
    g_runtimes.erase(at);
  }
  runtime* expected = rt.p_impl;
  const bool is_default = g_default_runtime.load(std::memory_order_acquire) == expected;
  if (is_default) detail::default_device.store(nullptr, std::memory_order_relaxed);
  std::exception_ptr thrown;
  try {
    // Handlers that run while the default device is freed may need the default runtime.
    thrown = free_defaults(rt);
  } catch (...) {
    // The next call frees the rest.
    if (is_default) detail::default_device.store(rt.p_impl->default_device.p_impl, std::memory_order_release);  // R1
    std::lock_guard guard(g_mutex);
    insist_on_memory([&] { g_runtimes.push_back(rt.p_impl); });
    throw;
  }
  if (rt.p_impl->attr.check) report_leaks(*rt.p_impl);
  objects::forget_those_of(rt.p_impl);
  g_default_runtime.compare_exchange_strong(expected, nullptr, std::memory_order_acq_rel);
  delete rt.p_impl;
  return thrown;
}

void rethrow(const std::exception_ptr& thrown) {
  if (thrown != nullptr) std::rethrow_exception(thrown);
}

net_context_attr_t net_attr_of(const std::string& device_name) {
  net_context_attr_t attr = alloc_net_context_x().args().attr;
  if (!device_name.empty()) attr.device_name = device_name;
  return attr;
}

/// Other threads may hold the mutex and wait for the handler to end.
void require_outside_of_handlers(const char* operation) {
  if (tls_in_progress)
    throw_invalid(operation, "caller", "a handler", "outside of progress()",
                  "handlers run while the default runtime exists");
}

}  // namespace

runtime_t alloc_runtime(alloc_runtime_args& a) {
  watch_for_forks();
  return start("alloc_runtime", a.attr, net_attr_of(a.device_name));
}

void free_runtime(free_runtime_args& a) {
  if (a.runtime == nullptr || a.runtime->is_empty())
    throw_invalid("free_runtime", "runtime", "empty", "an allocated runtime");
  const std::exception_ptr thrown = stop("free_runtime", *a.runtime);
  *a.runtime = runtime_t();
  rethrow(thrown);
}

runtime_t g_runtime_init(g_runtime_init_args& a) {
  require_outside_of_handlers("g_runtime_init");
  watch_for_forks();
  std::lock_guard guard(g_default_mutex);
  if (runtime* rt = g_default_runtime.load(std::memory_order_acquire)) {
    if (g_default_users++ == 1)
      log_warning(
          "g_runtime_init() was called again: it returns the existing default runtime and ignores its "
          "arguments");
    return rt;
  }
  const net_context_attr_t net_attr = net_attr_of(a.device_name);
  initialize_process(initializer::default_runtime, a.attr, net_attr);
  runtime_t rt;
  try {
    rt = start("g_runtime_init", a.attr, net_attr);
  } catch (...) {
    finalize_process(initializer::default_runtime);
    throw;
  }
  g_default_runtime.store(rt.p_impl, std::memory_order_release);
  detail::default_device.store(rt.p_impl->default_device.p_impl, std::memory_order_release);  // R1
  g_default_users = 1;
  return rt;
}

void g_runtime_fina(g_runtime_fina_args&) {
  require_outside_of_handlers("g_runtime_fina");
  std::lock_guard guard(g_default_mutex);
  const runtime_t rt = g_default_runtime.load(std::memory_order_acquire);
  if (rt.is_empty())
    throw_invalid("g_runtime_fina", "default runtime", "none", "one from g_runtime_init()",
                  "each call of g_runtime_init() is undone by one call of g_runtime_fina()");
  if (g_default_users > 1) {
    --g_default_users;
    return;
  }
  const std::exception_ptr thrown = stop("g_runtime_fina", rt);
  g_default_users = 0;
  finalize_process(initializer::default_runtime);
  rethrow(thrown);
}

runtime_t get_g_runtime(get_g_runtime_args&) { return g_default_runtime.load(std::memory_order_acquire); }

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
  return rt == nullptr ? rank_of_process() : rt->rank();
}

int get_rank_n(get_rank_n_args& a) {
  const runtime* rt = some_runtime(a.runtime);
  return rt == nullptr ? size_of_process() : rt->size();
}

// --- simple accessors ---

void set_allocator(set_allocator_args& a) { a.runtime.p_impl->set_allocator(a.allocator); }
void set_undelivered(set_undelivered_args& a) {
  if (!a.comp.is_empty()) refuse_graph("set_undelivered", a.comp.get_impl());
  a.runtime.p_impl->undelivered.store(a.comp.is_empty() ? nullptr : a.comp.get_impl(),
                                      std::memory_order_release);  // R1
}
allocator_base_t* get_allocator(get_allocator_args& a) {
  allocator_base_t* given = a.runtime.p_impl->allocator();
  return given != nullptr ? given : &g_allocator_default;
}
net_context_t get_default_net_context(get_default_net_context_args& a) { return a.runtime.p_impl->default_net_context; }
device_t get_default_device(get_default_device_args& a) { return a.runtime.p_impl->default_device; }
packet_pool_t get_default_packet_pool(get_default_packet_pool_args& a) { return a.runtime.p_impl->default_packet_pool; }
matching_engine_t get_default_matching_engine(get_default_matching_engine_args& a) {
  return a.runtime.p_impl->default_matching_engine;
}

}  // namespace lci::core

// The parent's objects are neither freed nor touched: their destructors would send close notifications through
// connections that are the parent's.
void lci::restart_after_fork() {
  using namespace core;
  if (!watched_for(process_was_forked)) return;
  // The child has one thread. Others of the parent may have held these locks in fork().
  for (std::mutex* m : {&g_default_mutex, &g_mutex}) new (m) std::mutex;
  {
    std::lock_guard guard(g_default_mutex);
    g_default_users = 0;
    g_default_runtime.store(nullptr, std::memory_order_release);
    detail::default_device.store(nullptr, std::memory_order_relaxed);
  }
  {
    std::lock_guard guard(g_mutex);
    new (&g_runtimes) std::vector<runtime*>;  // another thread may have been changing it
  }
  forget_process();
  forget_listed_devices();
  call_watch.fetch_and(static_cast<uint8_t>(~process_was_forked), std::memory_order_relaxed);
}
