// Data that is packed and sent in several packets, with back-pressure from the network.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>

#include "lib/concurrent/spinlock.hpp"
#include "lib/layers/ccs/description.hpp"
#include "lib/layers/ccs/numbers.hpp"
#include "lib/layers/ccs/operation.hpp"
#include "lib/layers/ccs/wire.hpp"

namespace ccs {

class process;

/// The data of one operation on its way to a node. `head` precedes the data in each packet. Owned by sending_list. Used
/// by one thread at a time.
class sending {
 public:
  sending(process& p, int node, layout from, const wire::data_head& head);
  sending(process& p, int node, layout from, const wire::reply_head& head);
  ~sending();
  sending(const sending&) = delete;
  sending& operator=(const sending&) = delete;

  /// Sends packets until the network refuses one. Returns whether all data has been sent.
  bool advance();

  std::unique_ptr<operation> at_end;  ///< completed when all data has been sent; may be null
  /// Multiplies the numbers by a factor as they are packed.
  void scale_by(CCS_number_t number, const void* factor) { scaling_.set(number, factor); }

 private:
  bool fill();

  process& of_;
  const int node_;
  layout from_;
  const wire::kind kind_;
  wire::data_head data_{};
  wire::reply_head reply_{};
  size_t sent_ = 0;
  std::byte* packet_ = nullptr;  // filled and not sent yet
  size_t packed_ = 0;            // bytes of data in packet_
  scaling scaling_;
};

/// The unfinished sendings. Owned by `process`. Thread-safe.
class sending_list {
 public:
  /// Sends as many packets as the network accepts, and lets polls send the rest. Leaves all to polls if the calling
  /// thread must not make progress.
  void begin(std::unique_ptr<sending> s);
  /// Leaves all packets to polls. For handlers of messages: inside progress a post can't return `retry`, so the core
  /// would queue the whole data.
  void add(std::unique_ptr<sending> s);
  /// Sends packets of all sendings. Returns whether a sending has finished.
  bool advance();
  bool is_empty() const { return n_.load(std::memory_order_acquire) == 0; }

 private:
  std::atomic<size_t> n_{0};
  lci::spinlock lock_;
  std::deque<std::unique_ptr<sending>> all_;
};

}  // namespace ccs
