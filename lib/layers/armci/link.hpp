// How a process reaches the others: the runtime, messages, progress and waits, and who has failed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstring>
#include <functional>
#include <lci.hpp>
#include <memory>
#include <string>
#include <utility>

#include "lib/base/cpu.hpp"

namespace armci_layer {

/// A message that is being written, in memory of the network's. Thread-bound; unsent, it is given back.
class packet {
 public:
  packet() = default;
  packet(packet&& other) noexcept { *this = static_cast<packet&&>(other); }
  packet& operator=(packet&& other) noexcept {
    std::swap(link_, other.link_);
    std::swap(memory_, other.memory_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~packet();

  template <class T>
  void add(const T& value) {
    std::memcpy(memory_ + size_, &value, sizeof value);
    size_ += sizeof value;
  }
  void add(const void* bytes, size_t n) {
    std::memcpy(memory_ + size_, bytes, n);
    size_ += n;
  }
  /// Memory for the next n bytes, to be filled by the caller.
  std::byte* extend(size_t n) {
    size_ += n;
    return memory_ + size_ - n;
  }
  size_t size() const { return size_; }
  size_t room() const;
  std::byte* data() { return memory_; }

 private:
  friend class link;
  class link* link_ = nullptr;
  std::byte* memory_ = nullptr;
  size_t size_ = 0;
};

/// Owns runtime and device. Allocation and its end are collective. Thread-safe.
class link {
 public:
  /// Where messages go: in the order of their posting to requests and inbox, in any order to answers.
  enum class box { requests, answers, inbox };

  /// Any thread that makes progress calls `receive(box, source, bytes, size)` for arrived messages. It must not throw.
  using receiver = std::function<void(box, int, const std::byte*, size_t)>;
  explicit link(receiver receive);
  ~link();
  link(const link&) = delete;
  link& operator=(const link&) = delete;

  int me() const { return me_; }
  int size() const { return size_; }
  lci::runtime_t runtime() const { return runtime_; }
  lci::device_t device() const { return device_; }
  size_t packet_size() const { return packet_size_; }

  /// A thread that sleeps makes progress from now on.
  void serve_in_background();

  packet new_packet();
  /// Sends it. From outside of receive() it makes progress while the network is busy; within, the message may wait.
  /// Throws `error` if the target has failed. If it throws, the packet stays the caller's, who may try again.
  void send(int rank, box to, packet&& p, bool from_receiver = false);
  /// Posts an RMA get from an offset of the key's range. Signals `end` with `context`, also on failure. A null layout
  /// is contiguous. Must not be called inside receive(). If the target has failed, throws `error` and does not signal.
  void get(int rank, void* to, const lci::layout_t* to_layout, size_t size, lci::rmr_t key, uint64_t offset,
           const lci::layout_t* from_layout, lci::comp_t end, void* context);
  /// Posts an RMA put likewise. Signals `end` when the data is in the target's memory. If keeps_puts_in_order(), later
  /// puts and later requests to the process don't overtake it.
  void put(int rank, const void* from, const lci::layout_t* from_layout, size_t size, lci::rmr_t key, uint64_t offset,
           const lci::layout_t* to_layout, lci::comp_t end, void* context);
  /// Returns whether large puts are faster by RMA than as messages. `early`: they may return before they are complete.
  bool puts_directly(bool early) const { return puts_directly_ || (early && puts_directly_if_early_); }
  bool keeps_puts_in_order() const { return keeps_puts_in_order_; }
  /// A message of any size, `head` and `body`, to the target's inbox. Returns when both may be reused.
  void send_long(int rank, const void* head, size_t head_size, const void* body, size_t size);

  /// Returns true if something has happened. Does not throw: who has failed is remembered, other errors are printed.
  bool progress() noexcept;
  /// Wakes waits, which look at their conditions again. For receive().
  void something_happened();
  /// Makes progress until `ready()`; sleeps if that takes long. Returns false if `rank` (-1: none) has failed before.
  template <class Ready>
  bool wait(int rank, Ready ready) {
    return poll(ready) || wait_asleep(rank, ready);
  }
  /// The part of wait() that does not sleep. Returns false if it has taken too long.
  template <class Ready>
  bool poll(Ready ready) {
    for (int i = 0; i < spins; ++i) {
      if (LCI_LIKELY(ready())) return true;
      if (progress()) i = 0;
    }
    return false;
  }
  /// The part of wait() that sleeps, for callers whose poll() has returned false. Returns what wait() would.
  template <class Ready>
  bool wait_asleep(int rank, Ready ready) {
    while (!ready()) {
      if (rank >= 0 && has_failed(rank)) return ready();
      // Who has exchanged nothing with a process does not notice its end: so ask it for something, now and then.
      // By reference, as a copy in a std::function may need memory, but a wait must not throw.
      if (!sleep(std::ref(ready)) && rank >= 0) probe(rank, false);
    }
    return true;
  }
  /// The same for what any other process may cause. Returns false if all others have failed before.
  template <class Ready>
  bool wait_for_any(Ready ready) {
    if (size_ == 1) return wait(-1, ready);  // another thread of this process causes it
    // A process that is alive may still cause it. So this asks one process after the other until it finds such a one.
    for (int r = 0; r < size_; ++r)
      if (r != me_ && wait(r, ready)) return true;
    return false;
  }

  /// For threads that wait for something else than messages: finds out who has failed.
  void look_around() {
    sleep([] { return false; }, 0.002);
  }
  bool has_failed(int rank) const { return failed_[rank].load(std::memory_order_acquire); }
  /// Returns whether a process that this one may have exchanged nothing with has failed. Asks it.
  bool probe(int rank, bool from_receiver);
  /// Sends a process an empty message, if there is room for it. Wakes threads that wait there.
  void ask(int rank, bool from_receiver) noexcept;
  /// Called once for each failed rank, in any thread; set before the first message.
  std::function<void(int)> on_failure;

 private:
  friend class packet;
  struct slot;                        // receives one box
  static constexpr int spins = 1000;  // rounds of progress after the last event, before a sleep
  /// Until something happens; false if that takes too long. The network looks after peers when a thread sleeps.
  bool sleep(const std::function<bool()>& ready, double seconds = 0.05);
  void note_failure(const lci::peer_failure_error& e);
  lci::rcomp_t number_of(box to) const;
  void release() noexcept;

  lci::runtime_t runtime_;
  lci::packet_pool_t pool_;
  lci::device_t device_;
  lci::progress_thread_t background_;
  lci::stream_t requests_, messages_;
  lci::comp_t events_;
  std::unique_ptr<slot> slots_[3];
  template <class Post>
  void post_until_taken(int rank, const Post& post);

  int me_ = 0, size_ = 1;
  bool puts_directly_ = false, puts_directly_if_early_ = false, keeps_puts_in_order_ = false;
  size_t packet_size_ = 0;
  std::unique_ptr<std::atomic<bool>[]> failed_;
};

/// Throws that a process has failed.
[[noreturn, gnu::cold]] void throw_failed(int rank);

}  // namespace armci_layer
