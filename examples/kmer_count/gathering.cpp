#include "gathering.hpp"

#include <cstring>
#include <vector>

namespace kmer_count {
namespace {

struct bin {
  uint64_t count, number;
};

class message_bytes {
 public:
  explicit message_bytes(const control& head) { append(&head, sizeof head); }
  void append(const void* data, size_t size) {
    const char* p = static_cast<const char*>(data);
    bytes_.insert(bytes_.end(), p, p + size);
  }
  void send(exchange& net, worker& w, int rank) const { net.send_control(w, rank, bytes_.data(), bytes_.size()); }

 private:
  std::vector<char> bytes_;
};

}  // namespace

template <class Condition>
void gathering::wait_for(worker& w, Condition condition) {
  backoff wait;
  while (!condition()) {
    if (!net_.progress_all(w)) wait.nothing_happened();
  }
}

void gathering::send(worker& w, const histogram& counts, const rank_summary& summary) {
  // Active messages may overtake each other: rank 0 counts the parts.
  const size_t room = (net_.max_control_size() - sizeof(control)) / sizeof(bin);
  uint64_t parts = 0;
  auto it = counts.bins().begin();
  while (it != counts.bins().end()) {
    message_bytes message({control_kind::bins, 0, 0});
    for (size_t n = 0; n < room && it != counts.bins().end(); ++n, ++it) {
      const bin b{it->first, it->second};
      message.append(&b, sizeof b);
    }
    message.send(net_, w, 0);
    ++parts;
  }
  message_bytes message({control_kind::report, 0, parts});
  message.append(&summary, sizeof summary);
  message.send(net_, w, 0);
}

void gathering::collect(worker& w, histogram& counts, rank_summary& summary) {
  if (net_.rank() != 0) {
    send(w, counts, summary);
    return;
  }
  const uint64_t others = static_cast<uint64_t>(net_.nranks()) - 1;
  wait_for(w, [&] {
    return reports_.load(std::memory_order_acquire) == others &&  // G1: pairs with G2
           parts_.load(std::memory_order_acquire) ==              // G3: pairs with G4
               expected_parts_.load(std::memory_order_relaxed);   // written before G2
  });
  const std::lock_guard<std::mutex> guard(lock_);
  for (const auto& [count, number] : counts_.bins()) counts.add(count, number);
  summary += summary_;
}

void gathering::leave(worker& w) {
  const control message{control_kind::finished, 0, 0};
  for (int r = 0; r < net_.nranks(); ++r) {
    if (r != net_.rank()) net_.send_control(w, r, &message, sizeof message);
  }
  const uint64_t others = static_cast<uint64_t>(net_.nranks()) - 1;
  wait_for(w, [&] { return finished_.load(std::memory_order_acquire) == others; });  // G5: with G6
  net_.finish(w);
}

void gathering::on_control(const control& message, const char* body, size_t size) {
  switch (message.kind) {
    case control_kind::bins: {
      const std::lock_guard<std::mutex> guard(lock_);
      for (; size >= sizeof(bin); body += sizeof(bin), size -= sizeof(bin)) {
        bin b;
        std::memcpy(&b, body, sizeof b);
        counts_.add(b.count, b.number);
      }
      parts_.fetch_add(1, std::memory_order_release);  // G4: pairs with G3
      break;
    }
    case control_kind::report: {
      rank_summary summary;
      if (size != sizeof summary) net_.fail("a report has the wrong size");
      std::memcpy(static_cast<void*>(&summary), body, sizeof summary);
      const std::lock_guard<std::mutex> guard(lock_);
      summary_ += summary;
      expected_parts_.fetch_add(message.value, std::memory_order_relaxed);
      reports_.fetch_add(1, std::memory_order_release);  // G2: pairs with G1
      break;
    }
    case control_kind::finished:
      finished_.fetch_add(1, std::memory_order_release);  // G6: pairs with G5
      break;
    default:
      net_.fail("an unknown control message arrived");
  }
}

}  // namespace kmer_count
