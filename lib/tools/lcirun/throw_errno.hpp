// How a failed system call ends the launcher, or a part of its work.
#pragma once

#include <cerrno>
#include <exception>
#include <string>
#include <system_error>

namespace lci::launcher {

/// `what` failed, for the reason in errno.
[[noreturn]] inline void throw_errno(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

/// Returns the text of an error, and what the user can do if a limit is its reason.
inline std::string text_of(const std::exception& error) {
  const auto* const of_system = dynamic_cast<const std::system_error*>(&error);
  const int code = of_system != nullptr ? of_system->code().value() : 0;
  std::string text = error.what();
  if (code == EMFILE || code == ENFILE) text += "; raise `ulimit -n`";
  if (code == EAGAIN) text += "; raise `ulimit -u`, or pids.max of the control group";
  return text;
}

}  // namespace lci::launcher
