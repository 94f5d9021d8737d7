// Reads and writes of a part of a file, whole in spite of signals.
#pragma once

#include <sys/types.h>

#include <cstddef>

#include "session.hpp"

namespace io_server {

/// As pread().
ssize_t read_part(int fd, char* to, size_t size, off_t at);

/// Writes all of it, unless an error stops it. -1: nothing was written. `appends`: at the end of the file.
ssize_t write_part(const open_file& file, const char* from, size_t size, off_t at, bool appends);

/// The offset behind `written` bytes.
off_t behind_part(const open_file& file, off_t at, ssize_t written, bool appends);

}  // namespace io_server
