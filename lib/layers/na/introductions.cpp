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
/// A connection is ended after so many questions without an answer. A process that gives up after
/// lookups::answer_limit asks less often.
constexpr uint32_t most_questions = 256;

void pause() { std::this_thread::sleep_for(std::chrono::microseconds(50)); }

}  // namespace

introductions::introductions(na_class& c) : lci::comp_impl_t(in_place()), class_(c) {}

void introductions::open() {
  const size_t n = size_t{class_.book->last()} + 1;
  owed_ = std::make_unique<owed[]>(n);
  owing_.reserve(n);
  open_channel(class_, channel::introductions, lci::comp_t(this));
}

introduction introductions::message(kind what, uint64_t number) const {
  introduction m;
  m.number = number;
  m.what = what;
  m.most_calls = class_.most_calls;
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

na_addr_t introductions::assign(uint32_t rank, const introduction& m) {
  class_.direct.on_new_peer(rank, m.most_calls);
  class_.unexpected.on_new_peer(rank);
  return class_.book->assign(rank, m.who, m.name);
}

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
  // The departure of an accepted peer makes its address stale before another peer gets its id, see answer(). So this
  // is the same peer with another identity, for which what it has sent before would no longer count.
  if (const addr before = book.current(rank); is_peer(before)) {
    class_.direct.end(before);
    return false;
  }
  assign(rank, m);
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
        owe(rank, kind::i_am, m.number);
        break;
      case kind::claim:
        owe(rank, accepts(rank, m) ? kind::accepted : kind::refused, m.number);
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

void introductions::owe(uint32_t rank, kind what, uint64_t number) {
  bool floods = false;
  {
    const std::lock_guard guard(mutex_);
    owed& o = owed_[rank];
    floods = ++o.questions > most_questions;
    if (floods) o.questions = 0;
    o.what = what;
    o.number = number;
    if (!o.is_listed) owing_.push_back(rank);
    o.is_listed = true;
  }
  if (floods) {
    refuse(NA_PROTOCOL_ERROR, "NA_Progress", "a peer repeats its first question without end; its connection is ended");
    class_.book->forget(class_.book->current(rank));
    return drop(rank);
  }
  if (!owes_.exchange(true, std::memory_order_seq_cst)) class_.wake_leader();
}

bool introductions::answer(uint32_t rank, const introduction& m) {
  try {
    if (m.what == kind::accepted && !class_.direct.watch(class_.book->current(rank))) return false;
    return send(rank, m, false);
  } catch (const lci::peer_failure_error&) {
    class_.book->forget(class_.book->current(rank));
    return true;  // it needs no answer
  } catch (const std::exception& e) {
    if (!is_shortage(e)) throw;
    return false;
  }
}

void introductions::answer_all() {
  const std::unique_lock alone(answering_, std::try_to_lock);
  if (!alone.owns_lock()) return;  // another thread is doing this
  owes_.store(false, std::memory_order_seq_cst);
  std::unique_lock lock(mutex_);
  for (size_t i = 0; i < owing_.size();) {
    const uint32_t rank = owing_[i];
    const owed o = owed_[rank];
    if (o.questions > 0) {
      lock.unlock();
      const bool is_sent = answer(rank, message(o.what, o.number));
      lock.lock();
      owed& now = owed_[rank];
      if (is_sent && now.what == o.what && now.number == o.number) now.questions = 0;
      if (now.questions > 0) {  // no room, or a newer question
        ++i;
        continue;
      }
    }
    owed_[rank].is_listed = false;
    owing_[i] = owing_.back();
    owing_.pop_back();
  }
  if (!owing_.empty()) owes_.store(true, std::memory_order_seq_cst);
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
        mine = assign(rank, other);
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
      if (ask(rank, kind::claim, end, give_up).what == kind::accepted) {
        while (!class_.direct.watch(as)) {
          if (clock::now() >= end) throw lci::resource_error("no memory is left for another peer");
          if (!class_.progress()) pause();
        }
        return ended(), mine;
      }
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
  if (owed_ != nullptr) owed_[rank].questions = 0;
}

}  // namespace na
