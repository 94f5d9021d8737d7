#include "lib/layers/ccs/numbers.hpp"

#include <algorithm>
#include <complex>
#include <cstring>
#include <type_traits>

#include "lib/layers/ccs/misuse.hpp"

namespace ccs {

namespace {

/// The type in which integers are combined: unsigned, since the overflow of signed integers is undefined.
template <class T>
using arithmetic = std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::enable_if<true, T>>;

template <CCS_combine_t Op, class T>
T combine(T a, T b) {
  using plain = typename arithmetic<T>::type;
  if constexpr (Op == CCS_SUM) return static_cast<T>(static_cast<plain>(a) + static_cast<plain>(b));
  if constexpr (Op == CCS_PROD) return static_cast<T>(static_cast<plain>(a) * static_cast<plain>(b));
  if constexpr (Op == CCS_MIN) return b < a ? b : a;
  if constexpr (Op == CCS_MAX) return a < b ? b : a;
  if constexpr (std::is_integral_v<T>) {
    if constexpr (Op == CCS_AND) return a & b;
    if constexpr (Op == CCS_OR) return a | b;
    if constexpr (Op == CCS_XOR) return a ^ b;
  }
  return a;
}

/// *at = *at Op by, atomically. Also atomic with respect to the core's atomics, which use the same instructions.
template <CCS_combine_t Op, class T>
void combine_at(T* at, T by) {
  if constexpr (std::is_integral_v<T> && Op == CCS_SUM) {
    (void)__atomic_fetch_add(reinterpret_cast<std::make_unsigned_t<T>*>(at), static_cast<std::make_unsigned_t<T>>(by),
                             __ATOMIC_SEQ_CST);
  } else {
    using bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    auto* const word = reinterpret_cast<bits*>(at);
    bits old = __atomic_load_n(word, __ATOMIC_RELAXED), next = 0;
    do {
      T value;
      std::memcpy(&value, &old, sizeof value);
      value = combine<Op>(value, by);
      std::memcpy(&next, &value, sizeof next);
    } while (!__atomic_compare_exchange_n(word, &old, next, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
  }
}

/// Calls f.template operator()<Op, T>() for an operation and a type that are known at run time only. T is the type of
/// the parts for complex numbers, since their only operation is the sum.
template <class F>
auto with_type(CCS_number_t type, F f) {
  switch (type) {
    case CCS_INT32:
      return f(int32_t());
    case CCS_UINT32:
      return f(uint32_t());
    case CCS_INT64:
      return f(int64_t());
    case CCS_UINT64:
      return f(uint64_t());
    case CCS_FLOAT:
    case CCS_COMPLEX:
      return f(float());
    default:
      return f(double());
  }
}
template <CCS_combine_t Op>
using operator_constant = std::integral_constant<CCS_combine_t, Op>;
template <class F>
auto with_operation(CCS_combine_t op, F f) {
  switch (op) {
    case CCS_PROD:
      return f(operator_constant<CCS_PROD>());
    case CCS_MIN:
      return f(operator_constant<CCS_MIN>());
    case CCS_MAX:
      return f(operator_constant<CCS_MAX>());
    case CCS_AND:
      return f(operator_constant<CCS_AND>());
    case CCS_OR:
      return f(operator_constant<CCS_OR>());
    case CCS_XOR:
      return f(operator_constant<CCS_XOR>());
    default:
      return f(operator_constant<CCS_SUM>());
  }
}

template <class T>
void multiply(void* numbers, size_t bytes, const void* factor) {
  T by;
  std::memcpy(&by, factor, sizeof by);
  auto* at = static_cast<unsigned char*>(numbers);
  for (size_t i = 0; i + sizeof(T) <= bytes; i += sizeof(T)) {
    T value;
    std::memcpy(&value, at + i, sizeof value);
    value *= by;
    std::memcpy(at + i, &value, sizeof value);
  }
}

template <CCS_combine_t Op, class T>
void reduce(const void* left, const void* right, void* dst, size_t n, size_t parts) {
  const auto *a = static_cast<const T*>(left), *b = static_cast<const T*>(right);
  auto* const to = static_cast<T*>(dst);
  for (size_t i = 0; i < n * parts; ++i) to[i] = combine<Op>(a[i], b[i]);
}

}  // namespace

size_t size_of(CCS_number_t type) {
  switch (type) {
    case CCS_INT32:
    case CCS_UINT32:
    case CCS_FLOAT:
      return 4;
    case CCS_DOUBLE_COMPLEX:
      return 16;
    default:
      return 8;
  }
}

size_t alignment_of(CCS_number_t type) { return type == CCS_COMPLEX ? 4 : std::min<size_t>(size_of(type), 8); }

bool can_combine(const char* function, CCS_combine_t op, CCS_number_t type) {
  if (static_cast<unsigned>(op) >= CCS_NUM_COMBINES) {
    (void)refuse(function, "op = %d is none of CCS_combine_t", static_cast<int>(op));
    return false;
  }
  if (static_cast<unsigned>(type) >= CCS_NUM_NUMBERS) {
    (void)refuse(function, "type = %d is none of CCS_number_t", static_cast<int>(type));
    return false;
  }
  const bool complex = type == CCS_COMPLEX || type == CCS_DOUBLE_COMPLEX;
  const bool integer = type <= CCS_UINT64;
  if ((complex && op != CCS_SUM) || (!integer && op >= CCS_AND)) {
    (void)refuse(function, "op = %d is not defined for type = %d: see CCS_combine_t", static_cast<int>(op),
                 static_cast<int>(type));
    return false;
  }
  return true;
}

void combine_into(CCS_combine_t op, CCS_number_t type, void* to, const void* from, size_t bytes) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    with_operation(op, [&](auto with) {
      auto* const target = static_cast<T*>(to);
      const auto* const source = static_cast<const unsigned char*>(from);
      for (size_t i = 0; i < bytes / sizeof(T); ++i) {
        T value;
        std::memcpy(&value, source + i * sizeof value, sizeof value);
        combine_at<decltype(with)::value>(target + i, value);
      }
    });
  });
}

lci::reduce_op_t reduction_of(CCS_combine_t op, CCS_number_t type) {
  const bool two_parts = type == CCS_COMPLEX || type == CCS_DOUBLE_COMPLEX;
  return with_type(type, [&](auto zero) {
    return with_operation(op, [&](auto with) -> lci::reduce_op_t {
      using T = decltype(zero);
      constexpr CCS_combine_t Op = decltype(with)::value;
      if (two_parts) return [](const void* a, const void* b, void* to, size_t n) { reduce<Op, T>(a, b, to, n, 2); };
      return [](const void* a, const void* b, void* to, size_t n) { reduce<Op, T>(a, b, to, n, 1); };
    });
  });
}

void scaling::set(CCS_number_t number, const void* by) {
  if (by == nullptr) return;
  type = number;
  active = true;
  std::memcpy(factor, by, size_of(number));
}

void scaling::apply(void* numbers, size_t bytes) const {
  if (!active) return;
  switch (type) {
    case CCS_COMPLEX:
      return multiply<std::complex<float>>(numbers, bytes, factor);
    case CCS_DOUBLE_COMPLEX:
      return multiply<std::complex<double>>(numbers, bytes, factor);
    case CCS_INT32:
    case CCS_UINT32:
      return multiply<uint32_t>(numbers, bytes, factor);
    case CCS_INT64:
    case CCS_UINT64:
      return multiply<uint64_t>(numbers, bytes, factor);
    case CCS_FLOAT:
      return multiply<float>(numbers, bytes, factor);
    default:
      return multiply<double>(numbers, bytes, factor);
  }
}

}  // namespace ccs
