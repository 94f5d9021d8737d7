"""What is swept: which calls fail in which scenarios, and how many of them in a run that has little time."""

# Of more calls than this of one kind a sample is tried even if all are asked for.
WHOLE = 2000


def named(*errnos):
    return [":" + e for e in errnos]


NO_DESCRIPTOR = named("EMFILE", "ENFILE")
NO_MEMORY = named("ENOMEM")

# What passes: afterwards all must work.
PASSING = {
    "socket": NO_DESCRIPTOR + named("ENOBUFS", "ENOMEM"),
    "connect": named("EHOSTUNREACH", "ENETUNREACH"),
    "accept4": NO_DESCRIPTOR + named("ECONNABORTED", "ENOBUFS", "EINTR"),
    "getsockopt": named("ENOMEM"),
    "setsockopt": named("ENOMEM", "ENOPROTOOPT"),
    "send": named("EINTR", "EAGAIN", "ENOBUFS", "ENOMEM"),
    "sendmsg": named("EINTR", "EAGAIN", "ENOBUFS", "ENOMEM"),
    "recv": named("EINTR", "EAGAIN", "ENOMEM"),
    "recvmsg": named("EINTR", "EAGAIN", "ENOMEM"),
    "read": named("EINTR", "EAGAIN"),
    "write": named("EINTR", "EAGAIN"),
    "poll": named("EINTR", "ENOMEM"),
    "ppoll": named("EINTR", "ENOMEM"),
    "epoll_wait": named("EINTR"),
    "eventfd": NO_DESCRIPTOR + NO_MEMORY,
    "mmap": NO_MEMORY,
    "munmap": NO_MEMORY,
    "madvise": named("ENOMEM", "EINVAL"),
    "process_vm_readv": named("EPERM", "ENOMEM"),
    "process_vm_writev": named("EPERM", "ENOMEM"),
    "futex": named("EINTR", "ETIMEDOUT"),
    "pthread_create": named("EAGAIN"),
}

# What may also keep a runtime from starting: it says why, or does without.
AT_START = {
    **PASSING,
    "bind": named("EADDRINUSE", "EADDRNOTAVAIL", "EACCES"),
    "listen": named("EADDRINUSE", "EOPNOTSUPP"),
    "connect": named("ECONNREFUSED", "ETIMEDOUT", "ENETUNREACH", "EAGAIN"),
    "getsockname": named("ENOBUFS"),
    "getpeername": named("ENOTCONN"),
    "socketpair": NO_DESCRIPTOR,
    "send": named("EPIPE", "ECONNRESET", "EINTR", "EAGAIN", "ENOMEM"),
    "sendmsg": named("EPIPE", "ECONNRESET", "EINTR", "EAGAIN", "ENOMEM"),
    "recv": named("ECONNRESET", "EINTR", "EAGAIN", "ETIMEDOUT", "ENOMEM"),
    "recvmsg": named("ECONNRESET", "EINTR", "EAGAIN", "ETIMEDOUT", "ENOMEM"),
    "read": named("EINTR", "ENOMEM"),
    "write": named("EINTR", "EPIPE", "ENOSPC"),
    "epoll_create1": NO_DESCRIPTOR + NO_MEMORY,
    "epoll_ctl": named("ENOMEM", "ENOSPC"),
    "open": NO_DESCRIPTOR + named("ENOENT", "EACCES"),
    "fcntl": named("EINVAL"),
    "fstat": named("ENOMEM", "EIO"),
    "memfd_create": NO_DESCRIPTOR + named("ENOMEM", "ENOSYS"),
    "ftruncate": named("ENOSPC", "EINTR"),
    "fallocate": named("ENOSPC", "EINTR", "EOPNOTSUPP"),
    "membarrier": named("ENOSYS", "EPERM"),
    "pidfd_open": named("ENOSYS", "EMFILE", "EPERM"),
    "userfaultfd": named("EPERM", "ENOSYS", "EMFILE"),
    "ioctl": named("EINVAL", "ENODEV"),
    "getrandom": named("EINTR", "ENOSYS"),
}

# What breaks a connection, after the start: its peer has failed, at both ends, or it is made anew.
FATAL = {
    "send": named("EPIPE", "ECONNRESET"),
    "sendmsg": named("EPIPE", "ECONNRESET"),
    "recv": named("ECONNRESET", "ETIMEDOUT"),
    "recvmsg": named("ECONNRESET", "ETIMEDOUT"),
}

PLANS = {
    "memory": {
        "networks": ["shm"],
        # One allocation fails; then that and those after it.
        "calls": {"alloc": ["", "+3", "", "+12"]},
        "sample": {"shm": 4},
    },
    "system": {
        "networks": ["shm", "tcp"],
        "calls": PASSING,
        "calls_at_start": AT_START,
        "breaking_calls": {"tcp": FATAL},
        # In a run that has little time; all with --all, or where a scenario is named.
        "scenarios": {
            "shm": ["start", "am", "send_late", "put", "get", "registration", "end"],
            "tcp": ["start", "am_remote", "stream_remote", "get", "device", "collectives", "graph", "end"],
        },
        "sample": {"shm": 1, "tcp": 1},
    },
}
