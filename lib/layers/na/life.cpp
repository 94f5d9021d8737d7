// Classes and contexts: their begin and end.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "lib/layers/na/class.hpp"
#include "lib/layers/na/context.hpp"
#include "lib/layers/na/errors.hpp"

namespace {

using clock = std::chrono::steady_clock;

/// Classes of this process so far: tells their addresses apart. It is all that NA has beside its objects.
std::atomic<uint32_t> n_classes{0};

/// Of a process that does not listen: no one finds it, but those whom it has connected with.
std::string name_without_place(const na::identity& who) {
  std::string name = "tcp://127.0.0.1:0/";
  for (const uint8_t byte : who) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    name += digits;
  }
  return name;
}

/// Hosts of other protocols are no hosts of the Internet.
na::url place_of(na::url at) {
  if (at.protocol != "tcp" && at.protocol != "ib" && at.protocol != "verbs" && !at.protocol.empty()) {
    at.host.clear();
    at.port = 0;
  }
  return at;
}

}  // namespace

na_class::na_class(const na::url& at, bool listen) : self_only(at.self) {
  if (listen && !self_only) names = std::make_unique<na::name_service>(place_of(at));
  runtime = lci::alloc_runtime_x().name("NA").bootstrap("none").max_peers(self_only ? 0 : 1024)();
  try {
    const int peers = runtime.get_attr_max_peers();
    device = lci::get_default_device_x().runtime(runtime)();
    book = std::make_unique<na::address_book>(static_cast<uint32_t>(std::max(peers, 0)),
                                              n_classes.fetch_add(1, std::memory_order_relaxed));
    mine.who = na::new_identity();
    mine.name = self_only ? "self://" : names ? names->name() : name_without_place(mine.who);
    book->assign(0, mine.who, mine.name);
    if (self_only) return;
    greeted = std::make_unique<na::greetings>(*this);
    mine.greetings = lci::register_rcomp_x(lci::comp_t(greeted.get())).runtime(runtime)();
    mine.address = lci::get_address_x().runtime(runtime)();
    if (names)
      names->start(
          mine, [this] { na::guarded("NA_Initialize", [this] { return progress(), NA_SUCCESS; }); },
          [this](const na::identity& who) { return searching.connects_with(who); });
  } catch (...) {
    lci::free_runtime(&runtime);
    throw;
  }
}

na_class::~na_class() {
  magic = 0;
  searching.stop(*this);
  names.reset();
  if (runtime.is_empty()) return;
  // Messages that peers have not taken yet are sent before the connections end.
  const clock::time_point end = clock::now() + std::chrono::seconds(2);
  na::guarded("NA_Finalize", [&] {
    do progress();
    while (!lci::test_drained_x().runtime(runtime).device(device)().is_done() && clock::now() < end);
    return NA_SUCCESS;
  });
  na::guarded("NA_Finalize", [&] { return lci::free_runtime(&runtime), NA_SUCCESS; });
}

na_class_t* NA_Initialize(const char* info_string, na_bool_t listen) {
  if (info_string == nullptr) {
    na::refuse(NA_INVALID_PARAM, "NA_Initialize", "info_string is NULL; pass for example \"tcp://localhost:22222\"");
    return nullptr;
  }
  na_class_t* made = nullptr;
  na::guarded("NA_Initialize", [&] {
    made = new na_class(na::url::parse(info_string), listen != NA_FALSE);
    return NA_SUCCESS;
  });
  return made;
}

na_return_t NA_Finalize(na_class_t* na_class) {
  constexpr const char* function = "NA_Finalize";
  if (!na::valid(na_class)) return na::refuse(NA_INVALID_PARAM, function, "na_class is no class");
  {
    const std::lock_guard guard(na_class->contexts_mutex);
    if (!na_class->contexts.empty())
      return na::refuse(NA_PROTOCOL_ERROR, function, "%zu contexts are left: call NA_Context_destroy() first",
                        na_class->contexts.size());
  }
  delete na_class;
  return NA_SUCCESS;
}

na_context_t* NA_Context_create(na_class_t* na_class) {
  if (!na::valid(na_class)) {
    na::refuse(NA_INVALID_PARAM, "NA_Context_create", "na_class is no class");
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
  return na::guarded(function, [&] {
    // The core may still write to the memory of operations that have not ended.
    const clock::time_point end = clock::now() + std::chrono::seconds(10);
    for (bool left = true; left && clock::now() < end;) {
      left = false;
      na_class->operations.for_each_used([&](na::operation& op) {
        if (op.context != context) return;
        left = true;
        NA_Cancel(na_class, context, na::operation_pool::id_of(op));
      });
      na_class->progress();
      while (na::operation* const op = context->pop()) {
        na_class->done_with(op);
      }
    }
    {
      const std::lock_guard guard(na_class->contexts_mutex);
      auto& all = na_class->contexts;
      all.erase(std::remove(all.begin(), all.end(), context), all.end());
    }
    delete context;
    return NA_SUCCESS;
  });
}
