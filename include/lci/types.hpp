// Plain types of the interface: numbers, enumerations, error codes, the status of an operation.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lci/config.hpp"

namespace lci {

/// Tag of a message. Valid range: 0 .. runtime's `max_tag`.
using tag_t = uint64_t;
/// Remote completion handle: identifies a completion object of the target rank. 0 means none.
using rcomp_t = uint32_t;
/// Immediate data of a raw network operation.
using net_imm_data_t = uint32_t;
/// Key and value of a matching engine's entry.
using matching_entry_key_t = uint64_t;
using matching_entry_val_t = void*;
enum class matching_entry_type_t : unsigned { send = 0, recv = 1 };

/// Receive from any rank (turns the matching policy into `tag_only`, or `none` with ANY_TAG).
constexpr int ANY_SOURCE = -1;
/// Flush all ranks.
constexpr int ALL_RANKS = -1;
/// Receive any tag (turns the matching policy into `rank_only`, or `none` with ANY_SOURCE).
constexpr tag_t ANY_TAG = ~tag_t{0};

/// Direction of a communication as the posting rank sees it.
enum class direction_t { OUT, IN };

/// Which of (rank, tag) a matching engine compares. Sender and receiver must use the same policy.
enum class matching_policy_t : unsigned { none = 0, rank_only = 1, tag_only = 2, rank_tag = 3, max = 4 };

/// When an outgoing operation counts as complete.
enum class comp_semantic_t {
  memory,   ///< the local buffer may be reused
  network,  ///< the network has finished the operation
  remote,   ///< the data is visible to loads of the target
};

enum class attr_backend_t { none, ibv, ofi, ucx, shm, sim, tcp };

/// Result of a call, in three ordered ranges (done, posted, retry). Codes from `fatal` on are ends of
/// operations in flight; fatal errors of a call are exceptions.
enum class errorcode_t {
  done_min,
  done,            ///< complete; the completion object is not signalled
  done_backlog,    ///< queued inside the library; the caller's buffer may be reused
  done_truncated,  ///< complete, but the message was longer than the receive buffer
  done_max,
  posted_min,
  posted,          ///< the completion object will be signalled, once
  posted_backlog,  ///< as `posted`; the request waits inside the library for a resource
  posted_max,
  retry_min,
  retry,           ///< nothing was done: call again (after some progress)
  retry_init,      ///< initial value of a status
  retry_lock,      ///< another thread holds the resource
  retry_nopacket,  ///< the packet pool is empty
  retry_nomem,     ///< the network's send queue is full
  retry_backlog,   ///< earlier requests to the same peer wait in the backlog, or the stream's window is full
  retry_max,
  fatal,      ///< end of an operation in flight: its peer has failed, or refuses it
  cancelled,  ///< end of an operation in flight: it was cancelled, locally or by its peer
  timed_out,  ///< end of an operation in flight: it had not completed at its deadline
  no_memory,  ///< end of an operation in flight: its target had no memory for the message, and dropped it
};

/// Name of an error code, e.g. "retry_lock".
LCI_API const char* get_errorcode_str(errorcode_t code);

/// An error code with its predicates.
struct error_t {
  errorcode_t errorcode = errorcode_t::retry_init;

  constexpr error_t() = default;
  constexpr error_t(errorcode_t code) : errorcode(code) {}  // NOLINT: implicit on purpose

  constexpr bool is_done() const { return errorcode < errorcode_t::done_max; }
  constexpr bool is_posted() const {
    return errorcode > errorcode_t::posted_min && errorcode < errorcode_t::posted_max;
  }
  constexpr bool is_retry() const { return errorcode > errorcode_t::retry_min && errorcode < errorcode_t::retry_max; }
  void reset_retry() { errorcode = errorcode_t::retry_init; }
  const char* get_str() const { return get_errorcode_str(errorcode); }
  friend constexpr bool operator==(error_t a, error_t b) { return a.errorcode == b.errorcode; }
  friend constexpr bool operator!=(error_t a, error_t b) { return a.errorcode != b.errorcode; }
};

/// Memory and its size, for posts. Converts to a pointer.
struct buffer_t {
  void* base = nullptr;
  size_t size = 0;

  operator void*() const { return base; }  // NOLINT: implicit on purpose
  template <class T>
  explicit operator T*() const {
    return static_cast<T*>(base);
  }
};

/// A range of local memory that is only read.
struct const_buffer_t {
  const void* base = nullptr;
  size_t size = 0;

  constexpr const_buffer_t() = default;
  constexpr const_buffer_t(const void* b, size_t n) : base(b), size(n) {}
  constexpr const_buffer_t(buffer_t b) : base(b.base), size(b.size) {}  // NOLINT: implicit on purpose
};

/// The state or result of an operation: returned by posts, passed to completion objects.
struct status_t {
  error_t error;
  int rank = -1;           ///< the peer
  void* buffer = nullptr;  ///< local buffer; for a signal, the target's address
  size_t size = 0;         ///< bytes moved
  tag_t tag = 0;
  void* user_context = nullptr;  ///< as given to the post

  constexpr status_t() = default;
  constexpr status_t(errorcode_t code) : error(code) {}  // NOLINT: implicit on purpose
  constexpr status_t(error_t e) : error(e) {}            // NOLINT: implicit on purpose
  constexpr explicit status_t(void* context) : error(errorcode_t::done), user_context(context) {}

  constexpr bool is_done() const { return error.is_done(); }
  constexpr bool is_posted() const { return error.is_posted(); }
  constexpr bool is_retry() const { return error.is_retry(); }
  void set_done() { error = errorcode_t::done; }
  void set_posted() { error = errorcode_t::posted; }
  void set_retry() { error = errorcode_t::retry; }

  error_t get_error() const { return error; }
  int get_rank() const { return rank; }
  void* get_buffer() const { return buffer; }
  size_t get_size() const { return size; }
  tag_t get_tag() const { return tag; }
  void* get_user_context() const { return user_context; }
};
static_assert(sizeof(status_t) == 40, "a status is copied into queues: keep it small");

/// Identifies a posted operation, to cancel it. Plain bytes that may be copied and outlive the
/// operation: the identifier is not reused as long as the runtime exists.
struct operation_t {
  void* impl = nullptr;
  uint64_t serial = 0;

  constexpr bool is_empty() const { return impl == nullptr; }
  friend constexpr bool operator==(operation_t a, operation_t b) { return a.impl == b.impl && a.serial == b.serial; }
  friend constexpr bool operator!=(operation_t a, operation_t b) { return !(a == b); }
};

/// The event that a raw network operation's status reports.
enum class net_opcode_t {
  SEND,          ///< a send of this rank: its buffer may be reused
  RECV,          ///< a message has filled a posted receive
  WRITE,         ///< a put of this rank is complete
  REMOTE_WRITE,  ///< a put with immediate data has written this rank's memory
  READ,          ///< a get of this rank is complete
  ERROR,         ///< an operation has failed: its peer has failed, or a message was truncated
};

/// The result of a raw network operation: returned by net_poll_cq.
struct net_status_t {
  net_opcode_t opcode = net_opcode_t::ERROR;
  int rank = -1;                 ///< the peer
  void* user_context = nullptr;  ///< as given to the post; null for REMOTE_WRITE
  size_t length = 0;             ///< bytes moved
  net_imm_data_t imm_data = 0;   ///< of RECV and REMOTE_WRITE: the sender's
};

/// A registered range of a rank's memory. Plain bytes, to be sent to the ranks that may access it. Programs rely
/// on its size of three words.
struct rmr_t {
  uint64_t base = 0;             ///< address of its first byte at the owner
  uint64_t size_and_device = 0;  ///< see size(), place()
  uint64_t opaque_rkey = 0;      ///< key that the owner's network requires; 0 means empty

  static constexpr unsigned size_bits = 48;  // address space of a process
  static constexpr uint64_t max_size = (uint64_t{1} << size_bits) - 1;
  static constexpr unsigned shared_bit = 0x8000;  // in a place

  constexpr bool is_empty() const { return opaque_rkey == 0; }
  /// Bytes registered.
  constexpr uint64_t size() const { return size_and_device & max_size; }
  /// The device that accepts the key, and whether the memory is from alloc_shared(), so that peers of its host
  /// access it directly.
  constexpr unsigned place() const { return static_cast<unsigned>(size_and_device >> size_bits); }
  /// The place of a device by its attribute `uid`; modulo 2^15, so that many devices may share one.
  static constexpr unsigned place_of(int device_uid, bool shared) {
    return (static_cast<unsigned>(device_uid) & (shared_bit - 1)) | (shared ? shared_bit : 0);
  }
  /// The device's `uid`, modulo 2^15.
  constexpr unsigned device() const { return place() & (shared_bit - 1); }
  constexpr bool is_of(int device_uid) const { return device() == place_of(device_uid, false); }
  constexpr bool is_shared() const { return (place() & shared_bit) != 0; }

  friend constexpr bool operator==(const rmr_t& a, const rmr_t& b) {
    return a.base == b.base && a.size_and_device == b.size_and_device && a.opaque_rkey == b.opaque_rkey;
  }
  friend constexpr bool operator!=(const rmr_t& a, const rmr_t& b) { return !(a == b); }
};
static_assert(sizeof(rmr_t) == 24, "programs send it in headers of a fixed size");
constexpr rmr_t RMR_NULL{};

/// Makes the key under which a matching engine stores a message. Called with the message's source
/// rank and tag, on the receiving rank, for sends and receives alike. Must be thread-safe.
using make_key_t = matching_entry_key_t (*)(int rank, tag_t tag, matching_policy_t policy);

/// Allocates the buffers in which active messages are delivered. Both functions must be thread-safe.
struct allocator_base_t {
  virtual ~allocator_base_t() = default;
  virtual void* allocate(size_t size) = 0;
  virtual void deallocate(void* ptr) = 0;
};

/// The allocator of a runtime without a user's allocator: malloc and free.
struct LCI_API allocator_default_t final : allocator_base_t {
  void* allocate(size_t size) override;
  void deallocate(void* ptr) override;
};
LCI_API extern allocator_default_t g_allocator_default;

/// The `name` of objects that are allocated without one.
LCI_API extern const char* DEFAULT_NAME;

/// An optional value, as published programs use it.
template <class T>
struct option_t {
  T value{};
  bool is_set = false;

  constexpr option_t() = default;
  constexpr option_t(T given) : value(static_cast<T&&>(given)), is_set(true) {}  // NOLINT: implicit on purpose
  constexpr T get_value_or(T otherwise) const { return is_set ? value : otherwise; }
};

/// Combines n items: dst[i] = left[i] op right[i]. `dst` may be `left` or `right`.
using reduce_op_t = void (*)(const void* left, const void* right, void* dst, size_t n);

}  // namespace lci
