// Opening and duplicating, for what else opens files.
#pragma once

#include <sys/types.h>

#include "paths.hpp"

namespace io_shim {

/// A descriptor, or -1 with `errno`.
int open_remote(const place& p, int flags, mode_t mode);
/// fcntl() with F_DUPFD or F_DUPFD_CLOEXEC.
int duplicate_above(int fd, int command, int least);
/// The mode without what the process's umask forbids.
mode_t masked(mode_t mode);

}  // namespace io_shim
