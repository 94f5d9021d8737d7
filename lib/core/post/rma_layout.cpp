// Puts and gets of layouts: copies where the target's memory is mapped in this process, else one put or
// get for each run of bytes that is contiguous at both ends.
#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "lib/core/device/sending.hpp"
#include "lib/core/memory/layout.hpp"
#include "lib/core/post/begin_post.hpp"
#include "lib/core/post/direct.hpp"
#include "lib/core/post/post_common.hpp"
#include "lib/core/post/post_layout.hpp"
#include "lib/core/transfer/transfers.hpp"

namespace lci::core {

namespace {

status_t post_piece(post_put_args& a, bool in_turn) { return in_turn ? post_put_in_turn(a) : post_put_piece(a); }
status_t post_piece(post_get_args& a, bool) { return post_get_piece(a); }

template <class Args>
bool has_remote_segments(const Args& a) {
  return a.remote_layout != nullptr && a.remote_layout->remote_segments() != nullptr;
}

/// The address at the target that a signal reports; of remote segments, that of the first byte.
template <class Args>
uint64_t address_of(const Args& a) {
  if (!has_remote_segments(a)) return a.rmr.base + a.remote_disp;
  const layout_cursor first(*a.remote_layout, 0);
  return first.run() == 0 ? 0 : first.rmr()->base + first.offset();
}

/// Checks each remote segment like the remote buffer of a put or get.
template <class Args>
void check_remote_segments(const char* what, const device& d, const Args& a) {
  if (!a.rmr.is_empty() || a.remote_disp != 0)
    throw_invalid(what, a.rmr.is_empty() ? "remote_disp" : "rmr", "given", "0 and RMR_NULL with remote segments",
                  "each segment has a registration and an offset of its own");
  for (size_t i = 0; i < a.remote_layout->n(); ++i) {
    const remote_segment_t& s = a.remote_layout->remote_segments()[i];
    if (s.size > 0) check_remote(what, d, s.rmr, s.offset, s.size);
  }
}

/// Transfers many pieces by one operation of the network, which supports that between processes of a host, and advances
/// the cursors. `base`: of the local pieces; `rmr`, `disp`: of remote pieces that have no registration of their own.
/// Returns the number of bytes; 0: it has done nothing. Throws what post() of the network throws.
template <class Args>
size_t post_many(device& d, int rank, void* base, const rmr_t& rmr, uint64_t disp, layout_cursor& from,
                 layout_cursor& to) {
  constexpr size_t most = 256, largest = size_t{1} << 18;
  if (!d.limits.rma || d.observer != nullptr) return 0;
  std::array<network::piece, most> pieces;
  layout_cursor f = from, t = to;
  size_t n = 0, sum = 0;
  while (n < most) {
    const size_t size = std::min(f.run(), t.run());
    if (size == 0 || size > largest) break;
    const rmr_t& its = t.rmr() != nullptr ? *t.rmr() : rmr;
    if (its.place() == d.shared_place) break;  // may be mapped here
    pieces[n++] = {reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(base) + f.offset()),
                   its.base + disp + t.offset(), size};
    sum += size;
    f.advance(size);
    t.advance(size);
  }
  constexpr network::verb kind = std::is_same_v<Args, post_put_args> ? network::verb::put : network::verb::get;
  // A peer that has failed is recognised by the post of a single piece.
  if (n < 2 || d.net->post_pieces(kind, rank, pieces.data(), n) != errorcode_t::done) return 0;
  from = f;
  to = t;
  return sum;
}

/// Returns whether the pieces of a put or get have deadlines of their own.
template <class Args>
bool has_pieces_in_time(const device& d, const Args& a) {
  return timers::has_end(a.deadline) && (!d.limits.rma || way_to_end_in_time(d, a) != way_in_time::usual);
}

/// Bytes of a piece of an ordered put: one piece for the network, or one message, as the rest of a larger one would
/// wait in the backlog, behind later posts. With a deadline the piece may be copied, so it is small, too. 0 if the put
/// is not ordered.
template <class Args>
size_t largest_ordered_piece(const device& d, const Args& a) {
  if (!is_ordered(a)) return 0;
  const size_t largest = largest_rma(d.limits, d.rt.attr.rdv_chunk_size, true);
  return has_pieces_in_time(d, a) ? std::min(largest, piece_room(d, false)) : largest;
}

/// A put or get that is posted in pieces. Pieces that the network refuses for now are posted later, from the list of
/// deferred work; those of an ordered put from the backlog, so that later posts don't overtake them. Unless start()
/// returns true it owns itself from then on. `pieces_` counts the outstanding pieces and the thread that posts them;
/// the last of these ends the transfer.
template <class Args>
class layout_transfer final : public dependent, private deferred_task {
 public:
  /// `moved`: bytes that have been transferred already.
  layout_transfer(const Args& a, size_t moved)
      : deferred_task(run),
        device_(*a.device.p_impl),
        user_(a.local_comp.p_impl),
        status_(done_status(a, buffer_of(a))),
        signal_(a.remote_comp),
        largest_(largest_ordered_piece(device_, a)),
        local_(a.layout),
        remote_(a.remote_layout),
        from_(local_.view(), a.size),
        to_(remote_.view(), a.size),
        piece_(a),
        disp_(a.remote_disp),
        base_(buffer_of(a)),
        signalled_(address_of(a)),
        has_begun_(moved > 0) {
    for (size_t n; moved > 0; moved -= n) {
      n = std::min({moved, from_.run(), to_.run()});
      from_.advance(n);
      to_.advance(n);
    }
    device_.dependents.add(this);
    // Only now, as nothing throws any more.
    parity_ = device_.flushes.begin(a.rank);
    device_.pending.fetch_add(1, std::memory_order_relaxed);
    if (a.operation != nullptr) ticket_ = static_cast<ticket*>(user_);
    piece_.layout = piece_.remote_layout = nullptr;
    piece_.operation = nullptr;
    if (has_pieces_in_time(device_, a)) latest_ = timers::after(a.deadline);
    piece_.deadline = -1;
    piece_.remote_comp = 0;
    piece_.local_comp = comp_t(this);
    piece_.allow_done = piece_.allow_posted = piece_.allow_retry = true;
  }
  ~layout_transfer() override {
    device_.dependents.remove(this);
    device_.flushes.end(status_.rank, parity_);
    device_.pending.fetch_sub(1, std::memory_order_release);
  }

  /// Returns true if the transfer has ended: then the caller still owns it. Otherwise it ends and deletes itself.
  bool start() {
    if (LCI_UNLIKELY(largest_ != 0 && device_.backlog.holds_back(status_.rank))) return wait_for_turn();
    if (!post_pieces(false) || !release_piece()) return false;
    if (LCI_LIKELY(!is_late_.load(std::memory_order_relaxed))) return true;
    // The deadline of a piece has passed within the post. This is no failure that a post throws, so progress() ends it.
    pieces_.store(1, std::memory_order_relaxed);
    run_later();
    return false;
  }
  bool failed() const { return failed_.load(std::memory_order_relaxed) != failure::none; }
  /// Signals the target, if that was asked for and nothing failed.
  void signal_target() {
    if (signal_ != 0 && !failed()) send_signal(device_, status_.rank, signal_, status_.tag, signalled_, status_.size);
  }

  unfinished abandon() override {
    status_.error = errorcode_t::cancelled;
    return {ticket_ != nullptr ? ticket_->retire() : user_, status_};
  }

  bool post_rest(failure how) override {
    has_begun_ = true;
    if (how != failure::none) fail_as(how);
    if (device_.lifetime.closing()) fail_as(failure::cancelled);
    if (!post_pieces(true)) return false;
    if (release_piece()) end();
    return true;
  }
  const comp_impl_t* cancelled_as() const override { return ticket_; }

  /// Ends one piece.
  void signal(status_t status) override {
    if (status.error == errorcode_t::timed_out) is_late_.store(true, std::memory_order_relaxed);
    if (!status.is_done()) fail_as(failure_in(status));
    if (release_piece()) end();
  }

 private:
  status_t post_piece_in_time(Args& a, bool in_turn) {
    a.deadline = timers::seconds_until(latest_);
    return with_name(a, [&] { return post_piece(a, in_turn); });
  }
  void run_later() {
    device_.lifetime.begin_task();
    device_.rt.deferred.push(this);
  }
  static bool run(deferred_task* self) {
    auto* t = static_cast<layout_transfer*>(self);
    struct ending {
      device& of;
      ~ending() { of.lifetime.end_task(); }
    } const at_end{t->device_};
    if (t->device_.lifetime.closing()) t->fail_as(failure::cancelled);
    if (t->post_pieces(false) && t->release_piece()) t->end();
    return true;
  }
  /// Posts the rest of an ordered put from the backlog. Returns false: this object may be gone then.
  bool wait_for_turn() {
    backlog::item item;
    item.peer = status_.rank;
    item.what = backlog::item::type::rest;
    item.rest = this;
    enqueue(device_, std::move(item));
    return false;
  }
  /// Posts `piece_`. A failure is recorded, and returned as `done`. Throws misuse, which the first piece finds, to the
  /// program.
  status_t post_next(bool in_turn) {
    try {
      Args a = piece_;  // a post may change its arguments
      return latest_ == 0 ? post_piece(a, in_turn) : post_piece_in_time(a, in_turn);
    } catch (const peer_failure_error&) {
      const failure how = device_.failures.with(status_.rank);
      // If it is not known yet whether the peer failed or freed its device, retry: a later poll reports it.
      if (how == failure::none) return errorcode_t::retry;
      fail_as(how);
    } catch (const invalid_argument_error&) {  // meanwhile disconnect() has freed the id of the peer
      if (!has_begun_) throw;
      fail_as(failure::cancelled);
    } catch (const resource_error&) {
      fail_as(failure::fatal);
    } catch (const std::bad_alloc&) {  // earlier pieces may be outstanding
      return errorcode_t::retry_nomem;
    }
    return errorcode_t::done;
  }
  /// Returns false if a piece has to be retried: deferred work calls run(), or the backlog post_rest(), which
  /// continues. Then this object may be gone, unless `in_turn`: the backlog has called, and keeps the item.
  bool post_pieces(bool in_turn) {
    for (size_t n; !failed() && (n = std::min(from_.run(), to_.run())) > 0;) {
      if (largest_ != 0) n = std::min(n, largest_);
      if (ticket_ != nullptr && ticket_->stop()) {
        fail_as(failure::cancelled);
        break;
      }
      try {
        if (post_many<Args>(device_, status_.rank, base_, piece_.rmr, disp_, from_, to_) > 0) continue;
      } catch (const resource_error&) {
        fail_as(failure::fatal);
        break;
      }
      piece_.local_buffer = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(base_) + from_.offset());
      piece_.size = n;
      piece_.remote_disp = disp_ + to_.offset();
      if (const rmr_t* rmr = to_.rmr()) piece_.rmr = *rmr;
      pieces_.fetch_add(1, std::memory_order_relaxed);
      const status_t status = post_next(in_turn);
      if (!status.is_posted()) pieces_.fetch_sub(1, std::memory_order_relaxed);
      has_begun_ = true;
      if (status.is_retry()) {
        if (in_turn) return false;
        if (largest_ != 0) return wait_for_turn();
        run_later();
        return false;
      }
      from_.advance(n);
      to_.advance(n);
    }
    return true;
  }
  /// The first failure decides; pieces end in any order.
  void fail_as(failure how) {
    failure none = failure::none;
    failed_.compare_exchange_strong(none, how, std::memory_order_relaxed, std::memory_order_relaxed);
  }
  /// Returns true for the last one. A1: pairs with itself, so that the last one sees what all others did.
  bool release_piece() { return pieces_.fetch_sub(1, std::memory_order_acq_rel) == 1; }
  void end() {
    const std::unique_ptr<layout_transfer> ends_here(this);
    signal_target();
    // A device that is being freed cancels what is in flight, whatever the network says of it by then.
    if (failed())
      status_.error = device_.lifetime.closing()                 ? errorcode_t::cancelled
                      : is_late_.load(std::memory_order_relaxed) ? errorcode_t::timed_out
                                                                 : error_of(failed_.load(std::memory_order_relaxed));
    if (status_.error == errorcode_t::cancelled || status_.error == errorcode_t::timed_out) status_.size = 0;
    user_->signal(status_);
  }

  device& device_;
  comp_impl_t* const user_;
  ticket* ticket_ = nullptr;  // `user_`, if that is a ticket
  status_t status_;
  const rcomp_t signal_;
  uint8_t parity_ = 0;
  const size_t largest_;  // bytes of a piece of an ordered put; 0: not ordered
  const kept_layout local_, remote_;
  layout_cursor from_, to_;
  Args piece_;  // arguments of the next piece
  const uint64_t disp_;
  void* const base_;
  const uint64_t signalled_;  // the address that a signal reports
  int64_t latest_ = 0;        // when pieces end at the latest, as timers::now(); 0: they have no deadline of their own
  bool has_begun_;            // the first piece has been posted, or is to be retried; it throws what is misuse
  std::atomic<failure> failed_{failure::none};
  std::atomic<bool> is_late_{false};  // written before failed_, by a piece that has timed out
  std::atomic<int64_t> pieces_{1};    // outstanding, and one for the thread that posts them
};

/// Posts pieces as long as the network completes them within the call, so that no copy of the layouts is needed.
/// Returns the number of bytes transferred.
template <class Args>
size_t post_at_once(device& d, const Args& a) {
  if (is_ordered(a) && d.backlog.holds_back(a.rank)) return 0;
  constexpr layout_t whole;
  layout_cursor from(a.layout != nullptr ? *a.layout : whole, a.size),
      to(a.remote_layout != nullptr ? *a.remote_layout : whole, a.size);
  size_t moved = 0;
  try {
    while (const size_t n = post_many<Args>(d, a.rank, buffer_of(a), a.rmr, a.remote_disp, from, to)) moved += n;
  } catch (const resource_error&) {
    d.failures.throw_fatal(a.rank);
  }
  return moved;
}

template <class Args>
status_t post_pieces(const char* what, device& d, Args& a) {
  const bool retry_allowed = may_retry(a);
  if (d.backlog.holds_back(a.rank) && retry_allowed) return errorcode_t::retry_backlog;
  blocking_guard wait(what, d, a);
  const size_t moved = post_at_once(d, a);
  if (LCI_LIKELY(moved == a.size && moved > 0)) {
    if (a.operation != nullptr) *a.operation = {};
    if (a.remote_comp != 0) send_signal(d, a.rank, a.remote_comp, a.tag, address_of(a), a.size);
    return wait.result(answer_done(d, a, buffer_of(a)));
  }
  const comp_t given = a.local_comp;
  struct name_guard {
    Args& a;
    ticket* named;
    // Called with a ticket if the transfer has ended within the post, or was not begun: then it has no name.
    ~name_guard() {
      if (named == nullptr) return;
      *a.operation = {};
      named->retire();
    }
  } name{a, nullptr};
  if (a.operation != nullptr) {
    name.named = d.rt.tickets.get(d, given.p_impl, done_status(a, buffer_of(a)), a.deadline);
    *a.operation = name.named->name();
    a.local_comp = comp_t(name.named);
  }
  auto transfer = std::make_unique<layout_transfer<Args>>(a, moved);
  if (!transfer->start()) {
    name.named = nullptr;
    (void)transfer.release();
    return wait.result(errorcode_t::posted);
  }
  a.local_comp = given;
  if (transfer->failed()) d.failures.throw_fatal(a.rank);
  transfer->signal_target();
  return wait.result(answer_done(d, a, buffer_of(a)));
}

template <class Args, class Copy>
status_t post_rma_layout(const char* what, Args& a, Copy copy) {
  device& d = *a.device.p_impl;
  check_local_layout(what, a.layout, a.size, a.local_buffer);
  const size_t extent = check_layout(what, "remote_layout", a.remote_layout, a.size);
  if (static_cast<unsigned>(a.rank) >= static_cast<unsigned>(d.n_peers) || a.tag > max_tag ||
      (a.local_buffer == nullptr && a.size != 0 && a.layout == nullptr))
    reject_common(what, d, a);
  d.failures.check(a.rank);
  if (has_remote_segments(a)) {
    check_remote_segments(what, d, a);
    return post_pieces(what, d, a);
  }
  check_remote(what, d, a.rmr, a.remote_disp, extent);
  std::byte* at = mapped_target(d, a, extent);
  if (at == nullptr) return post_pieces(what, d, a);
  constexpr layout_t whole;
  const layout_cursor local(a.layout != nullptr ? *a.layout : whole, a.size),
      remote(a.remote_layout != nullptr ? *a.remote_layout : whole, a.size);
  copy(at, remote, local);
  if (a.remote_comp != 0) send_signal(d, a.rank, a.remote_comp, a.tag, a.rmr.base + a.remote_disp, a.size);
  return answer_done(d, a, buffer_of(a));
}

}  // namespace

status_t post_put_layout(post_put_args& a) {
  return post_rma_layout("post_put", a, [&](void* at, const layout_cursor& remote, const layout_cursor& local) {
    copy_layout(at, remote, a.local_buffer, local);
  });
}

status_t post_get_layout(post_get_args& a) {
  return post_rma_layout("post_get", a, [&](void* at, const layout_cursor& remote, const layout_cursor& local) {
    copy_layout(a.local_buffer, local, at, remote);
  });
}

}  // namespace lci::core
