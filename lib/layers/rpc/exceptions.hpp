// Exceptions that travel from a function to its caller.
#pragma once

#include <mercury_types.h>

#include <exception>
#include <string>

#include "lci/rpc.hpp"

namespace lci::rpc::detail {

/// The payload of a response that explains a failure.
struct failure_text {
  const char* data;
  size_t size;
};

/// Encodes the exception, with at most `room` bytes.
void write_exception(writer& w, const std::exception_ptr& thrown, size_t room);
/// Encodes why arguments were refused; `signature` is that of the function.
void write_refusal(writer& w, const std::string& signature, const std::string& why, size_t room);

/// Throws what a response with this code says. `begin`: of the text.
[[noreturn]] void throw_remote(const std::string& begin, int32_t code, const remote_function& f, failure_text text);

/// The text of an exception.
std::string text_of(const std::exception_ptr& thrown);

}  // namespace lci::rpc::detail
