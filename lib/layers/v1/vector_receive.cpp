// The target's side of iovecs. It allocates memory or takes that of LCI_recvv(), posts a receive for each long buffer,
// and answers. Any thread that makes progress runs this code.
#include <lci.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "lib/base/insist_on_memory.hpp"
#include "lib/layers/v1/checking.hpp"
#include "lib/layers/v1/errors.hpp"
#include "lib/layers/v1/messages.hpp"
#include "lib/layers/v1/record.hpp"
#include "lib/layers/v1/unfinished.hpp"
#include "lib/layers/v1/vector_steps.hpp"
#include "lib/layers/v1/vectors.hpp"
#include "lib/layers/v1/world.hpp"

using namespace v1;

namespace {

/// Returns whether the program has passed no buffers to LCI_recvv(). Then the library allocates them.
bool has_no_buffers(const LCI_iovec_t& given) {
  return given.lbuffers == nullptr && (given.piggy_back.address == nullptr || given.count != 0);
}

/// A step that has arrived. Its pointers refer to the network's buffer or a packet.
struct arrived_step {
  step_head head;
  const std::byte* lengths = nullptr;
  const std::byte* piggy_back = nullptr;

  uint64_t length(size_t i) const {
    uint64_t n;
    std::memcpy(&n, lengths + 8 * i, sizeof n);
    return n;
  }
};

/// Decodes a step. Returns false if the message is malformed.
bool read(const lci::status_t& s, arrived_step& out) {
  if (s.size < sizeof out.head) return false;
  const auto* at = static_cast<const std::byte*>(s.buffer);
  std::memcpy(&out.head, at, sizeof out.head);
  const bool has_lengths = out.head.what == step::send || out.head.what == step::put;
  const size_t n_lengths = has_lengths ? out.head.count : 0;
  if (n_lengths > 1u << 24 || s.size != sizeof out.head + 8 * n_lengths + out.head.piggy_back) return false;
  out.lengths = at + sizeof out.head;
  out.piggy_back = out.lengths + 8 * n_lengths;
  return true;
}

/// Returns the request for an iovec, still without buffers.
LCI_request_t request_for(int rank, LCI_tag_t tag, void* user_context) {
  LCI_request_t r;
  r.flag = LCI_OK;
  r.rank = rank;
  r.tag = tag;
  r.type = LCI_IOVEC;
  r.data.iovec = {{nullptr, 0}, nullptr, 0};
  r.user_context = user_context;
  return r;
}

/// Completes an LCI_recvv() as failed, without buffers. Allocates nothing, since memory may be short.
void deliver_failure(LCI_endpoint_s& ep, comp& to, int rank, LCI_tag_t tag, void* user_context) {
  LCI_request_t failed = request_for(rank, tag, user_context);
  failed.flag = LCI_ERR_FATAL;
  const delivery_count counted(ep.id);
  to.deliver(failed);
}

/// Receives the long buffers of one iovec, and is the completion object of these receives. The creator owns it until it
/// calls start(); after that it owns itself. Receives may end in any thread.
class incoming final : public unfinished, postponed {
 public:
  incoming(LCI_endpoint_s& ep, comp& to, int rank, LCI_tag_t tag, void* user_context, bool is_put)
      : ep_(ep), to_(to), request_(request_for(rank, tag, user_context)), is_put_(is_put) {}

  /// Uses the program's buffers, and sets their lengths to those of the message. Throws if they are too small.
  void take_buffers(const LCI_iovec_t& given, const arrived_step& m) {
    const auto n = static_cast<int>(m.head.count);
    if (given.count != n)
      throw lci::invalid_argument_error("iovec.count = " + std::to_string(given.count) + ", but rank " +
                                        std::to_string(request_.rank) + " has sent " + std::to_string(n));
    if (given.piggy_back.length < m.head.piggy_back)
      throw lci::invalid_argument_error("iovec.piggy_back has " + std::to_string(given.piggy_back.length) +
                                        " bytes, but " + std::to_string(m.head.piggy_back) + " were sent");
    for (int i = 0; i < n; ++i)
      if (given.lbuffers[i].length < m.length(static_cast<size_t>(i)))
        throw lci::invalid_argument_error("iovec.lbuffers[" + std::to_string(i) + "] has " +
                                          std::to_string(given.lbuffers[i].length) + " bytes, but " +
                                          std::to_string(m.length(static_cast<size_t>(i))) + " were sent");
    request_.data.iovec = given;
    request_.data.iovec.piggy_back.length = m.head.piggy_back;
    for (int i = 0; i < n; ++i) given.lbuffers[i].length = m.length(static_cast<size_t>(i));
    lci::insist_on_memory([&] { buffers_.assign(given.lbuffers, given.lbuffers + n); });
    if (m.head.piggy_back > 0) std::memcpy(given.piggy_back.address, m.piggy_back, m.head.piggy_back);
  }

  /// Allocates all buffers. Returns false, and allocates nothing, if there is no memory.
  bool allocate_buffers(const arrived_step& m) {
    const size_t n = m.head.count;
    lci::insist_on_memory([&] { buffers_.assign(n, LCI_lbuffer_t{nullptr, nullptr, 0}); });
    auto* array = static_cast<LCI_lbuffer_t*>(n > 0 ? std::malloc(n * sizeof(LCI_lbuffer_t)) : nullptr);
    void* piggy_back = m.head.piggy_back > 0 ? std::malloc(m.head.piggy_back) : nullptr;
    bool complete = (array != nullptr || n == 0) && (piggy_back != nullptr || m.head.piggy_back == 0);
    for (size_t i = 0; complete && i < n; ++i) {
      buffers_[i].length = m.length(i);
      if (buffers_[i].length == 0) continue;
      buffers_[i].address = std::malloc(buffers_[i].length);
      complete = buffers_[i].address != nullptr;
    }
    if (!complete) {
      for (const LCI_lbuffer_t& b : buffers_) std::free(b.address);
      std::free(array);
      std::free(piggy_back);
      return false;
    }
    if (m.head.piggy_back > 0) std::memcpy(piggy_back, m.piggy_back, m.head.piggy_back);
    for (size_t i = 0; i < n; ++i) {
      array[i] = buffers_[i];
      record_allocated(buffers_[i].address);
    }
    if (m.head.type == LCI_LONG && n == 1) {
      request_.type = LCI_LONG;
      request_.data.lbuffer = buffers_[0];
      std::free(array);
      std::free(piggy_back);
    } else {
      request_.data.iovec = {{piggy_back, m.head.piggy_back}, array, static_cast<int>(n)};
    }
    allocated_ = true;
    return true;
  }

  /// Posts the receives, then answers.
  void start(const step_head& first) {
    first_tag_ = first.first_tag;
    answer_.id = first.id;
    answer_.accepted = 1;
    left_.store(1, std::memory_order_relaxed);  // until the answer is posted
    for (size_t i = 0; answer_.accepted != 0 && i < buffers_.size(); ++i) {
      if (buffers_[i].length == 0) continue;
      left_.fetch_add(1, std::memory_order_relaxed);
      try {
        const lci::status_t s = insist_on_post([&] {
          return lci::post_recv_x(request_.rank, buffers_[i].address, buffers_[i].length,
                                  first_tag_ + static_cast<uint32_t>(i), lci::comp_t(this))
              .device(ep_.core)
              .matching_engine(the_world().pieces)
              .mr(registration_of(buffers_[i].segment))
              .allow_retry(false)();
        });
        if (!s.is_posted()) signal(s);
        answer_.count = static_cast<uint32_t>(i) + 1;
      } catch (...) {
        answer_.accepted = 0;
        (void)fail_by_exception("a long buffer of an iovec");
        end_piece(false);
      }
    }
    go_on();
  }

  /// A message of another size says that the sender can't send the buffer.
  void signal(lci::status_t status) override {
    const size_t i = static_cast<uint32_t>(status.tag) - first_tag_;
    end_piece(flag_of(status) == LCI_OK && i < buffers_.size() && status.size == buffers_[i].length);
  }

 private:
  void go_on() noexcept override {
    // If the peer has failed, the receives end as failed.
    if (!try_post_step(ep_.core, request_.rank, ep_.id_bits | request_.tag, answer_))
      return the_world().postponed.add(*this, ep_.device);
    end_piece(answer_.accepted != 0);
  }
  void drop() noexcept override {}  // LCI_finalize() frees it, as all that is unfinished

  void end_piece(bool good) {
    if (!good) failed_.store(true, std::memory_order_relaxed);
    // A1: pairs with itself: the thread that ends the last piece sees the data and errors of all others.
    if (left_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    const delivery_count counted(ep_.id);
    if (failed_.load(std::memory_order_relaxed)) fail_request();
    const LCI_request_t ended = request_;
    comp& to = to_;
    const bool is_reported = ended.flag == LCI_OK || !is_put_;
    delete this;
    if (is_reported) to.deliver(ended);
  }
  /// The program does not get memory that was allocated for it.
  void fail_request() {
    request_.flag = LCI_ERR_FATAL;
    if (!allocated_) return;
    for (const LCI_lbuffer_t& b : buffers_) {
      record_returned(b.address);
      std::free(b.address);
    }
    if (request_.type == LCI_IOVEC) {
      std::free(request_.data.iovec.lbuffers);
      std::free(request_.data.iovec.piggy_back.address);
    }
    request_.type = LCI_IOVEC;
    request_.data.iovec = {{nullptr, 0}, nullptr, 0};
  }

  LCI_endpoint_s& ep_;
  comp& to_;
  LCI_request_t request_;
  const bool is_put_;
  bool allocated_ = false;  // the buffers, for the program
  std::vector<LCI_lbuffer_t> buffers_;
  uint32_t first_tag_ = 0;
  step_head answer_;
  std::atomic<size_t> left_{0};
  std::atomic<bool> failed_{false};
};

/// Tells the peer that its operation has failed, now or when there is memory.
void refuse(LCI_endpoint_s& ep, int rank, LCI_tag_t tag, uint64_t id) noexcept {
  step_head answer;
  answer.id = id;
  if (try_post_step(ep.core, rank, ep.id_bits | tag, answer)) return;
  if (the_world().postponed.add_refusal(ep, rank, tag, id)) return;
  (void)fail("LCI_progress", "there is no memory to tell rank %d that an iovec has failed: it waits for that", rank);
}

/// Receives the long buffers of a `send`, into the buffers `given` by LCI_recvv(), or of a `put` (`given` is null).
/// If the program has passed no buffers, allocates them by malloc(). If there is no memory, the operation fails at both
/// sides.
void receive(LCI_endpoint_s& ep, comp& to, int rank, LCI_tag_t tag, const arrived_step& m, const LCI_iovec_t* given,
             void* user_context) {
  const bool allocates = given == nullptr || has_no_buffers(*given);
  const char* const function = given == nullptr ? "LCI_putva" : "LCI_recvv";
  try {
    auto in = lci::insist_on_memory(
        [&] { return std::make_unique<incoming>(ep, to, rank, tag, user_context, given == nullptr); });
    if (allocates ? in->allocate_buffers(m) : (in->take_buffers(*given, m), true)) {
      in.release()->start(m.head);
      return;
    }
    throw std::bad_alloc();
  } catch (const std::bad_alloc&) {
    (void)fail(function, "there is no memory for an iovec from rank %d: the sender's completion says so", rank);
  } catch (const lci::invalid_argument_error&) {
    (void)fail_by_exception(function);
  }
  refuse(ep, rank, tag, m.head.id);
  // A put that was refused is not reported at the target: only its sender gets an error.
  if (given != nullptr) return deliver_failure(ep, to, rank, tag, user_context);
  count_delivered(ep.id);
}

/// What a `send` step is received into: a packet, or ordinary memory if senders need the packets that are left.
class step_memory {
 public:
  step_memory() : packet_(take_packet_to_receive()), ordinary_(nullptr, std::free) {
    if (LCI_UNLIKELY(packet_ == nullptr)) ordinary_.reset(std::malloc(size()));
  }
  static size_t size() { return static_cast<size_t>(LCI_MEDIUM_SIZE) + packet_slack; }
  void* get() const { return packet_ != nullptr ? packet_ : ordinary_.get(); }
  /// Not done by the destructor, which frees ordinary memory only: the packets may be gone by then.
  void give_back() {
    if (packet_ != nullptr) give_back_packet(packet_);
    packet_ = nullptr;
  }

 private:
  void* packet_;
  std::unique_ptr<void, void (*)(void*)> ordinary_;
};

/// A posted LCI_recvv(): the completion object of the receive of a `send` step. Deletes itself in signal().
class vector_receive final : public unfinished {
 public:
  vector_receive(LCI_endpoint_s& ep, comp& to, const LCI_iovec_t& given, LCI_tag_t tag, void* user_context)
      : ep_(ep), to_(to), given_(given), tag_(tag), user_context_(user_context) {}

  void signal(lci::status_t s) override {
    const std::unique_ptr<vector_receive> mine(this);
    end_checked_receive(ep_);
    struct memory_return {
      step_memory& memory;
      ~memory_return() { memory.give_back(); }
    } const guard{memory};
    arrived_step m;
    if (flag_of(s) == LCI_OK && read(s, m) && m.head.what == step::send)
      return receive(ep_, to_, s.rank, tag_, m, &given_, user_context_);
    deliver_failure(ep_, to_, s.rank, tag_, user_context_);
  }

  step_memory memory;

 private:
  LCI_endpoint_s& ep_;
  comp& to_;
  const LCI_iovec_t given_;
  const LCI_tag_t tag_;
  void* const user_context_;
};

comp& receiver_of(LCI_endpoint_s& ep, uint32_t receiver, const lci::status_t& s) {
  if (receiver == 0) return *ep.default_comp;
  comp& c = the_world().comps.find(reinterpret_cast<const void*>(static_cast<uintptr_t>(receiver)));
  if (c.what == comp::kind::freed)
    throw lci::invalid_argument_error("rank " + std::to_string(s.rank) +
                                      " has named remote_completion = " + std::to_string(receiver) +
                                      ", which is no completion object of this rank, or one that was freed: free "
                                      "completion objects when no peer uses them any more");
  return c;
}

/// Delivers a request without long buffers to a completion object.
void deliver_signal(comp& to, const lci::status_t& s, const step_head& head) {
  LCI_request_t r;
  r.flag = LCI_OK;
  r.rank = s.rank;
  r.tag = user_tag_of(s.tag);
  r.type = LCI_IOVEC;
  r.data.iovec = {{reinterpret_cast<void*>(head.address), head.piggy_back}, nullptr, static_cast<int>(head.count)};
  r.user_context = nullptr;
  to.deliver(r);
}

void handle_put(LCI_endpoint_s& ep, const lci::status_t& s, const arrived_step& m) {
  comp* to = nullptr;
  try {
    to = &receiver_of(ep, m.head.receiver, s);
  } catch (...) {
    count_delivered(ep.id);
    refuse(ep, s.rank, user_tag_of(s.tag), m.head.id);
    throw;
  }
  receive(ep, *to, s.rank, user_tag_of(s.tag), m, nullptr, nullptr);
}

void handle_placed(LCI_endpoint_s& ep, const lci::status_t& s, const arrived_step& m) {
  const delivery_count counted(ep.id);
  if (m.head.piggy_back > 0) std::memcpy(reinterpret_cast<void*>(m.head.address), m.piggy_back, m.head.piggy_back);
  if (m.head.signals != 0) deliver_signal(receiver_of(ep, m.head.receiver, s), s, m.head);
}

void handle_fetch(LCI_endpoint_s& ep, const lci::status_t& s, const arrived_step& m) {
  step_head reply;
  reply.what = step::fetched;
  reply.accepted = 1;
  reply.id = m.head.id;
  reply.piggy_back = m.head.wanted;
  const delivery_count counted(ep.id);
  const bool posted = try_post(
      [&] { post_step(ep, s.rank, user_tag_of(s.tag), reply, reinterpret_cast<const void*>(m.head.address)); });
  if (!posted) {
    (void)fail("LCI_getv", "there is no memory for piggy-back data that rank %d gets: its completion says so", s.rank);
    return refuse(ep, s.rank, user_tag_of(s.tag), m.head.id);
  }
  step_head delivered = m.head;
  delivered.piggy_back = m.head.wanted;
  if (m.head.signals != 0) deliver_signal(receiver_of(ep, m.head.receiver, s), s, delivered);
}

}  // namespace

void v1::handle_step(LCI_endpoint_s& ep, const lci::status_t& s) {
  arrived_step m;
  if (!read(s, m))
    throw lci::resource_error("a step of an iovec from rank " + std::to_string(s.rank) + " has " +
                              std::to_string(s.size) +
                              " bytes, which is no valid size: do the ranks run the same "
                              "version of this library?");
  switch (m.head.what) {
    case step::put:
      return handle_put(ep, s, m);
    case step::placed:
      return handle_placed(ep, s, m);
    case step::fetch:
      return handle_fetch(ep, s, m);
    case step::answer:
    case step::fetched:
      if (issued_vector* v = the_world().awaited.take(m.head.id, s.rank)) v->answered(m.head, m.piggy_back);
      return;
    case step::send:
      break;
  }
  throw lci::resource_error("a step of an iovec from rank " + std::to_string(s.rank) + " is of no known kind");
}

LCI_error_t LCI_recvv(LCI_endpoint_t ep, LCI_iovec_t iovec, int rank, LCI_tag_t tag, LCI_comp_t completion,
                      void* user_context) {
  return guarded("LCI_recvv", [&] {
    if (checking()) check_vector_receive(ep, rank, tag, iovec);
    const lci::tag_t core_tag = send_tag(*ep, space::vectors, tag);
    const int source = source_of(*ep, rank);
    comp& to = completion_of(completion);
    if (has_no_buffers(iovec)) require_completion(to);
    auto r = std::make_unique<vector_receive>(*ep, to, iovec, tag, user_context);
    if (r->memory.get() == nullptr) return LCI_ERR_RETRY;
    lci::status_t s;
    try {
      s = lci::post_recv_x(source, r->memory.get(), step_memory::size(), core_tag, lci::comp_t(r.get()))
              .device(ep->core)
              .matching_policy(ep->policy)();
    } catch (...) {
      r->memory.give_back();
      throw;
    }
    if (s.is_retry()) {
      r->memory.give_back();
      return refused();
    }
    begin_checked_receive(*ep);
    vector_receive* owned = r.release();
    if (!s.is_posted()) owned->signal(s);
    return LCI_OK;
  });
}
