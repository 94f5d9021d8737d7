// Remote memory access of CCS, contiguous and described, and registrations.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tests/sweep/ccs_scene.hpp"

namespace sweep {

namespace {

constexpr int untouched = 20;  // initial pattern of memory that operations write
constexpr size_t largest = 150000;

/// Memory of this rank for each operation, which the peer accesses.
class window {
 public:
  explicit window(bool shared)
      : shared_(shared),
        memory_(static_cast<char*>(shared ? CCS_malloc(n_operations * largest) : std::malloc(n_operations * largest))) {
    if (memory_ == nullptr) fail("no memory for a window");
    fill(memory_, n_operations * largest, untouched);
    insist("CCS_register_mem", [this] { return CCS_register_mem(memory_, n_operations * largest); });
    publish(0, memory_);
  }
  ~window() {
    meet();
    insist("CCS_deregister_mem", [this] { return CCS_deregister_mem(memory_, n_operations * largest); });
    shared_ ? CCS_free(memory_) : std::free(memory_);
  }
  window(const window&) = delete;
  window& operator=(const window&) = delete;

  char* here(int i) { return memory_ + static_cast<size_t>(i) * largest; }
  static char* there(int i) {
    return static_cast<char*>(published(0, static_cast<int>(peer()))) + static_cast<size_t>(i) * largest;
  }

 private:
  const bool shared_;
  char* const memory_;
};

/// Both ranks call begin(i, callback's argument) for each operation i; it returns the result of the CCS function. Then
/// they fence. Checks that exactly the operations that were begun successfully have called their callbacks.
template <class Begin>
void operate(Begin begin) {
  std::array<int, n_operations> calls{};
  forget_results();
  arm(me);
  for (int i = 0; i < n_operations; ++i)
    result_of(me, i).store(succeeds("an operation", begin(i, &calls[static_cast<size_t>(i)])) ? outcome::good
                                                                                              : outcome::refused);
  insist("CCS_fence", [] { return CCS_fence(peer()); });
  // A callback may be called in a later poll.
  const auto called = [&](int i) { return calls[static_cast<size_t>(i)]; };
  until("all callbacks", [&] {
    for (int i = 0; i < n_operations; ++i)
      if (result_of(me, i).load() == outcome::good && called(i) == 0) return false;
    return true;
  });
  meet();
  disarm();
  for (int i = 0; i < n_operations; ++i)
    if (called(i) != (result_of(me, i).load() == outcome::good ? 1 : 0))
      fail("the callback of operation %d is called %d times", i, called(i));
}

bool has_succeeded(int rank, int i) { return result_of(rank, i).load() == outcome::good; }

void check_puts(window& w) {
  const int origin = static_cast<int>(peer());
  for (int i = 0; i < n_operations; ++i)
    if (!is_filled(w.here(i), size_of(i), has_succeeded(origin, i) ? i : untouched))
      fail("the memory of put %d, which has %s, is wrong", i, has_succeeded(origin, i) ? "succeeded" : "failed");
}

void put_to(bool shared) {
  window w(shared);
  std::vector<std::vector<char>> from;
  for (int i = 0; i < n_operations; ++i) {
    from.emplace_back(size_of(i));
    fill(from.back().data(), size_of(i), i);
  }
  operate([&](int i, int* calls) {
    char* const data = from[static_cast<size_t>(i)].data();
    return CCS_put(peer(), data, size_of(i), CCS_DATA8, window::there(i), size_of(i), CCS_DATA8, count_call, calls);
  });
  check_puts(w);
}

/// Blocks of 40 bytes, 48 bytes apart. CCS_DATA_NULL: no memory.
CCS_datadesc_t blocks_of(size_t size) {
  CCS_datadesc_t desc = CCS_DATA_NULL;
  if (CCS_datadesc_create_vector(static_cast<int>(size / 40), 40, 48, CCS_DATA8, &desc) != CCS_SUCCESS)
    (void)succeeds("CCS_datadesc_create_vector", CCS_NOMEM);
  return desc;
}
/// The same blocks in an order without a stride.
CCS_datadesc_t list_of(size_t size) {
  std::vector<CCS_aint_t> at;
  {
    const pause here;
    const auto n = static_cast<CCS_aint_t>(size / 40);
    for (CCS_aint_t i = 0; i < n; ++i) at.push_back((i % 2 == 0 ? i : n - 1 - (n % 2) - (i - 1)) * 48);
  }
  CCS_datadesc_t desc = CCS_DATA_NULL;
  if (CCS_datadesc_create_blockindexed(static_cast<int>(at.size()), 40, at.data(), CCS_DATA8, &desc) != CCS_SUCCESS)
    (void)succeeds("CCS_datadesc_create_blockindexed", CCS_NOMEM);
  const pause here;
  at = {};
  return desc;
}

size_t described_size(int i) { return std::max<size_t>(size_of(i) / 48, 1) * 40; }

}  // namespace

void put() { put_to(false); }
void shared_put() { put_to(true); }

void get() {
  window w(false);
  for (int i = 0; i < n_operations; ++i) fill(w.here(i), size_of(i), i);
  std::vector<std::vector<char>> to;
  for (int i = 0; i < n_operations; ++i) {
    to.emplace_back(size_of(i));
    fill(to.back().data(), size_of(i), untouched);
  }
  operate([&](int i, int* calls) {
    char* const data = to[static_cast<size_t>(i)].data();
    return CCS_get(peer(), window::there(i), size_of(i), CCS_DATA8, data, size_of(i), CCS_DATA8, count_call, calls);
  });
  for (int i = 0; i < n_operations; ++i)
    if (!is_filled(to[static_cast<size_t>(i)].data(), size_of(i), has_succeeded(me, i) ? i : untouched))
      fail("the data of get %d is wrong", i);
  meet();
}

void described() {
  window w(false);
  for (int i = 1; i < n_operations; i += 2) fill(w.here(i), largest, i);  // read by gets
  std::vector<std::vector<char>> data;
  for (int i = 0; i < n_operations; ++i) {
    data.emplace_back(largest);
    fill(data.back().data(), largest, i % 2 == 0 ? i : untouched);
  }
  operate([&](int i, int* calls) {
    const size_t size = described_size(i);
    // The scenario frees the descriptions while operations use them.
    CCS_datadesc_t here = i % 4 < 2 ? CCS_DATA_PACKED : blocks_of(size),
                   there = i % 8 < 4 ? blocks_of(size) : list_of(size);
    int result = CCS_NOMEM;
    char* const local = data[static_cast<size_t>(i)].data();
    const size_t n = here == CCS_DATA_PACKED ? size : 1;
    const auto operation = [&] {
      return i % 2 == 0 ? CCS_put(peer(), local, n, here, window::there(i), 1, there, count_call, calls)
                        : CCS_get(peer(), window::there(i), 1, there, local, n, here, count_call, calls);
    };
    if (here != CCS_DATA_NULL && there != CCS_DATA_NULL) {
      result = operation();
      // An operation without effect can be repeated with the same descriptions.
      if (result == CCS_NOMEM && i % 3 != 0) result = operation();
    }
    CCS_datadesc_free(&here);
    CCS_datadesc_free(&there);
    return result;
  });
  for (int i = 0; i < n_operations; ++i) {
    const bool is_put = i % 2 == 0;
    const bool packed = !is_put && i % 4 < 2, good = has_succeeded(is_put ? static_cast<int>(peer()) : me, i);
    const char* const at = is_put ? w.here(i) : data[static_cast<size_t>(i)].data();
    const size_t blocks = described_size(i) / 40;
    for (size_t b = 0; b < blocks; ++b) {
      if (!is_filled(at + b * (packed ? 40 : 48), 40, good ? i : untouched))
        fail("block %zu of described operation %d is wrong", b, i);
      if (!packed && !is_filled(at + b * 48 + 40, 8, untouched))
        fail("bytes between blocks of operation %d are wrong", i);
    }
  }
  meet();
}

void accumulate() {
  window w(false);
  for (int i = 0; i < n_operations; ++i) std::memset(w.here(i), 0, largest);
  meet();
  std::vector<int64_t> ones(largest / 8, 1);
  operate([&](int i, int* calls) {
    const int64_t scale = i + 1;
    const size_t n = size_of(i) / 8;
    return CCS_accumulate(peer(), CCS_SUM, CCS_INT64, &scale, ones.data(), n, CCS_DATA64, window::there(i), n,
                          CCS_DATA64, count_call, calls);
  });
  for (int i = 0; i < n_operations; ++i)
    for (size_t k = 0; k < size_of(i) / 8; ++k) {
      int64_t found = 0;
      std::memcpy(&found, w.here(i) + 8 * k, sizeof found);
      if (found != (has_succeeded(static_cast<int>(peer()), i) ? i + 1 : 0))
        fail("accumulate %d has added %lld", i, static_cast<long long>(found));
    }
  meet();
}

void atomic() {
  window w(false);
  std::memset(w.here(0), 0, 8);
  meet();
  std::array<CCS_atomic_type_t, n_operations> old{};
  auto* const word = reinterpret_cast<CCS_atomic_type_t*>(window::there(0));
  operate([&](int i, int* calls) {
    return CCS_atomic(peer(), CCS_ATOMIC_FETCHADD, word, CCS_atomic_type_t{1} << (3 * i), 0,
                      &old[static_cast<size_t>(i)], count_call, calls);
  });
  CCS_atomic_type_t sum = 0, found = 0;
  for (int i = 0; i < n_operations; ++i)
    if (has_succeeded(static_cast<int>(peer()), i)) sum += CCS_atomic_type_t{1} << (3 * i);
  std::memcpy(&found, w.here(0), sizeof found);
  if (found != sum)
    fail("atomic operations add %llx instead of %llx", static_cast<unsigned long long>(found),
         static_cast<unsigned long long>(sum));
  meet();
}

void indexed() {
  window w(false);
  std::vector<char> data(largest);
  fill(data.data(), data.size(), 1);
  char* pointer = w.here(1);
  std::memcpy(w.here(0), &pointer, sizeof pointer);
  meet();
  operate([&](int i, int* calls) {
    return CCS_put_indexed(peer(), data.data(), size_of(i), reinterpret_cast<void**>(window::there(0)), count_call,
                           calls);
  });
  size_t size = 0;
  for (int i = 0; i < n_operations; ++i)
    if (has_succeeded(static_cast<int>(peer()), i)) size += size_of(i);
  std::memcpy(&pointer, w.here(0), sizeof pointer);
  if (pointer != w.here(1) + size || !is_filled(w.here(1), size, 1)) fail("indexed puts have written wrong data");
  meet();
}

void busy() {
  window w(true);
  std::vector<char> data(largest);
  fill(data.data(), data.size(), 3);
  char* const pointer = w.here(1);
  std::memcpy(w.here(3), &pointer, sizeof pointer);
  meet();
  operate([&](int i, int* calls) {
    (void)CCS_nointerrupt_begin();
    const int result = i % 2 == 0 ? CCS_put(peer(), data.data(), size_of(3), CCS_DATA8, window::there(i), size_of(3),
                                            CCS_DATA8, count_call, calls)
                                  : CCS_put_indexed(peer(), data.data(), 8, reinterpret_cast<void**>(window::there(3)),
                                                    count_call, calls);
    (void)CCS_nointerrupt_end();
    return result;
  });
}

void registration() {
  std::vector<char> memory(largest);
  const auto registered = [] {
    size_t bytes = 0;
    insist("CCS_reg_cache_stats", [&] { return CCS_reg_cache_stats(&bytes, nullptr, nullptr, nullptr); });
    return bytes;
  };
  insist("CCS_reg_cache_threshold", [] { return CCS_reg_cache_threshold(0); });
  const size_t before = registered();
  meet();
  arm(me);
  constexpr size_t n = 20;
  std::array<void*, n> blocks{};
  for (int round = 0; round < 3; ++round) {
    const size_t threshold = round == 1 ? size_t{1} << 20 : 0;
    insist("CCS_reg_cache_threshold", [&] { return CCS_reg_cache_threshold(threshold); });
    std::array<bool, n> counted{};
    for (size_t i = 0; i < n; ++i) {
      counted[i] = succeeds("CCS_register_mem", CCS_register_mem(memory.data() + 4096 * i, 5000 + 3000 * (i % 4)));
      if ((blocks[i] = CCS_malloc(5000)) != nullptr) std::memset(blocks[i], 1, 5000);
    }
    for (size_t i = 0; i < n; ++i) {
      if (counted[i])
        insist("CCS_deregister_mem",
               [&] { return CCS_deregister_mem(memory.data() + 4096 * i, 5000 + 3000 * (i % 4)); });
      CCS_free(blocks[i]);
    }
  }
  disarm();
  insist("CCS_reg_cache_threshold", [] { return CCS_reg_cache_threshold(0); });
  if (registered() != before) fail("%zu bytes stay registered", registered() - before);
}

}  // namespace sweep
