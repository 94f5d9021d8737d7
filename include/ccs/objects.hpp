// Types of arguments and errors of CCS's operations in C++. Included by ccs.hpp.
#pragma once

#include <ccs.h>

#include <atomic>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#define LCI_CCS_NODISCARD [[nodiscard]]

namespace ccs {

/// A call has failed. For misuse, CCS has printed the reason.
class error : public std::runtime_error {
 public:
  error(const char* operation, int code)
      : std::runtime_error(
            std::string("ccs::") + operation +
            (code == CCS_NOMEM ? " has no memory" : " was refused, for the reason that CCS has printed")),
        code_(code) {}
  /// CCS_FAILURE or CCS_NOMEM.
  int code() const noexcept { return code_; }

 private:
  int code_;
};

namespace detail {

inline void check(const char* operation, int code) {
  if (code != CCS_SUCCESS) throw error(operation, code);
}

}  // namespace detail

/// The layout of an element of data: which bytes belong to it. Composed of smaller layouts. Displacements and strides
/// are in bytes. Elements of a layout are its extent apart. A value: copies share one data description, and outstanding
/// operations hold a reference to it. Immutable, so thread-safe. The functions that create layouts throw `error`.
class layout {
 public:
  /// `n` contiguous objects.
  template <class T>
  static layout of(int n = 1) {
    static_assert(std::is_trivially_copyable_v<T>, "operations copy bytes");
    constexpr bool builtin = sizeof(T) <= 16 && (sizeof(T) & (sizeof(T) - 1)) == 0;
    const layout one = builtin ? layout(CCS_datadesc_t{sizeof(T)}) : layout(CCS_DATA8).repeat(sizeof(T));
    return n == 1 ? one : one.repeat(n);
  }
  layout repeat(int count) const {
    return made("layout::repeat", [&](auto* d) { return CCS_datadesc_create_contiguous(count, desc(), d); });
  }
  /// `count` blocks of `length` elements. The distance between the begins of blocks is `stride` bytes.
  layout vector(int count, int length, int stride) const {
    return made("layout::vector",
                [&](auto* d) { return CCS_datadesc_create_vector(count, length, stride, desc(), d); });
  }
  /// Blocks with given lengths and displacements.
  layout indexed(std::vector<int> lengths, std::vector<CCS_aint_t> displacements) const {
    if (lengths.size() != displacements.size())
      throw std::invalid_argument("ccs::layout::indexed: " + std::to_string(lengths.size()) + " lengths and " +
                                  std::to_string(displacements.size()) + " displacements, but must be as many");
    return made("layout::indexed", [&](auto* d) {
      return CCS_datadesc_create_indexed(static_cast<int>(lengths.size()), lengths.data(), displacements.data(), desc(),
                                         d);
    });
  }
  /// Blocks of `length` elements with given displacements.
  layout block_indexed(int length, std::vector<CCS_aint_t> displacements) const {
    return made("layout::block_indexed", [&](auto* d) {
      return CCS_datadesc_create_blockindexed(static_cast<int>(displacements.size()), length, displacements.data(),
                                              desc(), d);
    });
  }
  struct member;
  /// Members with different layouts, as in a struct.
  static layout structure(const std::vector<member>& members);
  /// The same bytes in an element that begins at `lower` and is `extent` bytes long.
  layout resized(CCS_aint_t lower, CCS_aint_t extent) const {
    int ones[] = {1, 1, 1};
    CCS_aint_t at[] = {lower, 0, lower + extent};
    CCS_datadesc_t of[] = {CCS_DATA_LB, desc(), CCS_DATA_UB};
    return made("layout::resized", [&](auto* d) { return CCS_datadesc_create_struct(3, ones, at, of, d); });
  }
  /// counts[0] contiguous bytes, repeated counts[1] times at a distance of strides[0] bytes, and so on. There is one
  /// stride less than counts.
  static layout strided(const std::vector<int>& counts, const std::vector<int>& strides) {
    if (counts.size() != strides.size() + 1)
      throw std::invalid_argument("ccs::layout::strided: " + std::to_string(counts.size()) + " counts and " +
                                  std::to_string(strides.size()) + " strides, but there must be one count more");
    return made("layout::strided", [&](auto* d) {
      return CCS_datadesc_create_strided(static_cast<int>(strides.size()), strides.data(), counts.data(), d);
    });
  }

  size_t size() const { return static_cast<size_t>(CCS_datadesc_size(desc())); }
  CCS_aint_t extent() const { return CCS_datadesc_extent(desc()); }
  /// The data description, for C functions. Valid while a copy of this layout exists.
  CCS_datadesc_t desc() const { return shared_ ? *shared_ : builtin_; }

 private:
  explicit layout(CCS_datadesc_t builtin) : builtin_(builtin) {}
  explicit layout(std::shared_ptr<CCS_datadesc_t> shared) : shared_(std::move(shared)) {}

  template <class F>
  static layout made(const char* function, F create) {
    CCS_datadesc_t desc = CCS_DATA_NULL;
    detail::check(function, create(&desc));
    // Frees the description if the allocation below throws.
    struct guard {
      CCS_datadesc_t desc;
      ~guard() { CCS_datadesc_free(&desc); }
    } g{desc};
    auto shared = std::shared_ptr<CCS_datadesc_t>(new CCS_datadesc_t(CCS_DATA_NULL), [](CCS_datadesc_t* d) {
      CCS_datadesc_free(d);
      delete d;
    });
    std::swap(*shared, g.desc);
    return layout(std::move(shared));
  }

  std::shared_ptr<CCS_datadesc_t> shared_;
  CCS_datadesc_t builtin_ = CCS_DATA_NULL;
};

/// `count` elements of `of` at `displacement` bytes from the begin of a struct.
struct layout::member {
  CCS_aint_t displacement;
  layout of;
  int count = 1;
};

inline layout layout::structure(const std::vector<member>& members) {
  std::vector<int> counts;
  std::vector<CCS_aint_t> displacements;
  std::vector<CCS_datadesc_t> descs;
  for (const member& m : members) {
    counts.push_back(m.count);
    displacements.push_back(m.displacement);
    descs.push_back(m.of.desc());
  }
  return made("layout::structure", [&](auto* d) {
    return CCS_datadesc_create_struct(static_cast<int>(members.size()), counts.data(), displacements.data(),
                                      descs.data(), d);
  });
}

/// One side of a transfer: contiguous objects, or elements of a layout. A view: it does not own the memory, but shares
/// the layout. `Void` is void or const void.
template <class Void>
class basic_view {
 public:
  /// No data.
  basic_view() = default;
  /// `n` objects from `first` on.
  template <class T, class = std::enable_if_t<std::is_convertible_v<T*, Void*> && std::is_trivially_copyable_v<T>>>
  basic_view(T* first, size_t n) : at_(first), count_(n * sizeof(T)) {}
  basic_view(Void* first, size_t bytes) : at_(first), count_(bytes) {}
  /// `count` elements of a layout. Displacements are relative to `at`.
  basic_view(Void* at, layout of, size_t count = 1) : at_(at), count_(count), layout_(std::make_shared<layout>(of)) {}
  operator basic_view<const void>() const {
    basic_view<const void> v;
    v.at_ = at_;
    v.count_ = count_;
    v.layout_ = layout_;
    return v;
  }

  void* at() const { return const_cast<void*>(static_cast<const void*>(at_)); }
  size_t count() const { return count_; }
  CCS_datadesc_t desc() const { return layout_ ? layout_->desc() : CCS_DATA8; }

 private:
  template <class>
  friend class basic_view;
  Void* at_ = nullptr;
  size_t count_ = 0;
  std::shared_ptr<const layout> layout_;
};
using view = basic_view<void>;
using const_view = basic_view<const void>;

/// Counts outstanding operations. The destructor waits for them. Thread-safe except for the destructor.
class pending {
 public:
  pending() = default;
  ~pending() { wait(); }
  pending(const pending&) = delete;
  pending& operator=(const pending&) = delete;

  /// Makes progress until all operations are complete. In a handler this ends the job with an error text.
  void wait() {
    if (is_complete()) return;
    // The fence ends the job if this thread must not wait.
    CCS_node_t me = 0;
    if (CCS_get_rank(&me) == CCS_SUCCESS) (void)CCS_fence(me);
    while (!is_complete()) CCS_poll();
  }
  bool test() {
    if (!is_complete()) CCS_poll();
    return is_complete();
  }

  // Called by operations. The release in remove() makes the results visible to the thread that reads 0 with acquire.
  void add() { n_.fetch_add(1, std::memory_order_relaxed); }
  void remove() { n_.fetch_sub(1, std::memory_order_release); }

 private:
  bool is_complete() const { return n_.load(std::memory_order_acquire) == 0; }
  std::atomic<size_t> n_{0};
};

/// The action at the completion of an operation: it decrements a `pending`, or calls a function, in some thread that is
/// inside a call of CCS. The function must not wait and must not throw.
class completion {
 public:
  /// No action: the operation blocks instead.
  completion() = default;
  completion(pending& counter) : counter_(&counter) {}
  template <class F, class = std::enable_if_t<std::is_invocable_v<F&>>>
  completion(F function) : function_(std::move(function)) {}

  /// Called by operations. begin(callback, argument) starts the operation and returns its code.
  template <class Begin>
  void start(const char* operation, Begin begin) const {
    if (function_) {
      auto called = std::make_unique<std::function<void()>>(function_);
      detail::check(operation, begin(run, called.get()));
      (void)called.release();  // run() deletes it
    } else if (counter_ != nullptr) {
      counter_->add();
      if (const int code = begin(count_down, counter_)) {
        counter_->remove();
        throw error(operation, code);
      }
    } else {
      pending own;
      completion(own).start(operation, begin);
      own.wait();
    }
  }

 private:
  static void run(void* function) {
    const std::unique_ptr<std::function<void()>> f(static_cast<std::function<void()>*>(function));
    (*f)();
  }
  static void count_down(void* counter) { static_cast<pending*>(counter)->remove(); }

  pending* counter_ = nullptr;
  std::function<void()> function_;
};

namespace detail {

/// CCS's constant for a number type.
template <class T>
struct number;
template <CCS_number_t n>
struct number_name {
  static constexpr CCS_number_t name = n;
};
template <>
struct number<int32_t> : number_name<CCS_INT32> {};
template <>
struct number<uint32_t> : number_name<CCS_UINT32> {};
template <>
struct number<int64_t> : number_name<CCS_INT64> {};
template <>
struct number<uint64_t> : number_name<CCS_UINT64> {};
template <>
struct number<float> : number_name<CCS_FLOAT> {};
template <>
struct number<double> : number_name<CCS_DOUBLE> {};
template <>
struct number<std::complex<float>> : number_name<CCS_COMPLEX> {};
template <>
struct number<std::complex<double>> : number_name<CCS_DOUBLE_COMPLEX> {};

/// Converts an argument of a handler to a word.
template <class T>
CCS_handler_arg_t word_of(T value) {
  static_assert(std::is_integral_v<T> || std::is_enum_v<T> || std::is_pointer_v<T>,
                "arguments of handlers are integers and pointers; other data goes with the message");
  if constexpr (std::is_pointer_v<T>)
    return reinterpret_cast<CCS_handler_arg_t>(value);
  else
    return static_cast<CCS_handler_arg_t>(value);
}

}  // namespace detail

}  // namespace ccs
