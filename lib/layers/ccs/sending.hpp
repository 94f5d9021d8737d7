// Data that is packed and sent in several packets, with back-pressure from the network.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "lib/concurrent/spinlock.hpp"
#include "lib/layers/ccs/chain.hpp"
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

  /// Sends until the network refuses. Returns true if all was sent. If it throws for want of memory, it can be called
  /// again.
  bool advance();
  bool has_begun() const { return sent_ > 0; }

  std::unique_ptr<operation> at_end;  ///< completes when everything was sent; may be null
  layout remote;  ///< at the target: its description, which each packet names, is kept until everything was sent
  /// Multiplies the numbers by a factor as they are packed.
  void scale_by(CCS_number_t number, const void* factor) { scaling_.set(number, factor); }
  sending* next = nullptr;

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
  /// Sends what can be sent now, unless the calling thread must not make progress; the rest later. Throws if there is
  /// no memory and nothing was sent.
  void begin(std::unique_ptr<sending> s);
  /// Leaves all to later, as services must: inside the core's progress no post is refused, so that the core would store
  /// the whole transfer.
  void add(std::unique_ptr<sending> s) noexcept;
  /// Returns whether anything was sent to the end.
  bool advance();
  bool is_empty() const { return n_.load(std::memory_order_acquire) == 0; }

 private:
  std::atomic<size_t> n_{0};
  lci::spinlock lock_;
  chain<sending> all_;
};

}  // namespace ccs
