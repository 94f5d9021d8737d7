// stdio streams of remote files.
#pragma once

#include <cstdio>

namespace io_shim {

/// Creates a stream that owns the descriptor. Returns null and sets `errno` on failure.
FILE* stream_over(int fd, const char* mode);
/// To be called when the file of a descriptor has changed. If it is 0, 1 or 2, sets `stdin`, `stdout` or `stderr` to a
/// stream of that file.
void follow_standard_stream(int fd);

}  // namespace io_shim
