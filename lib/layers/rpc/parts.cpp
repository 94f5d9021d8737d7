#include "lib/layers/rpc/parts.hpp"

#include <algorithm>
#include <new>

#include "lib/layers/rpc/core.hpp"

namespace lci::rpc::detail {
namespace {

/// A result that is being sent in parts. Deletes itself after the last part. Used by one thread at a time: first the
/// thread that answers, then the threads that run callbacks of queued parts.
class long_result {
 public:
  long_result(engine_core& e, na_addr_t to, na_tag_t tag, uint64_t cookie, std::unique_ptr<char[]> result, size_t size)
      : engine_(e),
        to_(to),
        tag_(tag | na::answer_bit),
        cookie_(cookie),
        result_(std::move(result)),
        size_(size),
        part_(new char[e.largest_response]) {
    if (NA_Direct_reserve(e.na()) != NA_SUCCESS) throw std::bad_alloc();  // so that no part is lost
  }

  ~long_result() { NA_Direct_release(engine_.na()); }
  long_result(const long_result&) = delete;
  long_result& operator=(const long_result&) = delete;

  /// Sends parts until NA queues one, or all are sent.
  void send() {
    while (sent_ < size_) {
      const size_t bytes = write_part();
      const na_tag_t tag = sent_ < size_ ? tag_ | na::more_bit : tag_;
      const na_return_t tried = NA_Direct_try(engine_.na(), part_.get(), bytes, to_, tag);
      if (LCI_LIKELY(tried == NA_SUCCESS)) continue;
      if (tried == NA_TIMEOUT && queue(bytes, tag)) return;
      break;  // the caller has failed or disconnected
    }
    delete this;
  }

 private:
  /// Encodes the next part. Returns the size of the message.
  size_t write_part() {
    constexpr size_t before = sizeof(mercury::response_header) + sizeof(mercury::part_header);
    const size_t n = std::min(bytes_of_part(engine_.largest_response), size_ - sent_);
    const mercury::part_header p{size_, sent_};
    std::memcpy(part_.get() + sizeof(mercury::response_header), &p, sizeof p);
    std::memcpy(part_.get() + before, result_.get() + sent_, n);
    mercury::response_header h;
    h.flags = mercury::is_part;
    h.payload = static_cast<uint16_t>(sizeof p + n);
    h.cookie = cookie_;
    mercury::seal(h, part_.get());
    sent_ += n;
    return before + n;
  }

  bool queue(size_t bytes, na_tag_t tag) {
    engine_core& e = engine_;
    e.operations.fetch_add(1, std::memory_order_relaxed);
    if (NA_Direct_queue(e.na(), e.context(), on_sent, this, part_.get(), bytes, to_, tag, NA_OP_ID_IGNORE) ==
        NA_SUCCESS)
      return true;
    e.operations.fetch_sub(1, std::memory_order_release);
    return false;
  }

  static na_return_t on_sent(const na_cb_info* info) {
    auto* const r = static_cast<long_result*>(info->arg);
    engine_core& e = r->engine_;
    if (info->ret != NA_SUCCESS) r->sent_ = r->size_;
    r->send();
    e.operations.fetch_sub(1, std::memory_order_release);
    return NA_SUCCESS;
  }

  engine_core& engine_;
  const na_addr_t to_;
  const na_tag_t tag_;
  const uint64_t cookie_;
  const std::unique_ptr<char[]> result_;
  const size_t size_;
  const std::unique_ptr<char[]> part_;
  size_t sent_ = 0;  // bytes of the result that have been sent or queued
};

}  // namespace

bool result_parts::allocate(size_t parts) {
  bytes_.reset(new (std::nothrow) char[size_]);
  has_.reset(new (std::nothrow) uint64_t[(parts + 63) / 64]());
  missing_ = parts;
  return bytes_ != nullptr && has_ != nullptr;
}

result_parts::state result_parts::add(const char* payload, size_t size, size_t largest_response, size_t most) {
  mercury::part_header p;
  if (size < sizeof p) return state::damaged;
  std::memcpy(&p, payload, sizeof p);
  size -= sizeof p;
  const size_t whole = bytes_of_part(largest_response);
  if (p.offset >= p.total || p.offset % whole != 0 || size != std::min<uint64_t>(whole, p.total - p.offset))
    return state::damaged;
  if (!any()) {
    if (p.total > most) return state::too_large;
    size_ = p.total;
    if (!allocate((size_ + whole - 1) / whole)) return clear(), state::no_memory;
  }
  if (p.total != size_) return state::damaged;
  const size_t n = p.offset / whole;
  uint64_t& bits = has_[n / 64];
  const uint64_t bit = uint64_t{1} << n % 64;
  if ((bits & bit) != 0) return state::damaged;
  bits |= bit;
  std::memcpy(bytes_.get() + p.offset, payload + sizeof p, size);
  return --missing_ == 0 ? state::complete : state::incomplete;
}

void result_parts::clear() {
  bytes_.reset();
  has_.reset();
  size_ = missing_ = 0;
}

bool send_in_parts(engine_core& e, na_addr_t to, na_tag_t tag, uint64_t cookie, std::unique_ptr<char[]> result,
                   size_t size) {
  long_result* made = nullptr;
  try {
    made = new long_result(e, to, tag, cookie, std::move(result), size);
  } catch (const std::bad_alloc&) {
    return false;
  }
  made->send();
  return true;
}

}  // namespace lci::rpc::detail
