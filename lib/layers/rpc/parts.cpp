#include "lib/layers/rpc/parts.hpp"

#include <algorithm>
#include <atomic>

#include "lib/layers/mercury/wire.hpp"
#include "lib/layers/rpc/core.hpp"

namespace lci::rpc::detail {
namespace {

/// A result under way. Owned by its sends: the last one frees it. Each send has a slot of its own, whose callback
/// reuses it for the next part.
class long_result {
 public:
  long_result(engine_core& e, na_addr_t to, na_tag_t tag, uint64_t cookie, std::unique_ptr<char[]> result, size_t size)
      : engine_(e), tag_(tag), cookie_(cookie), result_(std::move(result)), size_(size) {
    NA_Addr_dup(e.na(), to, &to_);
    for (slot& s : slots_) s = {this, std::unique_ptr<char[]>(new char[e.largest_response])};
  }
  ~long_result() { NA_Addr_free(engine_.na(), to_); }
  long_result(const long_result&) = delete;
  long_result& operator=(const long_result&) = delete;

  void begin() {
    for (slot& s : slots_) send(s);
    release();  // the reference of the constructor
  }

 private:
  static constexpr size_t n_slots = 8;
  struct slot {
    long_result* owner = nullptr;
    std::unique_ptr<char[]> buffer;
  };

  /// Sends the next part, if there is one.
  void send(slot& s) {
    constexpr size_t before = sizeof(mercury::response_header) + sizeof(mercury::part_header);
    const size_t room = engine_.largest_response - before;
    const size_t offset = next_.fetch_add(room, std::memory_order_relaxed);
    if (offset >= size_) return;
    const size_t n = std::min(room, size_ - offset);
    const mercury::part_header p{size_, offset};
    std::memcpy(s.buffer.get() + sizeof(mercury::response_header), &p, sizeof p);
    std::memcpy(s.buffer.get() + before, result_.get() + offset, n);
    mercury::response_header h;
    h.flags = mercury::is_part;
    h.payload = static_cast<uint32_t>(sizeof p + n);
    h.cookie = cookie_;
    mercury::seal(h, s.buffer.get());
    refs_.fetch_add(1, std::memory_order_relaxed);
    engine_.operations.fetch_add(1, std::memory_order_relaxed);
    if (NA_Msg_send_expected(engine_.na(), engine_.context(), on_sent, &s, s.buffer.get(), before + n, to_, tag_,
                             NA_OP_ID_IGNORE) == NA_SUCCESS)
      return;
    engine_.operations.fetch_sub(1, std::memory_order_release);
    next_.store(size_, std::memory_order_relaxed);  // the caller has gone
    release();
  }

  static na_return_t on_sent(const na_cb_info* info) {
    auto& s = *static_cast<slot*>(info->arg);
    long_result& r = *s.owner;
    engine_core& e = r.engine_;
    if (info->ret == NA_SUCCESS) r.send(s);
    r.release();
    e.operations.fetch_sub(1, std::memory_order_release);
    return NA_SUCCESS;
  }

  void release() {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  engine_core& engine_;
  na_addr_t to_ = NA_ADDR_NULL;
  const na_tag_t tag_;
  const uint64_t cookie_;
  const std::unique_ptr<char[]> result_;
  const size_t size_;
  slot slots_[n_slots];
  std::atomic<size_t> next_{0};
  std::atomic<uint32_t> refs_{1};
};

}  // namespace

void send_in_parts(engine_core& e, na_addr_t to, na_tag_t tag, uint64_t cookie, std::unique_ptr<char[]> result,
                   size_t size) {
  (new long_result(e, to, tag, cookie, std::move(result), size))->begin();
}

}  // namespace lci::rpc::detail
