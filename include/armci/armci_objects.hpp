// Types of arguments and errors of ARMCI's operations in C++. Included by armci.hpp.
#pragma once

#include <armci.h>

#include <climits>
#include <complex>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#define LCI_ARMCI_NODISCARD [[nodiscard]]

namespace armci {

/// An operation has failed; ARMCI has printed the reason.
class error : public std::runtime_error {
 public:
  error(const char* operation, int code)
      : std::runtime_error(std::string("armci::") + operation + " has failed with code " + std::to_string(code)),
        code_(code) {}
  /// FAIL ... FAIL8.
  int code() const noexcept { return code_; }

 private:
  int code_;
};

namespace detail {

inline void check(const char* operation, int code) {
  if (code != 0) throw error(operation, code);
}

}  // namespace detail

/// Completes any number of nonblocking operations. The destructor waits for them. Thread-bound.
class handle {
 public:
  handle() = default;
  ~handle() { complete(); }
  handle(const handle&) = delete;
  handle& operator=(const handle&) = delete;

  /// Waits for local completion: buffers of puts and accumulates may be reused, and gets have written theirs. Throws
  /// `error`.
  void wait() { detail::check("handle::wait", complete()); }
  /// Returns whether wait() would not block. Throws `error`.
  bool test() {
    while (!earlier_.empty()) {
      if (!is_complete(earlier_.back())) return false;
      earlier_.pop_back();
    }
    return is_complete(last_);
  }

  /// Called by operations: the address at which ARMCI stores the next operation's handle.
  armci_hdl_t* next() {
    // An operation that was complete when it returned has the handle 0.
    if (last_ != 0) earlier_.push_back(last_);
    last_ = 0;
    return &last_;
  }

 private:
  static bool is_complete(armci_hdl_t& h) {
    const int code = ARMCI_Test(&h);
    if (code < 0) throw error("handle::test", code);
    return code == 0;
  }
  int complete() {
    int code = ARMCI_Wait(&last_);
    for (armci_hdl_t& h : earlier_)
      if (const int c = ARMCI_Wait(&h)) code = c;
    earlier_.clear();
    return code;
  }

  armci_hdl_t last_ = 0;
  std::vector<armci_hdl_t> earlier_;
};

/// A section of an array: the extents from the slowest to the fastest dimension, as in C, and for each dimension except
/// the last the distance between neighbours, in elements. Elements of the last dimension are contiguous. A view: it
/// does not own the memory.
template <class T>
class patch {
 public:
  /// `strides`: distances between neighbours, one less than extents. Throws std::invalid_argument.
  patch(T* first, std::vector<ptrdiff_t> extents, std::vector<ptrdiff_t> strides)
      : first_(first),
        extents_(static_cast<std::vector<ptrdiff_t>&&>(extents)),
        strides_(static_cast<std::vector<ptrdiff_t>&&>(strides)) {
    if (extents_.empty() || extents_.size() > ARMCI_MAX_STRIDE_LEVEL + 1 || strides_.size() + 1 != extents_.size())
      throw std::invalid_argument("armci::patch: " + std::to_string(extents_.size()) + " extents and " +
                                  std::to_string(strides_.size()) + " strides, but must be 1.." +
                                  std::to_string(ARMCI_MAX_STRIDE_LEVEL + 1) + " and one less");
  }
  /// A patch without gaps.
  patch(T* first, std::vector<ptrdiff_t> extents) : patch(first, extents, dense(extents)) {}
  /// Converts to a patch of const elements.
  operator patch<const T>() const { return {first_, extents_, strides_}; }

  T* first() const { return first_; }
  const std::vector<ptrdiff_t>& extents() const { return extents_; }
  const std::vector<ptrdiff_t>& strides() const { return strides_; }

 private:
  static std::vector<ptrdiff_t> dense(const std::vector<ptrdiff_t>& extents) {
    std::vector<ptrdiff_t> strides(extents.empty() ? 0 : extents.size() - 1);
    ptrdiff_t distance = 1;
    for (size_t i = strides.size(); i > 0; --i) strides[i - 1] = distance *= extents[i];
    return strides;
  }

  T* first_;
  std::vector<ptrdiff_t> extents_, strides_;
};

enum class rmw_op { fetch_add, swap };

namespace detail {

/// The element type of the first pointer or patch among the arguments.
template <class... A>
struct find_element;
template <class T, class... A>
struct find_element<T*, A...> {
  using type = std::remove_const_t<T>;
};
template <class T, class... A>
struct find_element<patch<T>, A...> {
  using type = std::remove_const_t<T>;
};
template <class Other, class... A>
struct find_element<Other, A...> : find_element<A...> {};
template <class... A>
using element_of = typename find_element<A...>::type;

/// ARMCI's constant for the element type of an accumulate.
template <class T>
struct element;
template <int number>
struct element_code {
  static constexpr int code = number;
};
template <>
struct element<int> : element_code<ARMCI_ACC_INT> {};
template <>
struct element<long> : element_code<ARMCI_ACC_LNG> {};
template <>
struct element<float> : element_code<ARMCI_ACC_FLT> {};
template <>
struct element<double> : element_code<ARMCI_ACC_DBL> {};
template <>
struct element<std::complex<float>> : element_code<ARMCI_ACC_CPL> {};
template <>
struct element<std::complex<double>> : element_code<ARMCI_ACC_DCP> {};

/// Calls f(from, to, bytes) for pieces of whole elements, since ARMCI's number of bytes is an int.
template <class F>
void in_pieces(const void* from, void* to, size_t bytes, F&& f) {
  constexpr size_t most = size_t{1} << 30;
  auto* f0 = static_cast<char*>(const_cast<void*>(from));
  auto* t0 = static_cast<char*>(to);
  for (; bytes > most; bytes -= most, f0 += most, t0 += most) f(f0, t0, static_cast<int>(most));
  f(f0, t0, static_cast<int>(bytes));
}

inline int narrow(ptrdiff_t value) {
  if (value > INT_MAX || value < INT_MIN)
    throw std::invalid_argument("armci::patch: " + std::to_string(value) + " bytes, but ARMCI's limit is that of int");
  return static_cast<int>(value);
}

/// Converts two patches to ARMCI's arguments, which begin with the fastest dimension.
struct strided {
  template <class T>
  strided(const patch<const T>& src, const patch<T>& dst) : src_(const_cast<T*>(src.first())), dst_(dst.first()) {
    if (src.extents() != dst.extents())
      throw std::invalid_argument("armci: the patches' extents are different, but must be the same");
    const size_t n = src.extents().size();
    constexpr auto size = static_cast<ptrdiff_t>(sizeof(T));
    levels = static_cast<int>(n) - 1;
    for (size_t i = 0; i < n; ++i) {
      const ptrdiff_t extent = src.extents()[n - 1 - i];
      counts[i] = narrow(i == 0 ? extent * size : extent);
      empty_ |= extent == 0;
      if (i + 1 == n) break;
      from_strides[i] = narrow(src.strides()[n - 2 - i] * size);
      to_strides[i] = narrow(dst.strides()[n - 2 - i] * size);
    }
  }
  bool is_empty() const { return empty_; }
  void* from() const { return src_; }
  void* to() const { return dst_; }

  int levels = 0;
  int counts[ARMCI_MAX_STRIDE_LEVEL + 1] = {};
  int from_strides[ARMCI_MAX_STRIDE_LEVEL] = {}, to_strides[ARMCI_MAX_STRIDE_LEVEL] = {};

 private:
  void *src_, *dst_;
  bool empty_ = false;
};

/// ARMCI's operand of a fetch-and-add is an int, also for a long.
template <class T>
T rmw(rmw_op op, T* at, T operand, int proc) {
  static_assert(std::is_same_v<T, int> || std::is_same_v<T, long>, "ARMCI_Rmw has int and long");
  constexpr bool is_long = std::is_same_v<T, long>;
  T value = operand;
  if (op == rmw_op::swap) {
    check("rmw", ARMCI_Rmw(is_long ? ARMCI_SWAP_LONG : ARMCI_SWAP, &value, at, 0, proc));
    return value;
  }
  if (operand < INT_MIN || operand > INT_MAX)
    throw std::invalid_argument("armci::rmw: operand = " + std::to_string(operand) + ", but must be an int");
  check("rmw", ARMCI_Rmw(is_long ? ARMCI_FETCH_AND_ADD_LONG : ARMCI_FETCH_AND_ADD, &value, at,
                         static_cast<int>(operand), proc));
  return value;
}

}  // namespace detail

}  // namespace armci
