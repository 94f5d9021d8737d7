// The functions of the library that the templates of lci/rpc.hpp call. Programs use rpc.hpp.
#pragma once

#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "lci/rpc/signature.hpp"

namespace lci::rpc {

/// Where a function is executed.
enum class where {
  progress,  ///< by the thread that makes progress: for functions that end soon
  pool,      ///< by a thread of the engine's pool: for those that take long or wait
};

namespace detail {

class call;
class incoming;
class region;

/// A function of peers, as a caller knows it. The engine owns it until its end.
struct remote_function {
  std::string name;
  uint32_t id = 0;
  uint32_t name_hash = 0;
  const signature_text* signature = nullptr;
};
LCI_API const remote_function& declare(engine_core& e, const std::string& name, const signature_text& signature);

/// Runs once, in a thread that makes progress or waits, and outside of the network's callbacks. Not owned by who runs
/// it.
struct continuation {
  void (*run)(continuation*) = nullptr;
  continuation* next = nullptr;
};

/// Arguments that a call owns until its peer has them.
struct kept {
  virtual ~kept() = default;
};

constexpr int64_t no_limit = -1;

struct span_of_chars {
  char* data;
  size_t size;
};

// --- calls of peers ---

LCI_API call* begin_call(engine_core& e, const remote_function& f, void* peer);
/// The room in its message.
LCI_API span_of_chars room_of(call& c);
/// Sends the arguments that were encoded into that room, or beyond. `deadline` in ns from now, for a call that nobody
/// waits for; no_limit else. A failure is the call's result.
LCI_API void post(call& c, writer& arguments, int64_t deadline, std::unique_ptr<kept> owned);
/// Waits at most `limit` ns. False if the call is not complete then.
LCI_API bool wait(call& c, int64_t limit);
LCI_API bool is_done(const call& c);
/// Ends the call with cancelled_error or timeout_error, unless it is complete.
LCI_API void cancel(call& c, bool is_timeout);
/// The continuation will run when the call is complete; false if it is complete already.
LCI_API bool notify(call& c, continuation& then);
/// The encoded result of a complete call. Throws its failure.
LCI_API reader result_of(call& c);
/// Throws signature_error or message_error for a result that can't be decoded as this type.
[[noreturn]] LCI_API void throw_bad_result(const call& c, const char* why);
/// If the call is not complete, its result will be lost.
LCI_API void release(call& c);

struct release_call {
  void operator()(call* c) const { release(*c); }
};
using call_ptr = std::unique_ptr<call, release_call>;

// --- calls by peers ---

/// A function of this process. Called by any thread, and by several at once.
class handler {
 public:
  virtual ~handler() = default;
  /// Takes ownership of `in`, which it answers sooner or later. Throws nothing.
  virtual void execute(incoming* in) noexcept = 0;
};
LCI_API void define(engine_core& e, const std::string& name, const signature_text& signature,
                    std::unique_ptr<handler> h, where w);

LCI_API reader arguments_of(incoming& in);
LCI_API span_of_chars room_of(incoming& in);
LCI_API place place_of(incoming& in);
/// Sends the result, once.
LCI_API void answer(incoming& in, writer& result) noexcept;
/// Sends an exception of the function, once.
LCI_API void answer(incoming& in, const std::exception_ptr& thrown) noexcept;
/// Refuses arguments that are not of the signature, once.
LCI_API void refuse(incoming& in, const std::exception_ptr& why) noexcept;
LCI_API bool is_answered(const incoming& in);
/// Without an answer before, the caller gets no_answer_error.
LCI_API void release(incoming& in) noexcept;
LCI_API std::shared_ptr<engine_core> engine_of(incoming& in);

struct release_incoming {
  void operator()(incoming* in) const { release(*in); }
};
using incoming_ptr = std::unique_ptr<incoming, release_incoming>;

/// Runs it soon, in a thread that makes progress.
LCI_API void run_soon(engine_core& e, continuation& c);

}  // namespace detail
}  // namespace lci::rpc
