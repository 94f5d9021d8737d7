#include "lib/layers/armci/context.hpp"

#include <cstdio>
#include <string>
#include <system_error>
#include <utility>

#include "lib/layers/armci/applier.hpp"
#include "lib/layers/armci/errors.hpp"
#include "lib/layers/common/alone_in_job.hpp"

namespace armci_layer {

namespace {

bool is_shortage(const std::exception& e) {
  return dynamic_cast<const std::bad_alloc*>(&e) != nullptr ||
         dynamic_cast<const lci::resource_error*>(&e) != nullptr ||
         dynamic_cast<const std::system_error*>(&e) != nullptr;
}

/// Returns a part of the context, which f() makes. If f() throws for lack of memory or threads, ends the job, unless
/// this process is alone in it: the destructors of the parts that exist already would wait for the other processes.
template <class F>
auto make_part(F f) {
  try {
    return f();
  } catch (const std::exception& e) {
    if (is_shortage(e) && !layers::is_alone_in_job()) end_job("ARMCI_Init", e.what(), -internal_failure);
    throw;
  }
}

std::unique_ptr<std::atomic<uint32_t>[]> notification_counters(int n) {
  return make_part([n] { return std::make_unique<std::atomic<uint32_t>[]>(static_cast<size_t>(n)); });
}

}  // namespace

ARMCI_CONTEXT_STORAGE context* the_context = nullptr;

context::context(std::optional<bool> applies)
    : net(make_part([this] {
        return link([this](link::box to, int source, const std::byte* bytes, size_t size) {
          receive(to, source, bytes, size);
        });
      })),
      messages(net),
      far(make_part([this] { return remote(net); })),
      mem(make_part([this] { return memory(net); })),
      hosts(make_part([this] { return domains(net, mem); })),
      locks(net, mem, far),
      served(make_part([this] { return server(net, mem, locks); })),
      all(messages),
      groups(make_part([this] { return group_table(net.me(), net.size()); })),
      sent_notifications(notification_counters(net.size())),
      awaited_notifications(notification_counters(net.size())) {
  make_part([&] {
    net.on_failure = [this](int proc) { far.on_failure(proc); };
    // Within one host nobody needs another's help.
    if (!mem.all_near()) {
      int neighbours = 0;
      for (int r = 0; r < size(); ++r) neighbours += mem.is_near(r) ? 1 : 0;
      if (applies.value_or(applier::is_useful(neighbours))) served.apply_in_background();
      net.serve_in_background();
    }
    // Nobody sends a request before all can serve it.
    lci::barrier_x().runtime(net.runtime()).device(net.device())();
    // Other processes may have returned from ARMCI_Init. If there was no memory for a message of theirs, this throws.
    (void)lci::progress_x().runtime(net.runtime()).device(net.device())();
  });
}

context* context::make(std::optional<bool> applies) {
  return make_part([applies] { return new context(applies); });
}

context::~context() {
  mutex_sets.for_each([](group_mutexes* m) { delete m; });
}

void context::receive(link::box to, int source, const std::byte* bytes, size_t size) {
  switch (to) {
    case link::box::requests:
      return served.receive(source, bytes, size);
    case link::box::answers:
      return far.receive_answer(source, bytes, size);
    case link::box::inbox:
      return messages.arrived(source, bytes, size);
  }
}

void context::fence_all() { far.fence_all(); }

std::optional<error> context::fence_all_before_collective() {
  try {
    fence_all();
  } catch (const error& e) {
    if (e.code() == peer_failure) throw;
    return e;
  }
  return std::nullopt;
}

void context::allocate(const group& g, void** addresses, armci_size_t bytes) {
  void* mine = nullptr;
  lci::rmr_t key{};
  char why[200] = ", but must be 0 or more";
  if (bytes > 0) {
    try {
      mine = mem.allocate(static_cast<size_t>(bytes));
      key = mem.key_of(mine);
    } catch (const std::exception& e) {
      std::snprintf(why, sizeof why, ": %s", e.what());
      if (mine != nullptr) mem.release(std::exchange(mine, nullptr));
    }
  }
  struct part {
    void* address;
    size_t size;
    lci::rmr_t key;
    int failed;
  };
  // The others wait: so the error has to be everybody's.
  const part own{mine, mine == nullptr ? 0 : static_cast<size_t>(bytes), key, bytes != 0 && mine == nullptr ? 1 : 0};
  auto parts = insist_for_others([&] { return std::vector<part>(static_cast<size_t>(g.size())); });
  all.gather_all(g, &own, parts.data(), sizeof own);
  int failed = -1;
  for (size_t i = 0; i < parts.size(); ++i) {
    addresses[i] = parts[i].address;
    if (parts[i].failed != 0) failed = static_cast<int>(i);
  }
  if (failed < 0) {
    for (size_t i = 0; i < parts.size(); ++i)
      if (const int proc = g.members[i]; parts[i].address != nullptr && !mem.is_near(proc)) try {
          far.known().learn(proc, parts[i].address, parts[i].size, parts[i].key);
        } catch (const std::bad_alloc&) {
          // Without the key, puts and gets of this memory go by messages, which is slower.
        }
    return;
  }
  for (size_t i = 0; i < parts.size(); ++i) addresses[i] = nullptr;
  if (mine != nullptr) mem.release(mine);
  throw error(internal_failure, own.failed != 0 ? "bytes = " + std::to_string(bytes) + why
                                                : "process " + std::to_string(g.members[static_cast<size_t>(failed)]) +
                                                      " has no memory for its part, or has passed an invalid argument");
}

void context::refuse_to_allocate(const group& g, const error& why) {
  auto none = insist_for_others([&] { return std::vector<void*>(static_cast<size_t>(g.size())); });
  try {
    allocate(g, none.data(), -1);
  } catch (const error&) {
    // What the caller has found, `why`, is the better explanation.
  }
  throw why;
}

void context::free(const group& g, void* address) {
  const std::optional<error> wrong = fence_all_before_collective();
  auto parts = insist_for_others([&] { return std::vector<void*>(static_cast<size_t>(g.size())); });
  all.gather_all(g, &address, parts.data(), sizeof address);  // afterwards no member uses it
  for (size_t i = 0; i < parts.size(); ++i)
    if (parts[i] != nullptr) far.known().forget(g.members[i], parts[i]);
  if (address != nullptr && !mem.release(address)) {
    char text[120];
    std::snprintf(text, sizeof text, "ptr = %p, but must be the address of this process's part, which is not freed",
                  address);
    throw error(internal_failure, text);
  }
  if (wrong) throw *wrong;
}

mutex_set context::create_mutexes(const group& g, int count) {
  mutex_set set;
  const auto n = static_cast<size_t>(g.size());
  std::vector<void*> blocks;
  std::vector<int> counts;
  insist_for_others([&] {
    blocks.resize(n);
    counts.resize(n);
    set.owners.reserve(n);
  });
  allocate(g, blocks.data(), static_cast<armci_size_t>(count) * static_cast<armci_size_t>(mutexes::spacing));
  set.mine = blocks[static_cast<size_t>(g.me)];
  for (int i = 0; i < count; ++i)
    mutexes::prepare(static_cast<std::byte*>(set.mine) + static_cast<size_t>(i) * mutexes::spacing);
  all.gather_all(g, &count, counts.data(), sizeof count);  // also: all words are zero
  for (size_t i = 0; i < counts.size(); ++i) set.owners.push_back({g.members[i], blocks[i], counts[i]});
  return set;
}

void context::destroy_mutexes(const group& g, mutex_set& set) {
  const std::optional<error> wrong = fence_all_before_collective();
  all.barrier(g);
  const bool in_use = locks.any_in_use(set);
  free(g, set.mine);
  set = mutex_set();
  if (wrong) throw *wrong;
  if (in_use) throw error(internal_failure, "a mutex is locked: unlock it before its set is destroyed");
}

}  // namespace armci_layer
