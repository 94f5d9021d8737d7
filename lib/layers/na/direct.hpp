// Messages of HG and lci/rpc.hpp. Each is a call or the answer to one, and needs no posted receive. An interface
// between libna, libmercury and liblci-rpc of one release; not for programs.
//
// Flow control: a call takes a credit and its answer returns it. When two processes connect, each says how many
// unanswered calls it accepts from the other (NA_CALLS_PER_PEER); further calls wait at the sender. A peer that sends
// more is disconnected. So answers never wait behind calls, and the memory that a peer can make its target use for
// calls is bounded.
#pragma once

#include <na.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace na {

/// The tag of a call is even and less than more_bit. The tag of its answer is greater by one.
constexpr na_tag_t answer_bit = 1;
/// Set in the tag of an answer that further answers to the same call follow. Such an answer returns no credit.
constexpr na_tag_t more_bit = na_tag_t{1} << 31;

/// Receives a class's direct messages. Its functions run inside progress, in one thread at a time. Of NA's functions
/// they may call only NA_Direct_try() and NA_Direct_owe(), to send answers.
class direct_receiver {
 public:
  /// `data` is valid until this function returns.
  virtual void on_message(na_addr_t source, na_tag_t tag, const void* data, size_t size) = 0;
  /// Called after a peer has failed or disconnected, when its address is stale.
  virtual void on_departure(na_addr_t peer) = 0;

 protected:
  ~direct_receiver() = default;
};

}  // namespace na

extern "C" {

/// Registers `to` as the receiver of the class's direct messages, including those that have arrived before. A message
/// wakes the threads that wait for the context. A class has at most one receiver.
NA_EXPORT na_return_t NA_Direct_open(na_class_t* na_class, na_context_t* context, na::direct_receiver* to);
/// Removes the receiver. When this returns, no thread runs its functions. Later messages are stored for the next
/// receiver.
NA_EXPORT void NA_Direct_close(na_class_t* na_class);
/// Sends a message. Returns NA_SUCCESS; NA_TIMEOUT if there is no credit, no room or no memory at present;
/// NA_PROTOCOL_ERROR if the peer has failed or disconnected.
NA_EXPORT na_return_t NA_Direct_try(na_class_t* na_class, const void* buf, na_size_t buf_size, na_addr_t dest,
                                    na_tag_t tag);
/// Queues a message, which progress sends when there are credits, room and memory. The buffer must not change before
/// the callback.
NA_EXPORT na_return_t NA_Direct_queue(na_class_t* na_class, na_context_t* context, na_cb_t callback, void* arg,
                                      const void* buf, na_size_t buf_size, na_addr_t dest, na_tag_t tag,
                                      na_op_id_t* op_id);
/// Allocates what NA_Direct_queue() needs for one more answer, so that it can't fail for lack of memory while at most
/// as many answers are queued as this function has been called. Ends with NA_Direct_close(). NA_NOMEM_ERROR if there is
/// no memory.
NA_EXPORT na_return_t NA_Direct_reserve(na_class_t* na_class);
/// Undoes one call of NA_Direct_reserve().
NA_EXPORT void NA_Direct_release(na_class_t* na_class);
/// Queues an answer to a call that was refused for lack of memory. Needs no memory itself; the bytes are never freed.
/// If too many such answers wait, the connection with the caller is ended, so all its calls end.
NA_EXPORT void NA_Direct_owe(na_class_t* na_class, const void* bytes, na_size_t size, na_addr_t dest, na_tag_t tag);
/// The most bytes of arguments that calls of one peer may make this process fetch and keep (NA_CALL_BYTES_PER_PEER).
NA_EXPORT na_size_t NA_Direct_call_bytes(na_class_t* na_class);
/// Does what NA_Addr_lookup_wait() does, but fails soon after another thread has set `gives_up`.
NA_EXPORT na_return_t NA_Direct_lookup(na_class_t* na_class, const char* name, na_addr_t* addr,
                                       const std::atomic<bool>& gives_up);
/// Ends the connections with the peers of all operations of the context that have not ended. No thread may start or
/// trigger operations of the context meanwhile.
NA_EXPORT void NA_Direct_end_peers(na_class_t* na_class, na_context_t* context);
/// Wakes the threads that wait for the context, as an arriving message does.
NA_EXPORT void NA_Direct_wake(na_context_t* context);
/// Makes progress, as NA_Progress() does without a time-out, but does not check its arguments: `most` times, or until
/// anything happens. Returns NA_SUCCESS if the context has completed operations, else NA_TIMEOUT or the code of a
/// failure. No other thread may wait for the context meanwhile: messages that arrive within this call wake nobody.
NA_EXPORT na_return_t NA_Direct_poll(na_class_t* na_class, na_context_t* context, unsigned most);
/// Returns whether `addr` is an address of the class, also of a peer that has left. Stores in *is_self whether it is
/// this process's. Prints nothing.
NA_EXPORT na_bool_t NA_Direct_address(const na_class_t* na_class, na_addr_t addr, na_bool_t* is_self);
/// The size of the memory of a valid handle, and its flags, as passed to NA_Mem_handle_create().
NA_EXPORT void NA_Direct_memory(na_mem_handle_t mem_handle, na_size_t* size, unsigned long* flags);
}
