#include "lib/layers/na/lookups.hpp"

#include <chrono>
#include <cstring>
#include <thread>

#include "lib/layers/na/class.hpp"
#include "lib/layers/na/errors.hpp"
#include "lib/layers/na/greeting.hpp"
#include "lib/layers/na/name_service.hpp"

namespace na {
namespace {

using clock = std::chrono::steady_clock;

/// A synchronizer for one wait, which survives the failure of other peers.
class awaited {
 public:
  explicit awaited(na_class& c) : class_(c), sync_(lci::alloc_sync_x().runtime(c.runtime)()) {}
  ~awaited() { lci::free_comp_x(&sync_).runtime(class_.runtime)(); }
  awaited(const awaited&) = delete;
  awaited& operator=(const awaited&) = delete;

  lci::comp_t comp() const { return sync_; }
  lci::status_t wait() {
    lci::status_t status;
    for (;;) {
      try {
        if (lci::sync_wait_for_x(sync_, 1, &status).runtime(class_.runtime).device(class_.device)()) return status;
      } catch (const lci::peer_failure_error& e) {
        class_.forget_failed(e);
      }
      class_.waiting.post_some(class_);
    }
  }

 private:
  na_class& class_;
  lci::comp_t sync_;
};

}  // namespace

na_addr_t lookups::connect(na_class& c, const card& to) {
  lci::status_t status;
  {
    awaited made(c);
    status = lci::connect_x(to.address).runtime(c.runtime).device(c.device).local_comp(made.comp()).timeout(patience)();
    if (status.is_posted()) status = made.wait();
  }
  if (!status.is_done()) throw lci::peer_failure_error(-1, to.name + " does not accept the connection");
  const auto rank = static_cast<uint32_t>(status.rank);
  const na_addr_t address = c.book->assign(rank, to.who, to.name);

  greeting g;
  g.who = c.mine.who;
  std::memcpy(g.name, c.mine.name.c_str(), c.mine.name.size() + 1);
  awaited handled(c);
  do {
    status = lci::post_am_x(status.rank, &g, sizeof g, handled.comp(), to.greetings)
                 .runtime(c.runtime)
                 .device(c.device)
                 .comp_semantic(lci::comp_semantic_t::remote)
                 .deadline(patience)();
    if (status.is_retry()) {
      c.progress();
      status.rank = static_cast<int>(rank);
    }
  } while (status.is_retry());
  if (status.is_posted()) status = handled.wait();
  if (!status.is_done()) {
    c.book->forget(c.book->current(rank));
    lci::disconnect_x(static_cast<int>(rank)).runtime(c.runtime).device(c.device)();
    throw lci::peer_failure_error(-1, to.name + " does not answer");
  }
  return address;
}

na_addr_t lookups::find(na_class& c, const std::string& name, const std::atomic<bool>& give_up) {
  const url where = url::parse(name.c_str());
  if (where.self) return c.book->of(0);
  // The own name, and those of peers that do not listen but have connected.
  if (const na_addr_t known = c.book->find(where.text);
      known != NA_ADDR_NULL && (where.port == 0 || known == c.book->of(0)))
    return known;
  if (c.self_only) throw lci::invalid_argument_error("a class of the network \"self\" reaches its own process only");
  const std::unique_ptr<resolved> there = resolve(where, c.mine.who, patience, give_up);
  if (there->it.who == c.mine.who) return c.book->of(0);
  return connect_or_await(c, *there, give_up);
}

na_addr_t lookups::connect_or_await(na_class& c, const resolved& there, const std::atomic<bool>& give_up) {
  const identity& who = there.it.who;
  const clock::time_point end = clock::now() + std::chrono::milliseconds(static_cast<int64_t>(patience * 1e3));
  std::unique_lock lock(mutex_);
  for (;;) {
    // Another search of this process connects; its peer has an address before it knows this process.
    const bool mine = connecting_.count(who) != 0;
    if (const na_addr_t known = c.book->find(who); known != NA_ADDR_NULL && !mine) return known;
    const bool theirs = c.names && c.names->asked_by(who) && (there.coming || c.mine.who > who);
    if (!mine && !theirs) break;
    lock.unlock();
    if (give_up.load(std::memory_order_relaxed) || clock::now() > end)
      throw lci::peer_failure_error(-1, there.it.name + " does not connect");
    if (!c.progress()) std::this_thread::sleep_for(std::chrono::microseconds(100));
    lock.lock();
  }
  connecting_.insert(who);
  lock.unlock();
  const auto ended = [&] {
    lock.lock();
    connecting_.erase(who);
  };
  try {
    const na_addr_t made = connect(c, there.it);
    ended();
    return made;
  } catch (...) {
    ended();
    throw;
  }
}

bool lookups::connects_with(const identity& who) {
  const std::lock_guard guard(mutex_);
  return connecting_.count(who) != 0;
}

void lookups::run(na_class& c, const std::shared_ptr<search>& s) {
  na_addr_t found = NA_ADDR_NULL;
  const na_return_t code = guarded("NA_Addr_lookup", [&] {
    found = find(c, s->name, s->give_up);
    return NA_SUCCESS;
  });
  const std::lock_guard guard(mutex_);
  if (s->op != nullptr) {
    s->op->found = found;
    c.finish(s->op, code == NA_SUCCESS ? lci::errorcode_t::done : lci::errorcode_t::fatal);
    s->op = nullptr;
  }
  running_.erase(s);
  changed_.notify_all();
}

void lookups::start(na_class& c, operation* op, const char* name) {
  auto s = std::make_shared<search>();
  s->op = op;
  s->name = name;
  {
    const std::lock_guard guard(mutex_);
    running_.insert(s);
  }
  try {
    std::thread([this, &c, s] { run(c, s); }).detach();
  } catch (const std::exception&) {
    const std::lock_guard guard(mutex_);
    running_.erase(s);
    throw lci::resource_error("no thread is left");
  }
}

void lookups::cancel(na_class& c, operation* op, na_op_id_t id) {
  const std::lock_guard guard(mutex_);
  for (const auto& s : running_) {
    if (s->op != op || operation_pool::id_of(*op) != id) continue;
    s->give_up.store(true, std::memory_order_relaxed);
    s->op = nullptr;
    c.finish(op, lci::errorcode_t::cancelled);
    return;
  }
}

void lookups::stop(na_class& c) {
  std::unique_lock lock(mutex_);
  for (const auto& s : running_) {
    s->give_up.store(true, std::memory_order_relaxed);
    if (s->op != nullptr) c.finish(s->op, lci::errorcode_t::cancelled);
    s->op = nullptr;
  }
  changed_.wait(lock, [&] { return running_.empty(); });
}

}  // namespace na
