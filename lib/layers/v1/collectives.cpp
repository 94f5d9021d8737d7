// Collective operations of an endpoint's group: lists of sends and receives, which LCIX_coll_progress() posts.
#include "lib/layers/v1/collectives.hpp"

#include <lci.h>

#include <atomic>
#include <memory>
#include <vector>

#include "lib/layers/v1/buffers.hpp"
#include "lib/layers/v1/messages.hpp"
#include "lib/layers/v1/record.hpp"
#include "lib/layers/v1/wait.hpp"
#include "lib/layers/v1/world.hpp"

using namespace v1;

namespace {

/// Collective operations have their own matching engine, so the two tag bits of `space` are free for the operation's
/// number. It distinguishes four consecutive operations of one endpoint and tag, since messages may arrive in any
/// order.
constexpr lci::tag_t tag_of_number(uint32_t number) { return static_cast<lci::tag_t>(number & 3) << 30; }

}  // namespace

/// A collective operation. The program's handle owns it; LCIX_coll_progress(), or the function that started it, frees
/// it on completion. One thread at a time may call run(); the core may call signal() in any thread.
/// A rank at which the operation has failed still sends its messages, but empty ones. Their receivers then fail, too,
/// and no rank waits forever. Hence messages of an operation without data have one byte.
struct LCIX_collective_s final : lci::comp_impl_t {
 public:
  LCIX_collective_s(LCI_endpoint_t ep, comp& to, LCI_request_t request, void* buffer, size_t size)
      : ep_(*ep), to_(to), request_(request), buffer_(size > 0 ? buffer : &nothing_), size_(size > 0 ? size : 1) {
    const uint32_t id_and_tag = ep_.id_bits | request_.tag;
    tag_ = tag_of_number(the_world().collective_numbers.next(id_and_tag)) | id_and_tag;
  }

  /// A dissemination barrier: sends to the rank `distance` above this one, for distances 1, 2, 4 and so on.
  void plan_barrier() {
    const int n = LCI_NUM_PROCESSES;
    for (int distance = 1; distance < n; distance *= 2) {
      add(step::kind::receive, (LCI_RANK + n - distance) % n, &received_);
      add(step::kind::send, (LCI_RANK + distance) % n, &nothing_);
      add(step::kind::await);
    }
  }
  /// A broadcast down a binomial tree whose root is rank `root`.
  void plan_broadcast(int root) {
    const int n = LCI_NUM_PROCESSES, me = (LCI_RANK + n - root) % n;
    int level = 1;
    while (level < n && (me & level) == 0) level *= 2;
    if (me != 0) {
      add(step::kind::receive, (me - level + root) % n, buffer_);
      add(step::kind::await);
    }
    while ((level /= 2) > 0)
      if (me + level < n) add(step::kind::send, (me + level + root) % n, buffer_);
    add(step::kind::await);
  }
  /// A reduction up a binomial tree to rank 0.
  void plan_reduction(LCI_op_t op) {
    op_ = op;
    const int n = LCI_NUM_PROCESSES;
    int level = 1;
    for (; level < n && (LCI_RANK & level) == 0; level *= 2) {
      if (LCI_RANK + level >= n) continue;
      theirs_.emplace_back(new std::byte[size_]);
      add(step::kind::receive, LCI_RANK + level, theirs_.back().get());
    }
    add(step::kind::await);
    for (const auto& data : theirs_) add(step::kind::combine, 0, data.get());
    if (LCI_RANK == 0) return;
    add(step::kind::send, LCI_RANK - level, buffer_);
    add(step::kind::await);
  }

  /// Executes steps until one must wait. Returns true when the operation is complete; then `result` is LCI_OK or
  /// LCI_ERR_FATAL, and the completion object was signalled.
  bool run(LCI_error_t& result) {
    for (; at_ < steps_.size(); ++at_) {
      const step& s = steps_[at_];
      // A1: pairs with A1 in signal(), so that this thread reads the received data.
      if (s.what == step::kind::await && outstanding_.load(std::memory_order_acquire) > 0) return false;
      if (s.what == step::kind::combine && !failed_.load(std::memory_order_relaxed) && op_ != nullptr && has_data())
        op_(buffer_, s.data, size_);
      if ((s.what == step::kind::send || s.what == step::kind::receive) && !post(s)) return false;
    }
    result = request_.flag = failed_.load(std::memory_order_relaxed) ? LCI_ERR_FATAL : LCI_OK;
    to_.deliver(request_);
    return true;
  }

  LCI_endpoint_s& endpoint() const { return ep_; }

  void signal(lci::status_t s) override {
    if (flag_of(s) != LCI_OK || s.size == 0) failed_.store(true, std::memory_order_relaxed);
    outstanding_.fetch_sub(1, std::memory_order_release);  // A1
  }

 private:
  /// One step of this rank. Steps are executed in order; sends and receives remain outstanding until the next `await`.
  struct step {
    enum class kind : uint8_t { send, receive, await, combine } what;
    int peer = 0;          ///< of sends and receives
    void* data = nullptr;  ///< of all but `await`: what is sent, received or combined with the buffer
  };

  void add(step::kind what, int peer = 0, void* data = nullptr) { steps_.push_back({what, peer, data}); }
  bool has_data() const { return buffer_ != &nothing_; }

  /// Returns false if the core lacks resources; then the caller posts the step again later.
  bool post(const step& s) {
    outstanding_.fetch_add(1, std::memory_order_relaxed);
    try {
      const bool sends = s.what == step::kind::send, fails = failed_.load(std::memory_order_relaxed);
      const lci::comp_t comp(this);
      const owned_buffer owned(ep_, s.data, fails ? 0 : size_);
      const lci::status_t status =
          sends ? lci::post_send_x(s.peer, s.data, fails ? 0 : size_, tag_, fails ? lci::COMP_NULL_RETRY : comp)
                      .device(ep_.core)
                      .layout(owned.layout())
                      .matching_engine(the_world().collectives)()
                : lci::post_recv_x(s.peer, s.data, size_, tag_, comp)
                      .device(ep_.core)
                      .matching_engine(the_world().collectives)();
      if (status.is_posted() && !(sends && fails)) return true;
      outstanding_.fetch_sub(1, std::memory_order_relaxed);
      if (status.is_retry()) return (void)refused(), false;
      if (!sends && (flag_of(status) != LCI_OK || status.size == 0)) failed_.store(true, std::memory_order_relaxed);
    } catch (const std::exception& e) {
      outstanding_.fetch_sub(1, std::memory_order_relaxed);
      if (!failed_.exchange(true, std::memory_order_relaxed)) (void)fail("LCIX_coll_progress", "%s", e.what());
    }
    return true;
  }

  LCI_endpoint_s& ep_;
  comp& to_;
  LCI_request_t request_;
  std::byte nothing_{}, received_{};
  void* const buffer_;
  const size_t size_;
  lci::tag_t tag_;
  LCI_op_t op_ = nullptr;
  std::vector<step> steps_;
  size_t at_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> theirs_;  ///< data of other ranks, to be combined
  std::atomic<int> outstanding_{0};
  std::atomic<bool> failed_{false};
};

namespace {

LCI_request_t collective_request(LCI_tag_t tag, LCI_data_type_t type, void* user_context) {
  LCI_request_t r = {};
  r.rank = LCI_RANK;
  r.tag = tag;
  r.type = type;
  r.user_context = user_context;
  return r;
}

/// Starts the operation whose steps `plan` adds. Sets *handle to NULL if the operation completes at once.
template <class Plan>
LCI_error_t start(const char* function, LCIX_collective_t* handle, LCI_endpoint_t ep, LCI_comp_t completion,
                  const LCI_request_t& request, void* buffer, size_t size, Plan plan) {
  return guarded(function, [&] {
    if (handle == nullptr) return fail(function, "collective is NULL, but must be the address of a handle");
    if (checking()) check_post(ep, LCI_RANK, request.tag);
    if (request.tag > max_tag) throw_tag(request.tag);
    if (buffer == nullptr && size > 0)
      return fail(function, "buffer.address is NULL, but must be that of %zu bytes: pass a buffer, or length 0", size);
    auto c = std::make_unique<LCIX_collective_s>(ep, completion_of(completion), request, buffer, size);
    plan(*c);
    LCI_error_t result;
    *handle = nullptr;
    if (c->run(result)) return result;
    record_created(c.get());
    *handle = c.release();
    return LCI_OK;
  });
}

LCI_error_t broadcast(const char* function, LCI_endpoint_t ep, const LCI_request_t& request, void* buffer, size_t size,
                      int root, LCI_comp_t completion, LCIX_collective_t* handle) {
  if (detail::current != nullptr && (root < 0 || root >= LCI_NUM_PROCESSES))
    return fail(function, "root = %d, but must be a rank, 0 to %d", root, LCI_NUM_PROCESSES - 1);
  return start(function, handle, ep, completion, request, buffer, size,
               [&](LCIX_collective_s& c) { c.plan_broadcast(root); });
}

LCI_error_t allreduce(const char* function, LCI_endpoint_t ep, const LCI_request_t& request, void* buffer, size_t size,
                      LCI_op_t op, LCI_comp_t completion, LCIX_collective_t* handle) {
  if (op == nullptr) return fail(function, "op is NULL, but must be a function that combines two buffers");
  return start(function, handle, ep, completion, request, buffer, size, [&](LCIX_collective_s& c) {
    c.plan_reduction(op);
    c.plan_broadcast(0);
  });
}

}  // namespace

LCI_error_t LCIX_coll_progress(LCIX_collective_t* collective) {
  return guarded("LCIX_coll_progress", [&] {
    if (collective == nullptr)
      return fail("LCIX_coll_progress", "collective is NULL, but must be the address of a handle");
    const bool checked = checking();
    if (*collective == nullptr) return LCI_OK;
    if (checked) check_collective(*collective);
    LCI_error_t result;
    if (!(*collective)->run(result)) {
      // Ignore errors of the device: the failure of another rank need not affect this operation.
      (void)guarded("LCIX_coll_progress", [&] {
        make_progress(the_world(), (*collective)->endpoint().core);
        return LCI_OK;
      });
      if (!(*collective)->run(result)) return LCI_ERR_RETRY;
    }
    record_freed(*collective);
    delete *collective;
    *collective = nullptr;
    return result;
  });
}

LCI_error_t LCIX_barrier(LCI_endpoint_t ep, LCI_tag_t tag, LCI_comp_t completion, void* user_context,
                         LCIX_collective_t* collective) {
  return start("LCIX_barrier", collective, ep, completion, collective_request(tag, LCI_IMMEDIATE, user_context),
               nullptr, 0, [](LCIX_collective_s& c) { c.plan_barrier(); });
}

LCI_error_t LCIX_bcastm(LCI_endpoint_t ep, LCI_mbuffer_t buffer, int root, LCI_tag_t tag, LCI_comp_t completion,
                        void* user_context, LCIX_collective_t* collective) {
  LCI_request_t r = collective_request(tag, LCI_MEDIUM, user_context);
  r.data.mbuffer = buffer;
  return broadcast("LCIX_bcastm", ep, r, buffer.address, buffer.length, root, completion, collective);
}

LCI_error_t LCIX_bcastl(LCI_endpoint_t ep, LCI_lbuffer_t buffer, int root, LCI_tag_t tag, LCI_comp_t completion,
                        void* user_context, LCIX_collective_t* collective) {
  LCI_request_t r = collective_request(tag, LCI_LONG, user_context);
  r.data.lbuffer = buffer;
  return broadcast("LCIX_bcastl", ep, r, buffer.address, buffer.length, root, completion, collective);
}

LCI_error_t LCIX_allreducem(LCI_endpoint_t ep, LCI_mbuffer_t buffer, LCI_op_t op, LCI_tag_t tag, LCI_comp_t completion,
                            void* user_context, LCIX_collective_t* collective) {
  LCI_request_t r = collective_request(tag, LCI_MEDIUM, user_context);
  r.data.mbuffer = buffer;
  return allreduce("LCIX_allreducem", ep, r, buffer.address, buffer.length, op, completion, collective);
}

LCI_error_t LCIX_allreducel(LCI_endpoint_t ep, LCI_lbuffer_t buffer, LCI_op_t op, LCI_tag_t tag, LCI_comp_t completion,
                            void* user_context, LCIX_collective_t* collective) {
  LCI_request_t r = collective_request(tag, LCI_LONG, user_context);
  r.data.lbuffer = buffer;
  return allreduce("LCIX_allreducel", ep, r, buffer.address, buffer.length, op, completion, collective);
}
