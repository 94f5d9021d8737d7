// The functions that the templates of the public headers call.
#include "lci/rpc.hpp"
#include "lib/layers/rpc/core.hpp"
#include "lib/layers/rpc/exceptions.hpp"

namespace lci::rpc {

void writer::grow(size_t n) {
  const size_t before = used();
  const size_t size = std::max(2 * static_cast<size_t>(end_ - begin_), before + n);  // appending takes linear time
  std::unique_ptr<char[]> larger(new char[size]);
  if (before > 0) std::memcpy(larger.get(), begin_, before);
  extra_ = std::move(larger);
  begin_ = extra_.get();
  at_ = begin_ + before;
  end_ = begin_ + size;
}

namespace detail {

void throw_cut_message() { throw message_error("the message ends before its values, or has values of another type"); }
void throw_bad_message(const char* what) { throw message_error(what); }

uint32_t hash_of(const std::string& text) {  // FNV-1a
  uint32_t h = 2166136261;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 16777619;
  return h != 0 ? h : 1;
}

const remote_function& declare(engine_core& e, const std::string& name, const signature_text& signature) {
  return e.declare(name, signature);
}

call* begin_call(engine_core& e, const remote_function& f, void* peer) {
  outgoing* const c = e.take_call_to_post();
  c->begin(&f, peer);
  return c;
}

span_of_chars room_of(call& c) { return of(c).room(); }

namespace {
struct posting_end {
  outgoing& call;
  ~posting_end() { call.end_posting(); }
};
}  // namespace

void post(call& c, writer& arguments, int64_t deadline, std::unique_ptr<kept> owned) {
  outgoing& o = of(c);
  const posting_end end{o};
  try {
    if (deadline != no_limit) o.owner.add_timer(o, now_ns() + deadline);
    o.post(arguments, std::move(owned));
  } catch (const std::bad_alloc&) {
    o.end_with(outcome::no_memory);
  }
}

namespace {
/// Waits within an entry.
bool wait_inside(outgoing& o, int64_t limit) {
  engine_core& e = o.owner;
  e.wait(limit, [&] { return o.is_done() || e.is_closed(); });
  if (LCI_UNLIKELY(!o.is_done() && e.is_closed())) o.give_up(outcome::closed);
  return o.is_done();
}
}  // namespace

bool wait(call& c, int64_t limit) {
  outgoing& o = of(c);
  if (o.is_done()) return true;
  try {
    const engine_core::entry use(o.owner);
    return wait_inside(o, limit);
  } catch (const invalid_argument_error&) {
    o.end_with(outcome::closed);
  }
  return o.is_done();
}

bool post_and_wait(call& c, writer& arguments, int64_t limit) {
  outgoing& o = of(c);
  const posting_end end{o};
  try {
    o.post(arguments, nullptr);
    return wait_inside(o, limit);
  } catch (const std::bad_alloc&) {
    o.end_with(outcome::no_memory);
  }
  return o.is_done();
}

bool is_done(const call& c) { return of(c).is_done(); }

void cancel(call& c, bool is_timeout) {
  outgoing& o = of(c);
  try {
    const engine_core::entry use(o.owner);
    o.give_up(is_timeout ? outcome::timed_out : outcome::cancelled);
  } catch (const invalid_argument_error&) {
    o.end_with(outcome::closed);
  }
}

bool notify(call& c, continuation& then) { return of(c).notify(then); }
void withdraw(call& c, continuation& then) { of(c).withdraw(then); }

reader result_of(call& c) {
  const outgoing& o = of(c);
  o.check();
  return {o.result_data(), o.result_size(), {&o.owner, o.peer()}};
}

void throw_bad_result(const call& c, const char* why) {
  const remote_function& f = *of(c).function();
  throw signature_error("rpc: call of \"" + f.name + "\": the result can't be decoded: " + why + "; the call is " +
                        f.signature->text + ", the peer does not say what the function is");
}

void release(call& c) {
  outgoing& o = of(c);
  if (LCI_UNLIKELY(o.is_posting())) o.end_posting();  // an encoder has thrown
  if (LCI_UNLIKELY(!o.is_done())) cancel(c, false);
  if (LCI_UNLIKELY(o.has_timer.load(std::memory_order_acquire))) o.owner.remove_timer(o);  // set after the call's end
  o.unref();
}

void define(engine_core& e, const std::string& name, const signature_text& signature, std::unique_ptr<handler> h,
            where w) {
  const engine_core::entry use(e);
  e.define(name, signature, std::move(h), w);
}

reader arguments_of(incoming& in) { return {in.arguments_at, in.arguments, {&in.owner, in.source}}; }
span_of_chars room_of(incoming& in) { return in.room(); }
place place_of(incoming& in) { return {&in.owner, in.source}; }

namespace {
/// Sends an answer. Ignores two failures: the engine is closed, so its peers have ended their calls; there is no memory
/// for the answer, so the caller's deadline ends the call.
template <class F>
void answering(incoming& in, F f) noexcept {
  try {
    const answer_scope use(in.owner);
    if (!use.is_open()) return;
    try {
      f();
    } catch (const std::bad_alloc&) {
      if (!in.is_answered()) in.answer_code(HG_NOMEM_ERROR);
    }
  } catch (...) {
    static_cast<void>(0);
  }
}
}  // namespace

void answer(incoming& in, writer& result) noexcept {
  answering(in, [&] { in.answer(result); });
}
void answer(incoming& in, const std::exception_ptr& thrown) noexcept {
  answering(in, [&] { in.answer_exception(thrown); });
}
void refuse(incoming& in, const std::exception_ptr& why) noexcept {
  answering(in, [&] { in.refuse(why); });
}
bool is_answered(const incoming& in) { return in.is_answered(); }
void release(incoming& in) noexcept {
  if (!in.is_answered()) answering(in, [&] { in.answer_code(HG_FAIL); });
  in.unref();
}
std::shared_ptr<engine_core> engine_of(incoming& in) { return in.owner.shared_from_this(); }

void run_soon(engine_core& e, continuation& c) { e.soon(&c); }

}  // namespace detail
}  // namespace lci::rpc
