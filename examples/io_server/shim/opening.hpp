// Opening and duplicating descriptors of remote files, for other functions that do so.
#pragma once

#include <sys/types.h>

#include "paths.hpp"

namespace io_shim {

/// Opens a remote file. Returns a descriptor, or sets `errno` and returns -1. `as_cwd`: a program that inherits the
/// descriptor has the folder as its working folder.
int open_remote(const place& p, int flags, mode_t mode, bool as_cwd = false);
/// fcntl() with F_DUPFD or F_DUPFD_CLOEXEC.
int duplicate_above(int fd, int command, int least);
/// The mode without the bits of the process's umask.
mode_t masked(mode_t mode);

}  // namespace io_shim
