// Exceptions that functions throw, encoded in responses and thrown again by the caller.
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
/// Encodes why the arguments can't be decoded; `signature` is the function's.
void write_refusal(writer& w, const std::string& signature, const std::string& why, size_t room);

/// Throws the exception that corresponds to the code of a response. `begin`: the first words of its text.
[[noreturn]] void throw_remote(const std::string& begin, int32_t code, const remote_function& f, failure_text text);

/// what() of an exception, or a text with the name of its type.
std::string text_of(const std::exception_ptr& thrown);

}  // namespace lci::rpc::detail
