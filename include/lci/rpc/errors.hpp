// What calls throw. Misuse is lci::invalid_argument_error, as everywhere.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "lci/config.hpp"
#include "lci/errors.hpp"

namespace lci::rpc {

/// Base class: a call did not return a result. Exceptions of a function that are standard types arrive as those types,
/// and are not of this class.
class LCI_API error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The peer's process died or left, or the network refuses the peer.
class LCI_API peer_error : public error {
 public:
  using error::error;
};

/// The deadline passed before a result came. Whether the function was executed is not known.
class LCI_API timeout_error : public error {
 public:
  using error::error;
};

/// The peer has no function of this name.
class LCI_API unknown_function_error : public error {
 public:
  using error::error;
};

/// Caller and function disagree about the types of arguments or result. The text has both signatures where both sides
/// are of C++.
class LCI_API signature_error : public error {
 public:
  using error::error;
};

/// A message was damaged, cut, or is none of this protocol; or its content is no value of its type.
class LCI_API message_error : public error {
 public:
  using error::error;
};

/// Arguments or a result exceed what a message, or an engine's limit, allows.
class LCI_API size_error : public error {
 public:
  using error::error;
};

/// One of the two processes had no memory for the call.
class LCI_API memory_error : public error {
 public:
  using error::error;
};

/// The function's handle was freed without an answer, or its process's engine was closed.
class LCI_API no_answer_error : public error {
 public:
  using error::error;
};

/// The call was cancelled, or its own engine was closed before an answer came.
class LCI_API cancelled_error : public error {
 public:
  using error::error;
};

/// An exception of the function that is no standard type. what() is its text.
class LCI_API remote_exception : public error {
 public:
  remote_exception(std::string type, const std::string& text) : error(text), type_(std::move(type)) {}
  /// The name of its type, as the peer's compiler writes it: "my::error".
  const std::string& type() const { return type_; }

 private:
  std::string type_;
};

}  // namespace lci::rpc
