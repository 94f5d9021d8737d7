// Exceptions of calls. Misuse throws lci::invalid_argument_error.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "lci/config.hpp"
#include "lci/errors.hpp"

namespace lci::rpc {

/// Base class: a call has not returned a result. If the function has thrown a standard exception, the call throws one
/// of the same type, which is not derived from this class.
class LCI_API error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The peer has failed or disconnected, or can't be reached.
class LCI_API peer_error : public error {
 public:
  using error::error;
};

/// The deadline has passed before a result arrived. The function may or may not have been executed.
class LCI_API timeout_error : public error {
 public:
  using error::error;
};

/// The peer has no function of this name.
class LCI_API unknown_function_error : public error {
 public:
  using error::error;
};

/// The types of arguments or result differ between caller and function. The text contains both signatures if both sides
/// use lci/rpc.hpp.
class LCI_API signature_error : public error {
 public:
  using error::error;
};

/// A message was damaged, truncated or of another protocol, or an encoded value is invalid for its type.
class LCI_API message_error : public error {
 public:
  using error::error;
};

/// Arguments or a result exceed what a message, or an engine's limit, allows.
class LCI_API size_error : public error {
 public:
  using error::error;
};

/// The caller or the peer could not allocate memory for the call.
class LCI_API memory_error : public error {
 public:
  using error::error;
};

/// The peer has freed the function's handle without an answer, or has closed its engine.
class LCI_API no_answer_error : public error {
 public:
  using error::error;
};

/// The caller has cancelled the call, or closed its engine before an answer arrived.
class LCI_API cancelled_error : public error {
 public:
  using error::error;
};

/// The function has thrown an exception of a type that is not a standard one. what() is its text.
class LCI_API remote_exception : public error {
 public:
  remote_exception(std::string type, const std::string& text) : error(text), type_(std::move(type)) {}
  /// The name of the exception's type, e.g. "my::error", as the peer's compiler formats it.
  const std::string& type() const { return type_; }

 private:
  std::string type_;
};

}  // namespace lci::rpc
