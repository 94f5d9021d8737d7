// Arguments of calls: checks them against the function's parameters, and encodes them as the parameters' types.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "lci/rpc/choices.hpp"
#include "lci/rpc/library.hpp"

namespace lci::rpc::detail {

/// The element type of a parameter that is a vector or a view. Any container with data() and size() of that type may be
/// the argument.
template <class P>
struct element_of {
  using type = void;
};
template <class T, class A>
struct element_of<std::vector<T, A>> {
  using type = T;
};
template <class A>
struct element_of<std::vector<bool, A>> {
  using type = void;
};
template <class T>
struct element_of<view<T>> {
  using type = T;
};
#if __cplusplus >= 202002L
template <class T>
struct element_of<std::span<T>> {
  using type = std::remove_const_t<T>;
};
#endif

template <class P>
constexpr bool is_string = std::is_same_v<P, std::string> || std::is_same_v<P, std::string_view>;

/// Returns whether `A` is a container with contiguous elements of type T.
template <class A, class T, class = void>
struct provides : std::false_type {};
template <class A, class T>
struct provides<
    A, T,
    std::enable_if_t<!std::is_void_v<T> &&
                     std::is_same_v<const std::remove_pointer_t<decltype(std::declval<const A&>().data())>, const T> &&
                     std::is_convertible_v<decltype(std::declval<const A&>().size()), size_t>>> : std::true_type {};

template <class P, class A>
constexpr bool is_passable = std::is_same_v<P, A> ||
                             (is_string<P> && std::is_convertible_v<const A&, std::string_view>) ||
                             provides<A, typename element_of<P>::type>::value || std::is_convertible_v<const A&, P>;

/// The parameter's number is a template argument, so that compilers print it in their message.
template <int number, class P, class A>
constexpr bool check_argument() {
  static_assert(is_passable<P, A>,
                "rpc: an argument can't be converted to the function's parameter; in the types of check_argument<...> "
                "are its number from 1 on, the parameter's type and the argument's type");
  return true;
}

/// Encodes an argument as the parameter's type. Converts it only if its encoding would differ.
template <class P, class A>
void write_argument(writer& w, const A& a) {
  if constexpr (std::is_same_v<P, A>) {
    codec<P>::write(w, a);
  } else if constexpr (is_string<P> && std::is_convertible_v<const A&, std::string_view>) {
    if constexpr (std::is_pointer_v<A>) {
      if (a == nullptr) return w.raw(uint64_t{0});
    }
    string_codec::write(w, std::string_view(a));
  } else if constexpr (provides<A, typename element_of<P>::type>::value) {
    block_codec<typename element_of<P>::type>::write(w, a.data(), a.size());
  } else {
    codec<P>::write(w, static_cast<P>(a));
  }
}

/// The number of bytes of an argument that the writer may borrow.
template <class A>
size_t block_size(const A& a) {
  if constexpr (std::is_same_v<A, std::string>) {
    return a.size();
  } else if constexpr (!std::is_void_v<typename element_of<A>::type> && !is_view<A>::value) {
    return a.size() * sizeof(typename element_of<A>::type);
  } else {
    return 0;
  }
}

/// Owns arguments that were moved into the call.
template <class Tuple>
struct kept_arguments final : kept {
  explicit kept_arguments(Tuple&& t) : values(std::move(t)) {}
  Tuple values;
};

template <class... P>
struct parameters {
  template <class... A>
  static constexpr bool check() {
    static_assert(sizeof...(A) == sizeof...(P),
                  "rpc: wrong number of arguments: the types of the function's parameters are those of "
                  "parameters<...>");
    if constexpr (sizeof...(A) == sizeof...(P)) return check_each<A...>(std::index_sequence_for<P...>());
    return false;
  }
  template <class... A>
  static void write(writer& w, const A&... a) {
    (write_argument<P>(w, a), ...);
  }
  /// The same for a tuple.
  template <class Tuple>
  static void write_tuple(writer& w, const Tuple& values) {
    std::apply([&w](const auto&... a) { write(w, a...); }, values);
  }

 private:
  template <class... A, size_t... i>
  static constexpr bool check_each(std::index_sequence<i...>) {
    return (check_argument<static_cast<int>(i) + 1, P, A>() && ...);
  }
};

}  // namespace lci::rpc::detail
