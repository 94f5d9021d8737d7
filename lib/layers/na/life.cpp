// Creation and destruction of classes and contexts.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <thread>

#include "lib/layers/na/class.hpp"
#include "lib/layers/na/context.hpp"
#include "lib/layers/na/errors.hpp"
#include "lib/layers/na/setting.hpp"

namespace {

using clock = std::chrono::steady_clock;

/// Number of classes that this process has created. Addresses contain it.
std::atomic<uint32_t> n_classes{0};

/// The open classes, a list, by which NA_Finalize() recognizes a class that was finalized without reading its memory.
/// It has no destructor, since a program may call NA_Finalize() in a function of atexit(), when objects with a
/// destructor may be gone.
constinit struct {
  std::mutex lock;
  na_class* first = nullptr;

  void add(na_class* c) {
    const std::lock_guard guard(lock);
    c->next = first;
    first = c;
  }
  bool has(const na_class* c) {
    const std::lock_guard guard(lock);
    for (const na_class* i = first; i != nullptr; i = i->next)
      if (i == c) return true;
    return false;
  }
  /// Returns false if another thread has removed it.
  bool remove(const na_class* c) {
    const std::lock_guard guard(lock);
    for (na_class** i = &first; *i != nullptr; i = &(*i)->next) {
      if (*i != c) continue;
      *i = c->next;
      return true;
    }
    return false;
  }
} open_classes;

/// The name of a process that does not listen. Only processes that it has connected to can look it up.
std::string name_without_place(const na::identity& who) {
  std::string name = "tcp://127.0.0.1:0/";
  for (const uint8_t byte : who) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    name += digits;
  }
  return name;
}

/// Makes progress once. Ignores a shortage of memory, as a later call may find some. Returns whether anything happened.
bool try_progress(na_class& c) {
  try {
    return c.progress();
  } catch (const std::exception&) {
    return false;
  }
}

/// Waits until no thread is in NA_Trigger() of the context, since one may be about to return after the callback from
/// which the program knows that it can destroy the context. Returns false if a thread does not return soon.
bool triggers_return(const na_context& context) {
  constexpr std::chrono::milliseconds soon{100};
  for (const clock::time_point end = clock::now() + soon;;) {
    if (context.triggering.load(std::memory_order_acquire) == 0) return true;  // D2: pairs with D1
    if (clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

/// `late`: operations have not ended in time. `in_use`: another thread stays in NA_Trigger() of the context.
enum class end_of_operations { done, late, in_use };

/// Cancels the context's operations until they have ended, for at most this time.
end_of_operations end_operations(na_class& c, na_context& context, std::chrono::seconds longest) {
  for (const clock::time_point end = clock::now() + longest;;) {
    if (!triggers_return(context)) return end_of_operations::in_use;
    bool left = false;
    c.operations.for_each_used([&](na::operation& op) {
      if (op.context != &context) return;
      left = true;
      NA_Cancel(&c, &context, na::operation_pool::id_of(op));
    });
    const bool happened = try_progress(c);
    while (na::operation* const op = context.pop()) c.done_with(op);
    // The last operation may have ended in a callback that another thread has run meanwhile.
    if (!left) return triggers_return(context) ? end_of_operations::done : end_of_operations::in_use;
    if (clock::now() >= end) return end_of_operations::late;
    if (!happened) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

/// The address on which a class listens, in the core's syntax. Names of other protocols have no IP host: for them it is
/// the loopback address.
std::string listening_place(const na::url& at) {
  const bool is_host = at.protocol == "tcp" || at.protocol == "ib" || at.protocol == "verbs" || at.protocol.empty();
  return is_host ? at.core_url("127.0.0.1") : na::url().core_url("127.0.0.1");
}

/// The name of a class that listens at `place`: the host, or this host's name for a wildcard address, and the port of
/// `address`, which the system has chosen if `place` has none.
std::string name_of_place(const std::string& place, const std::string& address) {
  std::string host = place.substr(0, place.rfind(':'));
  if (host == "tcp://0.0.0.0" || host == "tcp://[::]") {
    char own[256] = "";
    if (gethostname(own, sizeof own - 1) == 0) host = std::string("tcp://") + own;
  }
  return host + address.substr(address.rfind(':'));
}

}  // namespace

na_class::na_class(const na::url& at, bool listen)
    : self_only(at.self),
      who(na::new_identity()),
      most_calls(static_cast<uint32_t>(na::setting("NA_CALLS_PER_PEER", 4096, 1, 1 << 20))),
      call_bytes(na::setting("NA_CALL_BYTES_PER_PEER", uint64_t{1} << 30, 0, uint64_t{1} << 62)),
      introduced(*this),
      direct(*this),
      unexpected(*this) {
  try {
    open(at, listen);
  } catch (...) {
    neglected.stop();
    na::guarded("NA_Initialize", [&] { return close(), NA_SUCCESS; });
    throw;
  }
}

void na_class::open(const na::url& at, bool listen) {
  runtime =
      lci::alloc_runtime_x().name("NA").bootstrap("none").max_peers(self_only ? 0 : 1024).alloc_default_device(false)();
  const std::string place = listen && !self_only ? listening_place(at) : "";
  // Passed as an argument, so that LCI_ATTR_PEER_LISTEN does not give several classes of a process the same port.
  network = lci::alloc_net_context_x().name("NA").runtime(runtime).peer_listen(place)();
  device = lci::alloc_device_x().name("NA").runtime(runtime).net_context(network)();
  book = std::make_unique<na::address_book>(static_cast<uint32_t>(std::max(runtime.get_attr_max_peers(), 0)),
                                            n_classes.fetch_add(1, std::memory_order_relaxed));
  if (self_only)
    name = "self://";
  else if (place.empty())
    name = name_without_place(who);
  else
    name = name_of_place(place, lci::get_address_x().runtime(runtime).net_context(network)());
  if (name.size() >= sizeof na::introduction::name) throw lci::resource_error("the host's name is too long");
  book->assign(0, who, name);
  waiting.open(book->last());
  introduced.open();
  direct.open();
  unexpected.open();
  if (!place.empty()) neglected.start(*this);
}

void na_class::close() {
  if (!device.is_empty()) lci::free_device_x(&device).runtime(runtime)();
  direct.close();
  if (!network.is_empty()) lci::free_net_context_x(&network).runtime(runtime)();
  if (!runtime.is_empty()) lci::free_runtime(&runtime);
}

na_class::~na_class() {
  magic = 0;
  searching.stop(*this);
  neglected.stop();
  // Drain messages that the network has not sent yet, before the connections close.
  const clock::time_point end = clock::now() + std::chrono::seconds(2);
  na::guarded("NA_Finalize", [&] {
    do try_progress(*this);
    while (!lci::test_drained_x().runtime(runtime).device(device).receives(false)().is_done() && clock::now() < end);
    return NA_SUCCESS;
  });
  na::guarded("NA_Finalize", [&] { return close(), NA_SUCCESS; });
}

na_class_t* NA_Initialize(const char* info_string, na_bool_t listen) {
  if (info_string == nullptr) {
    na::refuse(NA_INVALID_PARAM, "NA_Initialize", "info_string is NULL; pass for example \"tcp://localhost:22222\"");
    errno = EINVAL;
    return nullptr;
  }
  na_class_t* made = nullptr;
  const na_return_t result = na::guarded("NA_Initialize", [&] {
    made = new na_class(na::url::parse(info_string), listen != NA_FALSE);
    open_classes.add(made);
    return NA_SUCCESS;
  });
  if (result != NA_SUCCESS) errno = result == NA_INVALID_PARAM ? EINVAL : EIO;
  return made;
}

na_return_t NA_Finalize(na_class_t* na_class) {
  constexpr const char* function = "NA_Finalize";
  if (!open_classes.has(na_class))
    return na::refuse(NA_INVALID_PARAM, function, "na_class is no class, or was finalized");
  {
    const std::lock_guard guard(na_class->contexts_mutex);
    if (!na_class->contexts.empty())
      return na::refuse(NA_PROTOCOL_ERROR, function, "%zu contexts are left: call NA_Context_destroy() first",
                        na_class->contexts.size());
  }
  if (!open_classes.remove(na_class))
    return na::refuse(NA_INVALID_PARAM, function, "another thread has finalized na_class");
  delete na_class;
  return NA_SUCCESS;
}

na_context_t* NA_Context_create(na_class_t* na_class) {
  if (!open_classes.has(na_class)) {
    na::refuse(NA_INVALID_PARAM, "NA_Context_create", "na_class is no class, or was finalized");
    return nullptr;
  }
  na_context_t* made = nullptr;
  na::guarded("NA_Context_create", [&] {
    auto context = std::make_unique<na_context>(na_class);
    const std::lock_guard guard(na_class->contexts_mutex);
    na_class->contexts.push_back(context.get());
    made = context.release();
    return NA_SUCCESS;
  });
  return made;
}

na_return_t NA_Context_destroy(na_class_t* na_class, na_context_t* context) {
  constexpr const char* function = "NA_Context_destroy";
  if (!na::valid(na_class)) return na::refuse(NA_INVALID_PARAM, function, "na_class is no class");
  if (!na::valid(na_class, context))
    return na::refuse(NA_INVALID_PARAM, function, "context is no context of this class");
  if (na::callback_scope::is_inside(context))
    return na::refuse(NA_PROTOCOL_ERROR, function,
                      "a callback of the context has called it: destroy the context when NA_Trigger() has returned");
  return na::guarded(function, [&] {
    // The core can't cancel puts and gets that the peer has to answer, and may still access their memory.
    constexpr std::chrono::seconds for_answers{10}, for_ended_connections{5};
    end_of_operations ended = end_operations(*na_class, *context, for_answers);
    if (ended == end_of_operations::late) {
      na_class->end_peers_of(context);
      ended = end_operations(*na_class, *context, for_ended_connections);
    }
    if (ended == end_of_operations::in_use)
      return na::refuse(NA_PROTOCOL_ERROR, function,
                        "another thread is in NA_Trigger() of the context: destroy it when that has returned");
    if (ended == end_of_operations::late) return na::refuse(NA_PROTOCOL_ERROR, function, "operations have not ended");
    {
      const std::lock_guard guard(na_class->contexts_mutex);
      auto& all = na_class->contexts;
      all.erase(std::remove(all.begin(), all.end(), context), all.end());
    }
    delete context;
    return NA_SUCCESS;
  });
}
