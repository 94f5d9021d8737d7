// stdio streams of remote files.
#pragma once

#include <cstdio>

namespace io_shim {

/// A stream over the descriptor, which it closes; null with `errno`.
FILE* stream_over(int fd, const char* mode);
/// If it is 0, 1 or 2: `stdin`, `stdout` or `stderr` is a stream that reads or writes what the descriptor stands for now.
void follow_standard_stream(int fd);

}  // namespace io_shim
