#include "lib/layers/na/lookups.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "lib/layers/na/class.hpp"
#include "lib/layers/na/errors.hpp"

namespace na {
namespace {

using clock = std::chrono::steady_clock;

/// An outstanding connect of the core, which can't be cancelled. A lookup that gives up calls leave(); then this object
/// closes the connection, if there is one, and deletes itself when the connect ends.
class connecting final : public lci::comp_impl_t {
 public:
  explicit connecting(na_class& c) : lci::comp_impl_t(lci::comp_attr_t{}), class_(c) {}

  void signal(lci::status_t status) override {
    bool is_left = false;
    {
      const std::lock_guard guard(mutex_);
      is_left = is_left_;
      has_ended_ = true;
      status_ = status;
    }
    if (!is_left) return;
    if (status.is_done() && status.rank > 0)
      lci::disconnect_x(status.rank).runtime(class_.runtime).device(class_.device)();
    delete this;
  }
  bool has_ended(lci::status_t* status) {
    const std::lock_guard guard(mutex_);
    *status = status_;
    return has_ended_;
  }
  /// Called when the lookup no longer needs the result.
  void leave() {
    {
      const std::lock_guard guard(mutex_);
      is_left_ = true;
      if (!has_ended_) return;
    }
    delete this;
  }

 private:
  na_class& class_;
  std::mutex mutex_;
  bool has_ended_ = false, is_left_ = false;  // under mutex_
  lci::status_t status_;                      // under mutex_
};

/// Connects to the process that listens at `where`. Returns the core's id of it.
int connect(na_class& c, const std::string& where, clock::time_point end, const std::atomic<bool>& give_up) {
  const double seconds = std::chrono::duration<double>(end - clock::now()).count();
  auto made = std::make_unique<connecting>(c);
  lci::status_t status;
  try {
    status = lci::connect_x(where)
                 .runtime(c.runtime)
                 .device(c.device)
                 .local_comp(lci::comp_t(made.get()))
                 .timeout(std::max(seconds, 0.0))();
  } catch (const lci::resource_error& e) {
    throw std::runtime_error(e.what());  // the host is unknown, for example; that is not a lack of memory
  }
  if (status.is_posted()) {
    const std::unique_ptr<connecting, void (*)(connecting*)> left(made.release(), [](connecting* m) { m->leave(); });
    while (!left->has_ended(&status)) {
      if (give_up.load(std::memory_order_relaxed)) throw lci::peer_failure_error(-1, "the search has been given up");
      if (!c.progress()) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  if (!status.is_done()) throw lci::peer_failure_error(-1, "no process answers at " + where);
  return status.rank;
}

}  // namespace

na_addr_t lookups::find(na_class& c, const std::string& name, const std::atomic<bool>& give_up) {
  const url where = url::parse(name.c_str());
  if (where.self) return c.book->of(0);
  // Names that the table of peers answers: this process's own, and those of peers that do not listen.
  if (const na_addr_t known = c.book->find(where.text);
      known != NA_ADDR_NULL && (where.port == 0 || known == c.book->of(0)))
    return known;
  if (c.self_only) throw lci::invalid_argument_error("a class of the network \"self\" reaches its own process only");
  if (where.port == 0 || where.host.empty())
    throw lci::invalid_argument_error("the name of a process needs a host and a port, as tcp://host:port");
  const std::string place = where.core_url("");
  const clock::time_point end = clock::now() + std::chrono::milliseconds(static_cast<int64_t>(answer_limit * 1e3));
  for (;;) {
    const int rank = connect(c, place, end, give_up);
    if (rank == 0) return c.book->of(0);
    const na_addr_t found = c.introduced.introduce(static_cast<uint32_t>(rank), end, give_up);
    if (found != NA_ADDR_NULL) return found;
    if (clock::now() >= end || give_up.load(std::memory_order_relaxed))
      throw lci::peer_failure_error(-1, place + " knows another connection with this process, which has ended here");
  }
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
