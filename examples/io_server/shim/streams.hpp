// stdio streams of remote files.
#pragma once

#include <cstdio>

namespace io_shim {

/// Creates a stream that owns the descriptor. Returns null and sets `errno` on failure.
FILE* stream_over(int fd, const char* mode);
/// To be called when the file of a descriptor has changed. If it is 0, 1 or 2, sets `stdin`, `stdout` or `stderr` to a
/// stream of that file, and `std::cin`, `std::cout` or `std::cerr`.
void follow_standard_stream(int fd);
/// Sets the streams of C++ for this descriptor to `to` if they use `from`.
void redirect_cxx_streams(int fd, FILE* from, FILE* to);
/// Writes what std::cout and its relatives have buffered, as the C++ library does when the process exits.
void flush_cxx_streams();

}  // namespace io_shim
