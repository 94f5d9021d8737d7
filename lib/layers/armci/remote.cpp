// Puts, accumulates, read-modify-writes and fences. Gets, and puts by RMA, are in remote_get.cpp.
#include "lib/layers/armci/remote.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>

#include "lib/layers/armci/atomicity.hpp"
#include "lib/layers/armci/errors.hpp"

namespace armci_layer {

packet remote::begin(const wire::request& q, addition what) {
  packet p = link_.new_packet();
  p.add(q);
  if (!what.adds) return p;
  std::byte scale[wire::scale_size] = {};
  std::memcpy(scale, what.scale, element_size(what.type));
  p.add(scale, sizeof scale);
  return p;
}

// A message that requests an acknowledgement clears the mark `unfenced`, as a fence does, since the acknowledgement
// covers all messages that were posted before the mark was set. So a thread sets the mark after it has posted a
// message, and counts an acknowledgement before it clears the mark: a thread that finds the mark cleared sees the count
// (A1 pairs with R1).
class remote::sending {
 public:
  sending(remote& r, int proc) : remote_(r), process_(r.procs_[proc]), proc_(proc) {
    r.wait_for_direct_gets(proc);
    asks_ = process_.operations.fetch_add(1, std::memory_order_relaxed) + 1 ==
            process_.expected.load(std::memory_order_relaxed);
  }
  ~sending() {
    if (!acknowledged_) process_.unfenced.store(true, std::memory_order_release);
  }
  sending(const sending&) = delete;
  sending& operator=(const sending&) = delete;

  /// `last`: the message is the operation's last one. It begins with a wire::request.
  void post(packet&& p, bool last) {
    if (!last || !asks_) return remote_.post(std::move(p), proc_);
    const uint32_t token = remote_.calls_.begin(proc_, {}, 0, {&process_.acknowledgements});
    wire::request q;
    std::memcpy(&q, p.data(), sizeof q);
    q.flags |= wire::acknowledge;
    q.token = token;
    std::memcpy(p.data(), &q, sizeof q);
    process_.unfenced.exchange(false, std::memory_order_acq_rel);  // R1
    try {
      remote_.post(std::move(p), proc_);
    } catch (...) {
      remote_.calls_.drop(token);
      throw;
    }
    acknowledged_ = true;
  }

 private:
  remote& remote_;
  process& process_;
  const int proc_;
  bool asks_, acknowledged_ = false;
};

void remote::put(const layout& from, const layout& to, int proc, addition what, put_return when) {
  const size_t size = from.size();
  const bool adds = what.adds;
  if (!adds && link_.puts_directly(when.early) && put_directly(from, to, proc, when)) return;
  sending messages(*this, proc);
  // A multiple of the largest element, so that no element is cut.
  for (size_t begin_at = 0; begin_at < size;) {
    wire::request q{adds ? wire::kind::accumulate : wire::kind::put,
                    static_cast<uint8_t>(adds ? what.type : 0),
                    static_cast<uint8_t>(to.levels),
                    0,
                    0,
                    reinterpret_cast<uint64_t>(to.base)};
    if (to.levels == 0) q.address += begin_at;
    packet p = begin(q, what);
    size_t n;
    if (to.levels == 0) {
      n = std::min(size - begin_at, p.room() / wire::scale_size * wire::scale_size);
    } else {
      wire::add_shape(p, to);
      n = std::min(size - begin_at, (p.room() - sizeof(wire::range)) / wire::scale_size * wire::scale_size);
      p.add(wire::range{begin_at, n});
    }
    pack(p.extend(n), from, begin_at, n);
    begin_at += n;
    messages.post(std::move(p), begin_at == size);
  }
}

void remote::put_list(void* const* from, void* const* to, size_t n, size_t bytes, int proc, addition what,
                      put_return when) {
  const bool adds = what.adds;
  const size_t header = sizeof(wire::request) + wire::scale_size + sizeof(wire::list_group);
  if (bytes + sizeof(uint64_t) > link_.packet_size() - header) {
    for (size_t i = 0; i < n; ++i) put(contiguous(from[i], bytes), contiguous(to[i], bytes), proc, what, when);
    return;
  }
  const wire::request q{adds ? wire::kind::list_accumulate : wire::kind::list_put,
                        static_cast<uint8_t>(adds ? what.type : 0),
                        0,
                        0,
                        0,
                        0};
  sending messages(*this, proc);
  for (size_t done = 0; done < n;) {
    packet p = begin(q, what);
    const size_t some = std::min(n - done, (p.room() - sizeof(wire::list_group)) / (bytes + sizeof(uint64_t)));
    p.add(wire::list_group{static_cast<uint32_t>(some), static_cast<uint32_t>(bytes)});
    p.add(to + done, some * sizeof(uint64_t));
    for (size_t i = 0; i < some; ++i) p.add(from[done + i], bytes);
    done += some;
    messages.post(std::move(p), done == n);
  }
}

void remote::tell(wire::kind what, const void* address, int proc) {
  if (what == wire::kind::unlock || what == wire::kind::notify) {
    wait_for_direct_gets(proc);
    procs_[proc].told.store(true, std::memory_order_relaxed);
  }
  post(begin({what, 0, 0, 0, 0, reinterpret_cast<uint64_t>(address)}, {}), proc);
}

long remote::rmw(int op, void* at, long operand, int proc) {
  wait_for_direct_gets(proc);
  int64_t before = 0;
  request_state state;
  const layout result = contiguous(&before, sizeof before);
  const uint32_t token = calls_.begin(proc, result, sizeof before, {&state});
  try {
    packet p = begin({wire::kind::rmw, static_cast<uint8_t>(op), 0, 0, token, reinterpret_cast<uint64_t>(at)}, {});
    p.add(wire::rmw_operand{operand});
    post(std::move(p), proc);
  } catch (...) {
    calls_.drop(token);
    throw;
  }
  wait(state, proc);
  return before;
}

void remote::begin_fence(int proc, request_state& state) {
  process& p = procs_[proc];
  const uint32_t operations = p.operations.exchange(0, std::memory_order_relaxed);
  if (operations != 0) p.expected.store(operations, std::memory_order_relaxed);
  if (!p.unfenced.exchange(false, std::memory_order_acq_rel)) return;  // A1
  const uint32_t token = calls_.begin(proc, {}, 0, {&state});
  try {
    post(begin({wire::kind::fence, 0, 0, 0, token, 0}, {}), proc);
  } catch (...) {
    calls_.drop(token);
    p.unfenced.store(true, std::memory_order_release);
    throw;
  }
  p.told.store(false, std::memory_order_relaxed);  // applies to the calling thread only, which waits for the answer
}

void remote::wait_for_puts(int proc) {
  process& p = procs_[proc];
  for (request_state* const state : {&p.acknowledgements, &p.direct_puts})
    if (state->pending.load(std::memory_order_acquire) != 0 || state->failure.load(std::memory_order_relaxed) != 0)
      wait(*state, proc);
}

void remote::fence(int proc) {
  request_state state;
  begin_fence(proc, state);
  wait(state, proc);
  wait_for_puts(proc);
}

void remote::fence_all() {
  // The program may free memory after this fence, so no direct get may still write to it.
  for (int r = 0; r < link_.size(); ++r) wait_for_direct_gets(r);
  request_state state;
  int failed = -1;
  std::exception_ptr wrong;
  for (int r = 0; r < link_.size() && wrong == nullptr; ++r) {
    try {
      insist([&] { begin_fence(r, state); });
    } catch (const error&) {
      failed = r;
    } catch (...) {
      wrong = std::current_exception();  // later, since the fences that have begun refer to `state`
    }
  }
  wait(state, -1);
  if (wrong != nullptr) std::rethrow_exception(wrong);
  for (int r = 0; r < link_.size(); ++r) wait_for_puts(r);
  if (failed >= 0) throw_failed(failed);
}

bool remote::lock(const void* address, int proc, bool wait_for_it) {
  int64_t got = 0;
  request_state state;
  const uint32_t token = calls_.begin(proc, contiguous(&got, sizeof got), sizeof got, {&state});
  const auto flags = static_cast<uint8_t>(wait_for_it ? 0 : wire::only_if_free);
  try {
    post(begin({wire::kind::lock, 0, 0, flags, token, reinterpret_cast<uint64_t>(address)}, {}), proc);
    // The holder may have died. Only the owner knows who it is.
    const auto ready = [&] { return state.pending.load(std::memory_order_acquire) == 0; };
    using clock = std::chrono::steady_clock;
    while (!ready()) {
      const auto later = clock::now() + std::chrono::milliseconds(200);
      link_.wait(proc, [&] { return ready() || clock::now() > later; });
      if (!ready()) tell(wire::kind::check_holder, address, proc);
    }
  } catch (...) {
    calls_.drop(token);
    throw;
  }
  wait(state, proc);
  return got != 0;
}

void remote::wait(request_state& state, int proc) {
  // The load (A1) pairs with R1 in call_table::end(), so this thread sees the answer's data. Failure handling ends the
  // calls to a failed process, so the wait terminates.
  link_.wait(-1, [&] { return state.pending.load(std::memory_order_acquire) == 0; });
  const int failure = state.failure.exchange(0, std::memory_order_relaxed);
  if (failure != 0) throw_failure(failure, proc);
}

void throw_failure(int failure, int proc) {
  if (failure == peer_failure && proc >= 0) throw_failed(proc);
  if (failure == peer_failure) throw error(failure, "a process that had to answer has failed");
  const std::string who = proc < 0 ? "a process that was asked" : "process " + std::to_string(proc);
  if (failure == wire::no_memory) throw error(internal_failure, who + " has no memory left for the operation");
  throw error(failure, who +
                           " has no such memory, or has freed it: an operation that this process has issued since its "
                           "last fence had addresses beyond memory of ARMCI_Malloc");
}

int remote::take_failure(request_state process::*of) {
  int failure = 0;
  for (int r = 0; r < link_.size(); ++r)
    if (const int its = (procs_[r].*of).failure.exchange(0, std::memory_order_relaxed); its != 0) failure = its;
  return failure;
}

int remote::wait_for_all(int proc) {
  int failure = 0;
  for (request_state* const state :
       {proc < 0 ? &all_gets_ : &procs_[proc].gets, proc < 0 ? &all_direct_puts_ : &procs_[proc].direct_puts}) {
    link_.wait(-1, [&] { return state->pending.load(std::memory_order_acquire) == 0; });
    int its = state->failure.exchange(0, std::memory_order_relaxed);
    if (proc < 0 && its != 0) its = take_failure(state == &all_gets_ ? &process::gets : &process::direct_puts);
    if (its != 0) failure = its;
  }
  return failure;
}

void remote::receive_answer(int source, const std::byte* bytes, size_t size) {
  if (size == 0) return link_.something_happened();  // a question whether this process lives, or a notification
  if (calls_.receive(source, bytes, size)) link_.something_happened();
}

void remote::on_failure(int proc) {
  calls_.fail(proc);
  link_.something_happened();
}

}  // namespace armci_layer
