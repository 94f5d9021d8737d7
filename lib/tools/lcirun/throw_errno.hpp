// How a failed system call ends the launcher, or a part of its work.
#pragma once

#include <cerrno>
#include <system_error>

namespace lci::launcher {

/// `what` failed, for the reason in errno.
[[noreturn]] inline void throw_errno(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace lci::launcher
