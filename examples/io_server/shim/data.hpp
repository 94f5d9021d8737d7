// Reading and writing remote files, for functions other than read() and write().
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace io_shim {

/// As read(), write(), pread() and lseek(), for a descriptor of a remote file.
ssize_t read_next(int fd, void* to, size_t size);
ssize_t write_next(int fd, const void* from, size_t size);
ssize_t read_at(int fd, void* to, size_t size, int64_t offset);
off_t seek(int fd, off_t offset, int whence);

}  // namespace io_shim
