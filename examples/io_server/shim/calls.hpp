// Wrappers of the replaced functions' bodies: they translate an errno to a result, and let no exception escape.
#pragma once

#include <cerrno>
#include <exception>
#include <new>

#include "descriptors.hpp"
#include "paths.hpp"
#include "process.hpp"

namespace io_shim {

/// Returns 0, or sets `errno` and returns -1.
inline int result_of(int error) {
  if (error == 0) return 0;
  errno = error;
  return -1;
}

/// Returns body(), or `otherwise(ENOMEM)` if there is no memory.
template <class Body, class Otherwise>
auto unless_no_memory(Body body, Otherwise otherwise) -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return otherwise(ENOMEM);
  }
}

/// Runs `body(client)`, which returns an errno, in a remote_call.
template <class Body>
int with_client(Body body) {
  int error;
  try {
    const remote_call call;
    io_server::client* c = current_client();
    error = c == nullptr ? errno_of_connection() : body(*c);
  } catch (const std::bad_alloc&) {
    error = ENOMEM;
  } catch (const std::exception&) {
    error = EIO;
  }
  return result_of(error);
}

/// Runs `body(using_file&)`, which returns an errno.
template <class Body>
int with_file(int fd, Body body) {
  int error;
  try {
    using_file f(fd);
    error = f.error() != 0 ? f.error() : body(f);
  } catch (const std::bad_alloc&) {
    error = ENOMEM;
  } catch (const std::exception&) {
    error = EIO;
  }
  return result_of(error);
}

/// A request about one path, with numbers only.
inline int simple(io_server::op what, const place& p, int64_t a = 0, int64_t b = 0, int64_t c = 0) {
  return with_client([&](io_server::client& client) { return client.call(what, p.at(client), a, b, c); });
}

/// The errno of a call that is not forwarded: `error`, unless there is no such file.
int refusal_of(const place& p, int error, bool follow = true);

}  // namespace io_shim
