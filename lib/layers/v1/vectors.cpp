// Iovecs that are sent, put into memory that the target allocates, put to and got from memory of the target.
#include "lib/layers/v1/vectors.hpp"

#include <string>

#include "lib/layers/v1/buffers.hpp"
#include "lib/layers/v1/checking.hpp"
#include "lib/layers/v1/errors.hpp"
#include "lib/layers/v1/messages.hpp"
#include "lib/layers/v1/record.hpp"
#include "lib/layers/v1/rma.hpp"
#include "lib/layers/v1/vector_steps.hpp"
#include "lib/layers/v1/world.hpp"

namespace v1 {

namespace {

void check_shape(const LCI_iovec_t& v) {
  if (v.count < 0 || v.count > LCI_IOVEC_SIZE)
    throw lci::invalid_argument_error("iovec.count = " + std::to_string(v.count) +
                                      ", but must be 0 to LCI_IOVEC_SIZE = " + std::to_string(LCI_IOVEC_SIZE));
  if (v.count > 0 && v.lbuffers == nullptr)
    throw lci::invalid_argument_error(
        "iovec.lbuffers is NULL, but must be an array of iovec.count = " + std::to_string(v.count) + " buffers");
  const size_t most = LCI_get_iovec_piggy_back_size(v.count);
  if (v.piggy_back.length > most)
    throw lci::invalid_argument_error(
        "iovec.piggy_back.length = " + std::to_string(v.piggy_back.length) +
        ", but must be at most LCI_get_iovec_piggy_back_size(count) = " + std::to_string(most));
}

/// Sends its long buffers once the target has posted receives for them. If that fails for a buffer, the target gets a
/// message without bytes in its place, so that its receive ends.
class outgoing final : public issued_vector, postponed {
 public:
  outgoing(LCI_endpoint_s& endpoint, comp& to, int peer, LCI_tag_t of_program, const LCI_iovec_t& iovec,
           LCI_data_type_t type, void* user_context)
      : issued_vector(endpoint, to, peer, of_program, iovec, type, user_context), unsent_(buffers.size()) {}

  void answered(const step_head& answer, const void*) override {
    if (answer.accepted == 0) {  // the target may have posted receives before it failed
      for (size_t i = 0; i < buffers.size() && i < answer.count; ++i) piece_failed(i);
      return go_on();
    }
    post_pieces([this](const LCI_lbuffer_t& b, size_t i) {
      const owned_buffer owned(ep, b.address, b.length);
      return lci::post_send_x(rank, b.address, b.length, tag_of_piece(i), lci::comp_t(this))
          .device(ep.core)
          .matching_engine(the_world().pieces)
          .mr(registration_of(b.segment))
          .layout(owned.layout())
          .allow_retry(false)();
    });
  }
  void signal(lci::status_t status) override {
    if (const size_t i = static_cast<uint32_t>(status.tag) - first_tag; flag_of(status) != LCI_OK && i < unsent_.size())
      piece_failed(i);
    issued_vector::signal(status);
  }

 private:
  lci::tag_t tag_of_piece(size_t i) const { return first_tag + static_cast<uint32_t>(i); }

  void piece_failed(size_t index) override { unsent_[index] = 1; }
  void pieces_ended(bool good) override { good ? finish(true) : go_on(); }

  /// Sends the messages without bytes, then ends the operation.
  void go_on() noexcept override {
    for (; next_ < unsent_.size(); ++next_) {
      if (unsent_[next_] == 0 || buffers[next_].length == 0) continue;
      const bool posted = try_post([&] {
        (void)lci::post_send_x(rank, nullptr, 0, tag_of_piece(next_), lci::COMP_NULL)
            .device(ep.core)
            .matching_engine(the_world().pieces)();
      });
      if (!posted) return the_world().postponed.add(*this, ep.device);
    }
    finish(false);
  }
  void drop() noexcept override { withdraw(); }

  std::vector<unsigned char> unsent_;  // for each piece whether it has failed; written before the piece ends
  size_t next_ = 0;                    // the next piece of go_on()
};

/// Sends the first step by `post(packet)`, which returns a status.
template <class F>
LCI_error_t start(std::unique_ptr<outgoing> v, const LCI_iovec_t& iovec, step_head head, F post) {
  check_shape(iovec);
  step_packet packet;
  if (packet.is_empty()) return LCI_ERR_RETRY;
  LCI_endpoint_s& ep = v->ep;
  const int rank = v->rank;
  head.count = static_cast<uint32_t>(iovec.count);
  head.piggy_back = static_cast<uint32_t>(iovec.piggy_back.length);
  head.first_tag = v->first_tag = the_world().next_piece.fetch_add(head.count, std::memory_order_relaxed);
  head.id = the_world().awaited.next_id();
  packet.fill(head, v->buffers, iovec.piggy_back.address);
  v->begin();
  try {
    the_world().awaited.add(head.id, v.get());
  } catch (...) {
    v.release()->withdraw();
    throw;
  }
  v.release();
  const unsigned id = ep.id;  // read now: another thread may deliver the completion, whose handler frees the endpoint
  lci::status_t status;
  try {
    status = post(packet);
  } catch (...) {
    if (issued_vector* mine = the_world().awaited.take(head.id, rank)) mine->withdraw();
    throw;
  }
  if (status.is_retry()) {
    if (issued_vector* mine = the_world().awaited.take(head.id, rank)) mine->withdraw();
    return refused();
  }
  packet.taken();
  count_sent(id);
  return LCI_OK;
}

/// Puts its long buffers, then has the target informed.
class placing final : public issued_vector {
 public:
  using issued_vector::issued_vector;

  void post(const LCI_iovec_t& local, const LCI_iovec_t& remote, const std::vector<LCI_lbuffer_t>& there,
            step_head head) {
    head.what = step::placed;
    head.address = reinterpret_cast<uint64_t>(remote.piggy_back.address);
    head.count = static_cast<uint32_t>(local.count);
    head.piggy_back = static_cast<uint32_t>(local.piggy_back.length);
    informs_ = head.signals != 0 || head.piggy_back > 0;
    last_.fill(head, {}, local.piggy_back.address);
    begin();
    post_pieces([&](const LCI_lbuffer_t& b, size_t i) {
      const remote_range r = range_of(there[i]);
      return lci::post_put_x(rank, b.address, b.length, lci::comp_t(this), r.offset, r.key)
          .device(ep.core)
          .mr(registration_of(b.segment))
          .allow_retry(false)();
    });
  }
  bool has_packet() const { return !last_.is_empty(); }

 private:
  void pieces_ended(bool good) override {
    if (good && informs_) {
      try {
        last_.post(ep, rank, tag);
        count_sent(ep.id);
      } catch (...) {
        good = fail_by_exception("LCI_putv") == LCI_OK;
      }
    }
    finish(good);
  }

  step_packet last_;
  bool informs_ = false;
};

/// Gets its long buffers, then the piggy-back data.
class getting final : public issued_vector {
 public:
  using issued_vector::issued_vector;

  void post(const LCI_iovec_t& local, const LCI_iovec_t& remote, const std::vector<LCI_lbuffer_t>& there,
            const step_head& head) {
    into_ = local.piggy_back;
    head_ = head;
    head_.what = step::fetch;
    head_.address = reinterpret_cast<uint64_t>(remote.piggy_back.address);
    head_.piggy_back = 0;
    head_.count = static_cast<uint32_t>(remote.count);
    asked_ = remote.piggy_back.length;
    head_.wanted = static_cast<uint32_t>(asked_);
    begin();
    post_pieces([&](const LCI_lbuffer_t& b, size_t i) {
      if (there[i].length == 0) return lci::status_t(lci::errorcode_t::done);
      const remote_range r = range_of(there[i]);
      return lci::post_get_x(rank, b.address, there[i].length, lci::comp_t(this), r.offset, r.key)
          .device(ep.core)
          .mr(registration_of(b.segment))
          .allow_retry(false)();
    });
  }

 private:
  void pieces_ended(bool good) override {
    if (!good || (head_.signals == 0 && asked_ == 0)) return finish(good);
    step_head head = head_;
    head.id = the_world().awaited.next_id();
    const int peer = rank;
    const LCI_tag_t its_tag = tag;
    LCI_endpoint_s& endpoint = ep;
    const unsigned id = endpoint.id;
    try {
      the_world().awaited.add(head.id, this);
    } catch (...) {
      (void)fail_by_exception("LCI_getv");
      return finish(false);
    }
    try {
      count_sent(id);
      post_step(endpoint, peer, its_tag, head);
    } catch (...) {
      (void)fail_by_exception("LCI_getv");
      count_delivered(id);  // in place of the target, which gets no message: fences wait until both numbers are equal
      if (issued_vector* mine = the_world().awaited.take(head.id, peer)) mine->finish(false);
    }
  }
  void answered(const step_head& answer, const void* piggy_back) override {
    const bool good = answer.accepted != 0 && answer.piggy_back == asked_;
    if (good && asked_ > 0) std::memcpy(into_.address, piggy_back, asked_);
    finish(good);
  }

  LCI_mbuffer_t into_{};
  step_head head_;
  size_t asked_ = 0;
};

step_head informing(uintptr_t remote_completion) {
  step_head head;
  head.signals = remote_completion != LCI_NO_COMP_REMOTE;
  head.receiver = head.signals != 0 ? remote_handle(remote_completion) : 0;
  return head;
}

/// Both sides have as many buffers, and those that are written are not shorter.
void check_compatible(const LCI_iovec_t& from, const LCI_iovec_t& into, bool remote_is_into) {
  check_shape(from);
  if (from.count != into.count)
    throw lci::invalid_argument_error("local_iovec.count and remote_iovec.count are " + std::to_string(from.count) +
                                      " and " + std::to_string(into.count) + ", but must be equal");
  check_shape(into);
  for (int i = 0; i < from.count; ++i) {
    if (from.lbuffers[i].length > 0) (void)range_of(remote_is_into ? into.lbuffers[i] : from.lbuffers[i]);
    if (into.lbuffers[i].length < from.lbuffers[i].length)
      throw lci::invalid_argument_error("lbuffers[" + std::to_string(i) + "] has " +
                                        std::to_string(from.lbuffers[i].length) + " bytes, but its destination " +
                                        std::to_string(into.lbuffers[i].length));
  }
  if (into.piggy_back.length < from.piggy_back.length)
    throw lci::invalid_argument_error("piggy_back has " + std::to_string(from.piggy_back.length) +
                                      " bytes, but its destination " + std::to_string(into.piggy_back.length));
}

}  // namespace

LCI_error_t put_vector(LCI_endpoint_s& ep, const LCI_iovec_t& iovec, LCI_data_type_t type, comp& to, int rank,
                       LCI_tag_t tag, lci::rcomp_t receiver, void* user_context) {
  check_shape(iovec);
  (void)send_tag(ep, space::vectors, tag);
  step_head head;
  head.what = step::put;
  head.receiver = receiver;
  head.type = type;
  return start(std::make_unique<outgoing>(ep, to, rank, tag, iovec, type, user_context), iovec, head,
               [&](const step_packet& packet) {
                 return lci::post_am_x(rank, packet.data(), packet.size(), lci::COMP_NULL_RETRY, ep.ports->steps)
                     .device(ep.core)
                     .tag(ep.id_bits | tag)();
               });
}

}  // namespace v1

using namespace v1;

LCI_error_t LCI_sendv(LCI_endpoint_t ep, LCI_iovec_t iovec, int rank, LCI_tag_t tag, LCI_comp_t completion,
                      void* user_context) {
  return guarded("LCI_sendv", [&] {
    if (checking()) check_vector(ep, rank, tag, iovec);
    check_shape(iovec);
    const lci::tag_t core_tag = send_tag(*ep, space::vectors, tag);
    step_head head;
    head.what = step::send;
    return start(std::make_unique<outgoing>(*ep, completion_of(completion), rank, tag, iovec, LCI_IOVEC, user_context),
                 iovec, head, [&](const step_packet& packet) {
                   return lci::post_send_x(rank, packet.data(), packet.size(), core_tag, lci::COMP_NULL_RETRY)
                       .device(ep->core)
                       .matching_policy(ep->policy)();
                 });
  });
}

LCI_error_t LCI_putva(LCI_endpoint_t ep, LCI_iovec_t iovec, LCI_comp_t completion, int rank, LCI_tag_t tag,
                      uintptr_t remote_completion, void* user_context) {
  return guarded("LCI_putva", [&] {
    if (checking()) check_vector(ep, rank, tag, iovec);
    return put_vector(*ep, iovec, LCI_IOVEC, completion_of(completion), rank, tag, remote_handle(remote_completion),
                      user_context);
  });
}

LCI_error_t LCI_putv(LCI_endpoint_t ep, LCI_iovec_t local, LCI_comp_t local_completion, int rank, LCI_tag_t tag,
                     LCI_iovec_t remote, uintptr_t remote_completion, void* user_context) {
  return guarded("LCI_putv", [&] {
    if (checking()) check_vector(ep, rank, tag, local);
    check_compatible(local, remote, true);
    (void)arrival_tag(*ep, arrival::signal, tag);
    const step_head head = informing(remote_completion);
    auto v = std::make_unique<placing>(*ep, completion_of(local_completion), rank, tag, local, LCI_IOVEC, user_context);
    if (!v->has_packet()) return LCI_ERR_RETRY;
    const std::vector<LCI_lbuffer_t> there(remote.lbuffers, remote.lbuffers + remote.count);
    v.release()->post(local, remote, there, head);
    return LCI_OK;
  });
}

LCI_error_t LCI_putvs(LCI_endpoint_t ep, LCI_iovec_t local, int rank, LCI_tag_t tag, LCI_iovec_t remote,
                      uintptr_t remote_completion, void* user_context) {
  return LCI_putv(ep, local, nullptr, rank, tag, remote, remote_completion, user_context);
}

LCI_error_t LCI_getv(LCI_endpoint_t ep, LCI_iovec_t local, LCI_comp_t local_completion, int rank, LCI_tag_t tag,
                     LCI_iovec_t remote, uintptr_t remote_completion, void* user_context) {
  return guarded("LCI_getv", [&] {
    if (checking()) check_vector(ep, rank, tag, local);
    check_compatible(remote, local, false);
    (void)arrival_tag(*ep, arrival::signal, tag);
    const step_head head = informing(remote_completion);
    auto v = std::make_unique<getting>(*ep, completion_of(local_completion), rank, tag, local, LCI_IOVEC, user_context);
    const std::vector<LCI_lbuffer_t> there(remote.lbuffers, remote.lbuffers + remote.count);
    v.release()->post(local, remote, there, head);
    return LCI_OK;
  });
}
