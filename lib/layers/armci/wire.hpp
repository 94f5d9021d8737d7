// Messages between processes that don't share memory. Everything that is on the wire is here. Hosts of a job have the
// same byte order. Numbers from the wire are checked before they are used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lib/layers/armci/layout.hpp"

namespace armci_layer::wire {

enum class kind : uint8_t {
  put,
  accumulate,
  get,
  list_put,         // groups of segments: each a list_group, its addresses, its bytes
  list_accumulate,  // the same
  list_get,         // one list_group and its addresses
  rmw,
  fence,
  lock,
  unlock,
  wake,          // an unlock in shared memory: the owner may grant the mutex to a process of another host
  check_holder,  // whether the process that has the mutex is alive
  notify,
};

struct request {
  kind what;
  uint8_t type;    // of accumulates; the operation of rmw
  uint8_t levels;  // of the shape
  uint8_t flags;
  uint32_t token;    // names what waits for the answer
  uint64_t address;  // at the target
};
constexpr uint8_t only_if_free = 1;  // of lock
constexpr uint8_t acknowledge = 2;   // of puts and accumulates: the target answers as a fence that follows it

/// The bytes of a layout at the target that a message is for. Follow a request with levels > 0: `levels` + 1 counts and
/// as many strides, less one, as 64-bit numbers.
struct range {
  uint64_t begin, size;
};

struct list_group {
  uint32_t n;      // segments
  uint32_t bytes;  // of each
};

struct rmw_operand {
  int64_t value;
};

/// The failure of an answer if the target had no memory for it. The program gets another code.
constexpr int no_memory = -100;

/// Begins each answer. Data follows.
struct answer {
  uint32_t token;
  int32_t failure;  // 0, or a code
  uint64_t begin;   // of the data, in the bytes of the call; of a failure, how many bytes will not come, or 1
};

constexpr size_t scale_size = 16;  // of accumulates: the largest element
constexpr size_t largest_shape = (2 * max_levels + 1) * sizeof(uint64_t);

/// Takes values from a message. After reading beyond its end, good() is false, and values are 0.
class reader {
 public:
  reader(const std::byte* bytes, size_t size) : at_(bytes), left_(size) {}
  template <class T>
  T take() {
    T value{};
    if (const std::byte* p = skip(sizeof value)) std::memcpy(&value, p, sizeof value);
    return value;
  }
  /// The next n bytes; null if there are fewer.
  const std::byte* skip(size_t n) {
    if (n > left_) {
      good_ = false;
      left_ = 0;
      return nullptr;
    }
    const std::byte* p = at_;
    at_ += n;
    left_ -= n;
    return p;
  }
  const std::byte* rest() const { return at_; }
  size_t left() const { return left_; }
  bool good() const { return good_; }

 private:
  const std::byte* at_;
  size_t left_;
  bool good_ = true;
};

template <class Packet>
void add_shape(Packet& p, const layout& l) {
  for (int i = 0; i <= l.levels; ++i) p.add(static_cast<uint64_t>(l.count[i]));
  for (int i = 0; i < l.levels; ++i) p.add(static_cast<int64_t>(l.stride[i]));
}
inline size_t shape_size(const layout& l) {
  return l.levels == 0 ? 0 : (2 * static_cast<size_t>(l.levels) + 1) * sizeof(uint64_t);
}

/// The layout of a request with levels; of 0 bytes if the message makes no sense.
inline layout take_shape(reader& r, const request& q) {
  layout l;
  if (q.levels > max_levels) return l;
  l.base = reinterpret_cast<std::byte*>(q.address);
  l.levels = q.levels;
  size_t product = 1;
  bool sound = true;
  for (int i = 0; i <= l.levels; ++i) {
    l.count[i] = r.take<uint64_t>();
    sound &= l.count[i] > 0 && !__builtin_mul_overflow(product, l.count[i], &product) && product < size_t{1} << 47;
  }
  for (int i = 0; i < l.levels; ++i) {
    l.stride[i] = static_cast<ptrdiff_t>(r.take<int64_t>());
    ptrdiff_t reach = 0;
    sound &= !__builtin_mul_overflow(l.stride[i], static_cast<ptrdiff_t>(l.count[i + 1]), &reach) &&
             reach < ptrdiff_t{1} << 47 && reach > -(ptrdiff_t{1} << 47);
  }
  if (!sound || !r.good()) l = layout();
  return l;
}

}  // namespace armci_layer::wire
