// How HG and lci/rpc.hpp send their messages: beside NA's receives, since each is a call, or the answer to one. Between
// libna, libmercury and liblci-rpc, which belong to one release; not for programs.
//
// A call needs no receive at its target, which keeps it until a thread executes it. The answer returns the credit that
// the call took: a process has at most `most_unanswered` calls at a peer that the peer has not answered. Further ones
// wait here. So answers never wait for calls, and what a peer can make this process keep is bounded.
#pragma once

#include <na.h>

#include <cstddef>
#include <cstdint>

namespace na {

/// Tags of calls are even and less than more_bit, those of their answers one more.
constexpr na_tag_t answer_bit = 1;
/// Also set in the tag of an answer that is not the last one to its call: it returns no credit.
constexpr na_tag_t more_bit = na_tag_t{1} << 31;

/// What the layer does with messages. Called inside progress, by one thread at a time; it may call NA_Direct_try() for
/// answers, and nothing else.
class direct_receiver {
 public:
  /// `data` is valid during the call.
  virtual void on_message(na_addr_t source, na_tag_t tag, const void* data, size_t size) = 0;
  /// The peer has failed or left; its address is stale now.
  virtual void on_departure(na_addr_t peer) = 0;

 protected:
  ~direct_receiver() = default;
};

}  // namespace na

extern "C" {

/// Registers `to` as the receiver of the class's messages, also of those that have arrived before. A message that
/// arrives wakes the threads that wait for the context. One receiver for each class.
NA_EXPORT na_return_t NA_Direct_open(na_class_t* na_class, na_context_t* context, na::direct_receiver* to);
/// After it no thread is in the receiver. Messages wait for the next one.
NA_EXPORT void NA_Direct_close(na_class_t* na_class);
/// NA_SUCCESS: sent. NA_TIMEOUT: not now. NA_PROTOCOL_ERROR: the peer has left.
NA_EXPORT na_return_t NA_Direct_try(na_class_t* na_class, const void* buf, na_size_t buf_size, na_addr_t dest,
                                    na_tag_t tag);
/// Sends when it is possible. The buffer must not change before the callback.
NA_EXPORT na_return_t NA_Direct_queue(na_class_t* na_class, na_context_t* context, na_cb_t callback, void* arg,
                                      const void* buf, na_size_t buf_size, na_addr_t dest, na_tag_t tag,
                                      na_op_id_t* op_id);
/// Ends waits of the context's, as a message does.
NA_EXPORT void NA_Direct_wake(na_context_t* context);
}
