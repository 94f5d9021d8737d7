#include "lib/layers/rpc/exceptions.hpp"

#include <cxxabi.h>

#include <any>
#include <array>
#include <cstdlib>
#include <functional>
#include <future>
#include <ios>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <typeinfo>
#include <variant>

#include "lib/layers/rpc/core.hpp"

namespace lci::rpc::detail {
namespace {

enum kind : uint8_t { is_exception = 1, is_refusal = 2 };

/// A standard exception type: the caller throws the same type that the function has thrown.
struct standard_type {
  std::string_view name;
  bool (*is)(const std::exception& e);  // exactly this type
  void (*raise)(const std::string& text);
};

template <class E>
bool is_exactly(const std::exception& e) {
  return typeid(e) == typeid(E);
}
template <class E>
[[noreturn]] void raise(const std::string& text) {
  throw E(text);
}
template <class E>
[[noreturn]] void raise_without_text(const std::string&) {
  throw E();
}

constexpr std::array<standard_type, 15> standard_types = {{
    {"std::runtime_error", is_exactly<std::runtime_error>, raise<std::runtime_error>},
    {"std::logic_error", is_exactly<std::logic_error>, raise<std::logic_error>},
    {"std::invalid_argument", is_exactly<std::invalid_argument>, raise<std::invalid_argument>},
    {"std::domain_error", is_exactly<std::domain_error>, raise<std::domain_error>},
    {"std::length_error", is_exactly<std::length_error>, raise<std::length_error>},
    {"std::out_of_range", is_exactly<std::out_of_range>, raise<std::out_of_range>},
    {"std::range_error", is_exactly<std::range_error>, raise<std::range_error>},
    {"std::overflow_error", is_exactly<std::overflow_error>, raise<std::overflow_error>},
    {"std::underflow_error", is_exactly<std::underflow_error>, raise<std::underflow_error>},
    {"std::bad_alloc", is_exactly<std::bad_alloc>, raise_without_text<std::bad_alloc>},
    {"std::bad_cast", is_exactly<std::bad_cast>, raise_without_text<std::bad_cast>},
    {"std::bad_optional_access", is_exactly<std::bad_optional_access>, raise_without_text<std::bad_optional_access>},
    {"std::bad_variant_access", is_exactly<std::bad_variant_access>, raise_without_text<std::bad_variant_access>},
    {"std::bad_function_call", is_exactly<std::bad_function_call>, raise_without_text<std::bad_function_call>},
    {"std::exception", is_exactly<std::exception>, raise_without_text<std::exception>},
}};
constexpr std::string_view system_error_name = "std::system_error";

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  return status == 0 ? text.get() : name;
}

struct description {
  int32_t code = 0;
  std::string category;
  std::string type;
  std::string text;
};

description describe(const std::exception_ptr& thrown) {
  description d;
  try {
    std::rethrow_exception(thrown);
  } catch (const std::system_error& e) {  // also filesystem_error and ios_base::failure
    d.code = e.code().value();
    d.category = e.code().category().name();
    d.type = system_error_name;
    d.text = e.what();
  } catch (const std::exception& e) {
    d.type = demangled(typeid(e).name());
    for (const standard_type& t : standard_types)
      if (t.is(e)) d.type = t.name;
    d.text = e.what();
  } catch (...) {
    const std::type_info* const type = abi::__cxa_current_exception_type();
    d.type = type != nullptr ? demangled(type->name()) : "unknown";
    d.text = "an exception of type " + d.type;
  }
  return d;
}

void write(writer& w, kind k, description d, size_t room) {
  constexpr size_t longest_type = 500, around = 100;
  if (d.type.size() > longest_type) d.type.resize(longest_type);
  if (d.category.size() > longest_type) d.category.resize(longest_type);
  const size_t for_text = room - std::min(room, around + d.type.size() + d.category.size());
  if (d.text.size() > for_text) d.text.resize(for_text);
  w(static_cast<uint8_t>(k), d.code, d.category, d.type, d.text);
}

[[noreturn]] void rethrow(const description& d) {
  if (d.type == system_error_name) {
    // what() of a system_error ends with the code's message, which its constructor adds again.
    const std::error_category& category =
        d.category == std::generic_category().name() ? std::generic_category() : std::system_category();
    if (d.category == category.name()) {
      const std::error_code code(d.code, category);
      const std::string end = ": " + code.message();
      std::string text = d.text;
      if (text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0)
        text.resize(text.size() - end.size());
      throw std::system_error(code, text);
    }
  }
  for (const standard_type& t : standard_types)
    if (t.name == d.type) t.raise(d.text);
  throw remote_exception(d.type, d.text);
}

}  // namespace

std::string text_of(const std::exception_ptr& thrown) { return describe(thrown).text; }

void write_exception(writer& w, const std::exception_ptr& thrown, size_t room) {
  write(w, is_exception, describe(thrown), room);
}

void write_refusal(writer& w, const std::string& signature, const std::string& why, size_t room) {
  write(w, is_refusal, {0, signature.substr(0, room / 2), "", why}, room);
}

void throw_remote(const std::string& begin, int32_t code, const remote_function& f, failure_text text) {
  if (text.size > 0) {
    reader r(text.data, text.size, {});
    uint8_t k = 0;
    description d;
    r(k, d.code, d.category, d.type, d.text);
    if (k == is_exception) rethrow(d);
    throw signature_error(begin + d.text + "; the function is " + d.category + ", the call is " + f.signature->text);
  }
  switch (code) {
    case HG_NO_MATCH:
      throw unknown_function_error(begin + "the peer has no function of this name");
    case HG_SIZE_ERROR:
      throw size_error(begin + "arguments or result are too large for the peer");
    case HG_NOMEM_ERROR:
      throw memory_error(begin + "the peer has no memory for it");
    case HG_PROTOCOL_ERROR:
      throw signature_error(begin + "the peer can't decode the arguments; the call is " + f.signature->text);
    case HG_CHECKSUM_ERROR:
      throw message_error(begin + "the request was changed on its way: its checksum is wrong");
    case HG_NA_ERROR:
      throw peer_error(begin + "the peer could not get the arguments");
    case HG_FAIL:
      throw no_answer_error(begin + "the peer ended it without an answer, or has closed its engine");
    default:
      throw no_answer_error(begin + "the peer answered with the code " + std::to_string(code));
  }
}

std::string outgoing::called() const {
  return function_ != nullptr ? "rpc: call of \"" + function_->name + "\": " : std::string("rpc: transfer: ");
}

void outgoing::check() const {
  if (LCI_UNLIKELY(outcome_ != outcome::answered || code_ != HG_SUCCESS)) throw_failure();
}

void outgoing::throw_failure() const {
  const std::string begin = called();
  switch (outcome_) {
    case outcome::answered:
      break;
    case outcome::peer_failed:
      throw peer_error(begin + "the peer has failed or left");
    case outcome::timed_out:
      throw timeout_error(begin + "no result came before the deadline");
    case outcome::cancelled:
      throw cancelled_error(begin + "it was cancelled");
    case outcome::closed:
      throw cancelled_error(begin + "its engine was closed before a result came");
    case outcome::damaged:
      throw message_error(begin + "the response is none of this protocol and version");
    case outcome::checksum:
      throw message_error(begin + "the response was changed on its way: its checksum is wrong");
    case outcome::no_memory:
      throw memory_error(begin + "this process has no memory for it, or can't describe it in a message");
    case outcome::too_large:
      throw size_error(begin + "the result has " + std::to_string(result_size_) + " bytes, more than the limit of " +
                       std::to_string(owner.largest) + ": see options::largest()");
  }
  const bool explained = (flags_ & mercury::explains) != 0;
  const failure_text text{result_data(), explained ? result_size_ : 0};
  throw_remote(begin, code_, *function_, text);
}

}  // namespace lci::rpc::detail
