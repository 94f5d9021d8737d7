#include "lib/layers/na/introductions.hpp"

#include <cstring>
#include <thread>

#include "lib/layers/na/active_messages.hpp"
#include "lib/layers/na/class.hpp"
#include "lib/layers/na/errors.hpp"

namespace na {
namespace {

using kind = introduction::kind;
using std::chrono::milliseconds;

/// A question is repeated after this time: only a post reports that the peer has disconnected.
constexpr milliseconds repetition{200};
/// After a refused claim, the other connection is established here within about a round trip. It is not if the peer has
/// not yet noticed that an older connection has ended; this limits the wait for it.
constexpr milliseconds longest_disagreement{500};

void pause() { std::this_thread::sleep_for(std::chrono::microseconds(50)); }

}  // namespace

introductions::introductions(na_class& c) : lci::comp_impl_t(in_place()), class_(c) {}

void introductions::open() { open_channel(class_, channel::introductions, this); }

introduction introductions::message(kind what, uint64_t number) const {
  introduction m;
  m.number = number;
  m.what = what;
  m.who = class_.who;
  std::memcpy(m.name, class_.name.data(), std::min(class_.name.size(), sizeof m.name - 1));
  return m;
}

bool introductions::send(uint32_t rank, const introduction& m, bool may_wait) {
  return class_.with_peer({rank, 0}, [&] {
    return !lci::post_am_x(static_cast<int>(rank), &m, sizeof m, lci::COMP_NULL_RETRY,
                           static_cast<lci::rcomp_t>(channel::introductions))
                .runtime(class_.runtime)
                .device(class_.device)
                .allow_retry(!may_wait)()
                .is_retry();
  });
}

void introductions::drop(uint32_t rank) {
  lci::disconnect_x(static_cast<int>(rank)).runtime(class_.runtime).device(class_.device)();
}

// --- the accepting process ---

bool introductions::accepts(uint32_t rank, const introduction& m) {
  address_book& book = *class_.book;
  const std::lock_guard guard(mutex_);
  const auto mine = claimed_.find(m.who);
  if (mine == claimed_.end()) {
    const na_addr_t known = book.find(m.who);
    if (known != NA_ADDR_NULL) return known == book.of(rank);  // a repeated claim
  } else {
    if (class_.who < m.who) return false;
    book.forget(book.current(mine->second));
  }
  class_.unexpected.on_new_peer(rank);
  book.assign(rank, m.who, m.name);
  return true;
}

void introductions::signal(lci::status_t status) {
  introduction m;
  if (!status.is_done() || status.rank <= 0) return;
  const auto rank = static_cast<uint32_t>(status.rank);
  if (status.size == sizeof m) std::memcpy(&m, status.buffer, sizeof m);
  if (status.size != sizeof m || m.magic != introduction::version || std::memchr(m.name, 0, sizeof m.name) == nullptr) {
    refuse(NA_PROTOCOL_ERROR, "NA_Progress",
           "a peer has connected whose first message is not of this version of NA; its connection is ended");
    drop(rank);
    return;
  }
  try {
    switch (m.what) {
      case kind::who_are_you:
        send(rank, message(kind::i_am, m.number), true);
        break;
      case kind::claim:
        send(rank, message(accepts(rank, m) ? kind::accepted : kind::refused, m.number), true);
        break;
      default: {
        const std::lock_guard guard(mutex_);
        const auto asked = asked_.find(m.number);
        if (asked == asked_.end() || asked->second.rank != rank) break;  // a second answer to a repeated question
        asked->second.is_answered = true;
        asked->second.answer = m;
      }
    }
  } catch (const lci::peer_failure_error&) {
    class_.book->forget(class_.book->current(rank));
  }
}

// --- the connecting process ---

introduction introductions::ask(uint32_t rank, kind what, clock::time_point end, const std::atomic<bool>& give_up) {
  uint64_t number = 0;
  {
    const std::lock_guard guard(mutex_);
    number = next_++;
    asked_[number].rank = rank;
  }
  struct at_end {
    introductions& in;
    uint64_t number;
    ~at_end() {
      const std::lock_guard guard(in.mutex_);
      in.asked_.erase(number);
    }
  } const erased{*this, number};
  const introduction m = message(what, number);
  for (clock::time_point next{};;) {
    const clock::time_point now = clock::now();
    if (now >= next && send(rank, m, false)) next = now + repetition;
    if (!class_.progress()) pause();
    {
      const std::lock_guard guard(mutex_);
      const question& q = asked_[number];
      if (q.is_answered) return q.answer;
      if (q.has_failed) throw lci::peer_failure_error(static_cast<int>(rank), "the process has ended");
    }
    if (now >= end || give_up.load(std::memory_order_relaxed))
      throw lci::peer_failure_error(static_cast<int>(rank), "the process has connected, but does not say who it is");
  }
}

na_addr_t introductions::claim(uint32_t rank, const introduction& other, clock::time_point end,
                               const std::atomic<bool>& give_up) {
  address_book& book = *class_.book;
  na_addr_t mine = NA_ADDR_NULL;
  {
    const std::lock_guard guard(mutex_);
    if (claimed_.count(other.who) == 0) {
      if (const na_addr_t known = book.find(other.who); known != NA_ADDR_NULL) return known;
      claimed_[other.who] = rank;
      try {
        // Before the claim is sent: the other one may send by this connection as soon as it has accepted.
        class_.unexpected.on_new_peer(rank);
        mine = book.assign(rank, other.who, other.name);
      } catch (...) {  // no memory: no claim is outstanding for which later searches would wait
        claimed_.erase(other.who);
        throw;
      }
    }
  }
  if (mine != NA_ADDR_NULL) {
    const auto ended = [&] {
      const std::lock_guard guard(mutex_);
      claimed_.erase(other.who);
    };
    addr as{};
    book.decode(mine, &as);
    try {
      if (ask(rank, kind::claim, end, give_up).what == kind::accepted) return ended(), mine;
    } catch (...) {
      book.forget(as);
      ended();
      throw;
    }
    book.forget(as);
    ended();
  }
  // The other process, or another lookup of this one, has claimed another connection. Wait until it is established.
  for (const clock::time_point late = clock::now() + longest_disagreement;;) {
    {
      const std::lock_guard guard(mutex_);
      if (claimed_.count(other.who) == 0)
        if (const na_addr_t known = book.find(other.who); known != NA_ADDR_NULL) return known;
    }
    const clock::time_point now = clock::now();
    if (now >= late || now >= end || give_up.load(std::memory_order_relaxed)) return NA_ADDR_NULL;
    if (!class_.progress()) pause();
  }
}

na_addr_t introductions::introduce(uint32_t rank, clock::time_point end, const std::atomic<bool>& give_up) {
  try {
    const introduction other = ask(rank, kind::who_are_you, end, give_up);
    const na_addr_t found = claim(rank, other, end, give_up);
    if (found != class_.book->of(rank)) drop(rank);
    return found;
  } catch (...) {
    drop(rank);
    throw;
  }
}

void introductions::on_failure(uint32_t rank) {
  const std::lock_guard guard(mutex_);
  for (auto& [number, q] : asked_)
    if (q.rank == rank) q.has_failed = true;
}

}  // namespace na
