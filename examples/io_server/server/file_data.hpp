// Reads and writes of a part of a file, which continue after interruption by a signal.
#pragma once

#include <sys/types.h>

#include <cstddef>

#include "session.hpp"

namespace io_server {

/// As pread(), but repeats the call if a signal interrupts it.
ssize_t read_part(int fd, char* to, size_t size, off_t at);

/// Writes `size` bytes, or fewer if an error occurs; returns their number, or -1 if none was written. `appends`: writes
/// at the end of the file.
ssize_t write_part(const open_file& file, const char* from, size_t size, off_t at, bool appends);

/// The offset after the `written` bytes.
off_t behind_part(const open_file& file, off_t at, ssize_t written, bool appends);

}  // namespace io_server
