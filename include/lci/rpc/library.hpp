// Functions of liblci-rpc that the templates of lci/rpc.hpp call. Not for programs, which include lci/rpc.hpp.
#pragma once

#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "lci/rpc/signature.hpp"

namespace lci::rpc {

/// The thread that executes a function.
enum class where {
  progress,  ///< a thread that makes progress on the engine: for short functions
  pool,      ///< a thread of the engine's pool: for functions that take long or wait
};

namespace detail {

class call;
class incoming;
class region;

/// A function that peers have defined, from the caller's point of view. Owned by the engine.
struct remote_function {
  std::string name;
  uint32_t id = 0;
  uint32_t name_hash = 0;
  const signature_text* signature = nullptr;
};
LCI_API const remote_function& declare(engine_core& e, const std::string& name, const signature_text& signature);

/// Code that runs once, in a thread that makes progress or waits, outside of the network's callbacks. The engine does
/// not own it.
struct continuation {
  void (*run)(continuation*) = nullptr;
  continuation* next = nullptr;
};

/// Arguments that a call owns until the peer has fetched them.
struct kept {
  virtual ~kept() = default;
};

constexpr int64_t no_limit = -1;

struct span_of_chars {
  char* data;
  size_t size;
};

// --- calls that this process makes ---

LCI_API call* begin_call(engine_core& e, const remote_function& f, void* peer);
/// The buffer for the call's encoded arguments.
LCI_API span_of_chars room_of(call& c);
/// Sends the arguments, which were encoded into that buffer or into the writer's own memory. `deadline`: ns from now
/// after which the engine ends the call, or no_limit. A failure becomes the call's result.
LCI_API void post(call& c, writer& arguments, int64_t deadline, std::unique_ptr<kept> owned);
/// Waits at most `limit` ns. Returns whether the call is complete.
LCI_API bool wait(call& c, int64_t limit);
/// post() without a deadline, then wait().
LCI_API bool post_and_wait(call& c, writer& arguments, int64_t limit);
LCI_API bool is_done(const call& c);
/// Ends the call with cancelled_error or timeout_error, unless it is complete.
LCI_API void cancel(call& c, bool is_timeout);
/// Makes the continuation run when the call is complete. Returns false, without an effect, if it is complete already.
LCI_API bool notify(call& c, continuation& then);
/// Ensures that the continuation, which was passed to notify(), will not run. No thread may be running it.
LCI_API void withdraw(call& c, continuation& then);
/// The encoded result of a complete call. Throws the call's failure.
LCI_API reader result_of(call& c);
/// Throws signature_error or message_error, since the result can't be decoded.
[[noreturn]] LCI_API void throw_bad_result(const call& c, const char* why);
/// Releases the call. If it is not complete, its result is dropped.
LCI_API void release(call& c);

struct release_call {
  void operator()(call* c) const { release(*c); }
};
using call_ptr = std::unique_ptr<call, release_call>;

// --- calls that this process executes ---

/// A function that peers call. Thread-safe: several threads may execute it at once.
class handler {
 public:
  virtual ~handler() = default;
  /// Takes ownership of `in`, and answers it now or later.
  virtual void execute(incoming* in) noexcept = 0;
};
LCI_API void define(engine_core& e, const std::string& name, const signature_text& signature,
                    std::unique_ptr<handler> h, where w);

LCI_API reader arguments_of(incoming& in);
LCI_API span_of_chars room_of(incoming& in);
LCI_API place place_of(incoming& in);
/// Sends the result. One answer for each call.
LCI_API void answer(incoming& in, writer& result) noexcept;
/// Sends the function's exception. One answer for each call.
LCI_API void answer(incoming& in, const std::exception_ptr& thrown) noexcept;
/// Answers that the arguments can't be decoded. One answer for each call.
LCI_API void refuse(incoming& in, const std::exception_ptr& why) noexcept;
LCI_API bool is_answered(const incoming& in);
/// Releases the call. If it has not been answered, the caller gets no_answer_error.
LCI_API void release(incoming& in) noexcept;
LCI_API std::shared_ptr<engine_core> engine_of(incoming& in);

struct release_incoming {
  void operator()(incoming* in) const { release(*in); }
};
using incoming_ptr = std::unique_ptr<incoming, release_incoming>;

/// Queues the continuation for a thread that makes progress.
LCI_API void run_soon(engine_core& e, continuation& c);

}  // namespace detail
}  // namespace lci::rpc
