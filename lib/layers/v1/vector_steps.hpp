// A transfer of an iovec takes several messages, called steps: their format, and the base class of the operations that
// send and await them at the rank that posted the transfer.
#pragma once

#include <lci.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include <lci.hpp>

#include "lib/base/insist_on_memory.hpp"
#include "lib/layers/v1/buffers.hpp"
#include "lib/layers/v1/comp.hpp"
#include "lib/layers/v1/errors.hpp"

namespace v1 {

enum class step : uint32_t {
  send,     ///< lengths of the buffers of LCI_sendv(); matched by LCI_recvv()
  put,      ///< lengths of the buffers of LCI_putva(); an active message, as all below
  answer,   ///< by the target: whether it has posted receives for the buffers
  placed,   ///< the long buffers of a put are in the target's memory
  fetch,    ///< the long buffers of a get have been read
  fetched,  ///< the piggy-back data of a get
};

/// The beginning of a step. `count` lengths of 8 bytes follow in a `send` and a `put`, then the piggy-back data.
struct step_head {
  step what = step::answer;
  uint32_t accepted = 0;  ///< of an `answer`: whether all receives are posted
  uint64_t id = 0;        ///< of the operation that waits for the answer; chosen by its rank
  uint64_t address = 0;   ///< of a `placed` and a `fetch`: address of the piggy-back data at the target
  uint32_t receiver = 0;  ///< the target's completion object; 0: the default one
  uint32_t signals = 0;   ///< whether the step signals `receiver`
  union {
    uint32_t first_tag = 0;  ///< tag of the first long buffer; the others have the tags that follow
    uint32_t wanted;         ///< of a `fetch`: size of the piggy-back data that its sender wants, in bytes
  };
  uint32_t count = 0;       ///< number of long buffers; of an `answer`: of those whose receives are posted
  uint32_t piggy_back = 0;  ///< size of the piggy-back data, in bytes
  uint32_t type = 0;        ///< LCI_data_type_t of the target's request
};
static_assert(sizeof(step_head) == 48);
static_assert(sizeof(step_head) - 24 <= packet_slack, "LCI_get_iovec_piggy_back_size() subtracts 24 bytes");

/// Owns a packet that contains a step, and returns it to its pool unless it was posted. Used by one thread.
class step_packet {
 public:
  /// Empty if there is no packet.
  step_packet() : packet_(take_packet_to_send()) {}
  ~step_packet() {
    if (packet_ != nullptr) give_back_packet(packet_);
  }
  step_packet(const step_packet&) = delete;
  step_packet& operator=(const step_packet&) = delete;

  bool is_empty() const { return packet_ == nullptr; }
  void fill(const step_head& head, const std::vector<LCI_lbuffer_t>& lengths, const void* piggy_back);
  const void* data() const { return packet_; }
  size_t size() const { return size_; }
  /// The core has taken ownership of the packet.
  void taken() { packet_ = nullptr; }

  /// Sends the step now, or queues it. Throws if the peer has failed.
  void post(LCI_endpoint_s& ep, int rank, LCI_tag_t tag);

 private:
  void* packet_;
  size_t size_ = 0;
};

/// Sends a step without lengths. Throws if the peer has failed.
void post_step(LCI_endpoint_s& ep, int rank, LCI_tag_t tag, const step_head& head, const void* piggy_back = nullptr);
/// Calls post(), which posts a message that a peer waits for. Returns false if memory or the network's resources are
/// short now: the caller must try again later. Returns true if the message was posted, or if the peer has failed, so
/// that nobody waits for it.
template <class F>
bool try_post(F post) noexcept;
/// Sends an answer, by try_post(). `tag` contains the bits of the endpoint.
bool try_post_step(lci::device_t device, int rank, lci::tag_t tag, const step_head& head) noexcept;

/// An operation on an iovec that this rank has posted. It is the completion object of its pieces (the transfers of the
/// long buffers); the end of the last piece ends the operation. The creator owns it until it waits for an answer or its
/// pieces are posted; after that it owns itself. Pieces may end in any thread.
class issued_vector : public lci::comp_impl_t {
 public:
  issued_vector(LCI_endpoint_s& ep, comp& to, int rank, LCI_tag_t tag, const LCI_iovec_t& iovec, LCI_data_type_t type,
                void* user_context);
  void signal(lci::status_t status) override;

  /// Counts it as issued, until finish() or withdraw().
  void begin();
  /// Frees an operation that was not posted.
  void withdraw();
  /// Called when the target has answered; `piggy_back` is valid during the call.
  virtual void answered(const step_head& answer, const void* piggy_back);
  /// Ends the operation: signals its completion object, and frees it.
  void finish(bool good);

  LCI_endpoint_s& ep;
  const int rank;
  const LCI_tag_t tag;
  const std::vector<LCI_lbuffer_t> buffers;  ///< a copy: the program's array need not outlive the call
  uint32_t first_tag = 0;

 protected:
  /// Called when all pieces have ended.
  virtual void pieces_ended(bool good) { finish(good); }
  /// Called for a piece that could not be posted, or has failed, before it ends.
  virtual void piece_failed(size_t index) { (void)index; }
  /// Posts each long buffer that is not empty by `post(buffer, index)`.
  template <class F>
  void post_pieces(F post);
  void end_piece(bool good);

 private:
  comp& to_;
  LCI_request_t request_;
  std::atomic<size_t> left_{0};
  std::atomic<bool> failed_{false};
  uint8_t period_ = 0;
};

template <class F>
bool try_post(F post) noexcept {
  try {
    post();
  } catch (const std::bad_alloc&) {
    return false;
  } catch (const lci::resource_error&) {
    return false;
  } catch (...) {
    (void)fail_by_exception("an answer to an iovec");
  }
  return true;
}

/// Calls `post()` until it does not throw for want of memory, as insist_on_memory() does.
template <class F>
lci::status_t insist_on_post(F post) {
  return lci::insist_on_memory([&] { return lci::insist_on_memory<lci::resource_error>(post); });
}

template <class F>
void issued_vector::post_pieces(F post) {
  left_.store(1, std::memory_order_relaxed);  // for this function, until all pieces are posted
  bool good = true;
  for (size_t i = 0; good && i < buffers.size(); ++i) {
    if (buffers[i].length == 0) continue;
    left_.fetch_add(1, std::memory_order_relaxed);
    try {
      const lci::status_t s = insist_on_post([&] { return post(buffers[i], i); });
      if (s.is_posted()) continue;
      if (!s.is_done()) piece_failed(i);
      end_piece(s.is_done());
    } catch (...) {  // the pieces posted before are outstanding: the operation ends with the last of them
      good = false;
      (void)fail_by_exception("a long buffer of an iovec");
      for (size_t left = i; left < buffers.size(); ++left) piece_failed(left);
      end_piece(false);
    }
  }
  end_piece(good);
}

}  // namespace v1
