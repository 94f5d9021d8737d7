// Signatures of functions, as types and as text.
#pragma once

#include <string>
#include <type_traits>

#include "lci/rpc/containers.hpp"

namespace lci::rpc {

/// The name and the signature of a function, which both sides share.
///
///   constexpr rpc::procedure<int(std::string, int)> open_file{"open"};
///
/// A server that defines it by another type, or a client that calls it with wrong arguments, does not compile.
template <class Signature>
struct procedure {
  const char* name;
};

namespace detail {

/// A signature as text and hash. A call contains the hash; the refusal of a call contains the text.
struct signature_text {
  std::string text;   // "int32(string, int32)"
  uint32_t hash = 0;  // not 0
};
LCI_API uint32_t hash_of(const std::string& text);

template <class R>
void name_result(std::string& to) {
  if constexpr (std::is_void_v<R>) {
    to += "void";
  } else {
    codec<R>::name(to);
  }
}

/// The type of the decoded argument for a parameter.
template <class P>
using value_of = std::remove_cv_t<std::remove_reference_t<P>>;

template <class P>
constexpr bool check_parameter() {
  static_assert(!(std::is_lvalue_reference_v<P> && !std::is_const_v<std::remove_reference_t<P>>),
                "rpc: a function can't change its caller's arguments: take the parameter by value or const reference");
  static_assert(has_codec<value_of<P>>::value,
                "rpc: a parameter's type can't be encoded: give the struct a member template serialize(archive), or "
                "specialize lci::rpc::codec; pointers never can");
  return has_codec<value_of<P>>::value;
}
template <class R>
constexpr bool check_result() {
  if constexpr (!std::is_void_v<R>) {
    static_assert(!std::is_reference_v<R> && !is_view<R>::value,
                  "rpc: a result must own its memory: return a value, such as std::string or std::vector");
    static_assert(has_codec<R>::value,
                  "rpc: the result's type can't be encoded: give the struct a member template serialize(archive), or "
                  "specialize lci::rpc::codec; pointers never can");
  }
  return true;
}

/// A signature without references and const.
template <class R, class... P>
struct signature {
  static_assert(check_result<R>());
  static_assert((check_parameter<P>() && ...));
  using result = R;
  using function_type = R(value_of<P>...);
  static signature_text make() {
    signature_text s;
    name_result<R>(s.text);
    s.text += '(';
    bool is_first = true;
    ((s.text += is_first ? "" : ", ", is_first = false, codec<value_of<P>>::name(s.text)), ...);
    s.text += ')';
    s.hash = hash_of(s.text);
    return s;
  }
  static const signature_text& text() {
    static const signature_text s = make();
    return s;
  }
};

}  // namespace detail
}  // namespace lci::rpc
