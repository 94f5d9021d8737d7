"""The plans of sweeps: which calls fail in which scenarios, and how many of them in a short run.

A call's faults are texts that follow its name and number in LCI_TEST_SWEEP (faults.hpp): "" or "+N": that call, or N
calls from that one on; ":EIO": the errno with which it fails; "!": the fault may break the connection with the peer.
"""

# With --all each call is tried, unless there are more of one kind than this: then a sample, `LONG_SAMPLE` of them.
# Other calls than allocations are that many only where a wait repeats them until a message comes, each time with the
# same effect; how often depends on the machine.
WHOLE = {"alloc": 2000}
WHOLE_OF_OTHERS = 40
LONG_SAMPLE = 24


def named(*errnos):
    return [":" + e for e in errnos]


NO_DESCRIPTOR = named("EMFILE", "ENFILE")
NO_MEMORY = named("ENOMEM")

# Temporary errors: afterwards everything must work.
PASSING = {
    "socket": NO_DESCRIPTOR + named("ENOBUFS", "ENOMEM"),
    "connect": named("EHOSTUNREACH", "ENETUNREACH"),
    "accept4": NO_DESCRIPTOR + named("ECONNABORTED", "ENOBUFS", "EINTR"),
    "getsockopt": named("ENOMEM"),
    "setsockopt": named("ENOMEM", "ENOPROTOOPT"),
    "send": named("EINTR", "EAGAIN", "ENOBUFS", "ENOMEM", "PART", "PART~3"),
    "sendmsg": named("EINTR", "EAGAIN", "ENOBUFS", "ENOMEM", "PART", "PART~3"),
    "recv": named("EINTR", "EAGAIN", "ENOMEM", "PART"),
    "recvmsg": named("EINTR", "EAGAIN", "ENOMEM", "PART"),
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

# Errors that may also prevent a runtime from starting: it reports the reason, or works without the call.
AT_START = {
    **PASSING,
    "bind": named("EADDRINUSE", "EADDRNOTAVAIL", "EACCES"),
    "listen": named("EADDRINUSE", "EOPNOTSUPP"),
    "connect": named("ECONNREFUSED", "ETIMEDOUT", "ENETUNREACH", "EAGAIN"),
    "getsockname": named("ENOBUFS"),
    "getpeername": named("ENOTCONN"),
    "socketpair": NO_DESCRIPTOR,
    "send": named("EPIPE", "ECONNRESET", "EINTR", "EAGAIN", "ENOMEM", "PART", "PART~30"),
    "sendmsg": named("EPIPE", "ECONNRESET", "EINTR", "EAGAIN", "ENOMEM", "PART", "PART~30"),
    "recv": named("ECONNRESET", "EINTR", "EAGAIN", "ETIMEDOUT", "ENOMEM", "PART"),
    "recvmsg": named("ECONNRESET", "EINTR", "EAGAIN", "ETIMEDOUT", "ENOMEM", "PART"),
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

# Errors that break a connection after the start: the peer has failed at both ends, or the connection is made anew.
FATAL = {
    # A message that was sent in part, while there is no memory for its rest: more than memory_tries of lib/base/memory.hpp.
    "send": named("EPIPE", "ECONNRESET", "PART~30!"),
    "sendmsg": named("EPIPE", "ECONNRESET", "PART~30!"),
    "recv": named("ECONNRESET", "ETIMEDOUT"),
    "recvmsg": named("ECONNRESET", "ETIMEDOUT"),
}

# Temporary errors of libfabric, which must not break the connection with the peer.
FABRIC = {
    "fi_mr_reg": named("ENOMEM", "EINVAL", "ENOKEY", "ENOSPC"),
    "fi_recv": named("EAGAIN", "ENOMEM"),
    "fi_av_insert": named("ENOMEM", "EAGAIN"),
    "fi_sendmsg": named("EAGAIN", "ENOMEM"),
    "fi_inject": named("EAGAIN", "ENOMEM"),
    "fi_injectdata": named("EAGAIN", "ENOMEM"),
    "fi_writemsg": named("EAGAIN", "ENOMEM"),
    "fi_readmsg": named("EAGAIN", "ENOMEM"),
    "fi_inject_write": named("EAGAIN", "ENOMEM"),
    "fi_inject_writedata": named("EAGAIN", "ENOMEM"),
    "fi_cq_read": named("EAGAIN", "EINTR", "ENOMEM"),
    "fi_cq_readerr": named("EAGAIN"),
    "fi_trywait": named("EAGAIN", "EINVAL"),
    "fi_close": named("EBUSY"),
}

# Errors that may break the connection: "!". All later calls fail for a broken queue: "+". The next allocations fail,
# too: "~", so there is no memory while the failure is handled.
FABRIC_LASTING = {
    "fi_av_insert": [":EINVAL!"],
    "fi_recv": [":EIO!", "+9999:EIO!"],
    "fi_sendmsg": [":EIO!", ":ECONNRESET!", ":EIO~2!", "+9999:ETIMEDOUT!"],
    "fi_inject": [":EIO!", ":ECONNRESET!"],
    "fi_injectdata": [":EIO!", ":ECONNRESET!"],
    "fi_writemsg": [":EIO!", ":EKEYREJECTED!", ":EINVAL!"],
    "fi_readmsg": [":EIO!", ":EKEYREJECTED!", ":EINVAL!"],
    "fi_inject_write": [":EIO!", ":ECONNRESET!"],
    "fi_inject_writedata": [":EIO!", ":ECONNRESET!"],
    "fi_cq_read": [":EIO!", "+999999:EIO!", "+999999:FI_EOVERRUN!"],
    "fi_completion": [":EIO!", ":EIO~1!", ":ECONNRESET!", ":ECONNRESET~3!", ":EINVAL!", ":EACCES!"],
    "fi_close": ["+999:EBUSY!"],
}

# Errors that may prevent the use of libfabric: the start of the job reports the reason.
FABRIC_AT_START = {
    **FABRIC,
    "fi_getinfo": named("ENOMEM", "EIO", "ENOMEM"),
    "fi_dupinfo": named("ENOMEM"),
    "fi_fabric": named("ENOMEM", "ENODEV"),
    "fi_domain": named("ENOMEM", "ENODEV", "EMFILE"),
    "fi_cq_open": named("ENOMEM", "ENOSYS"),
    "fi_av_open": named("ENOMEM", "EINVAL"),
    "fi_endpoint": named("ENOMEM", "EMFILE"),
    "fi_ep_bind": named("EINVAL", "ENOMEM"),
    "fi_enable": named("ENOMEM", "EADDRINUSE"),
    "fi_control": named("ENOSYS"),
    "fi_getname": named("FI_ETOOSMALL", "EIO"),
    "fi_av_insert": named("ENOMEM", "EINVAL"),
    "fi_recv": named("EAGAIN", "ENOMEM", "EIO"),
}


def both(*tables):
    return {call: [how for t in tables for how in t.get(call, [])]
            for call in dict.fromkeys(c for t in tables for c in t)}


PLANS = {
    "memory": {
        "networks": ["shm", "tcp"],
        # One allocation fails; or that one and some after it.
        "calls": {"alloc": ["", "+3", "", "+12"]},
        # For short runs over TCP: receives that register memory, messages that wait for the network, calls of progress()
        # that throw while other ranks wait, devices that the ranks exchange, and the end.
        "scenarios": {"tcp": ["send_late", "am_network", "collectives", "device", "end"]},
        "sample": {"shm": 2, "tcp": 12},
        "most": 5,  # limit of faults in a scenario, evenly spread over those chosen by the sample
    },
    "system": {
        "networks": ["shm", "tcp"],
        "calls": PASSING,
        "calls_at_start": AT_START,
        "breaking_calls": {"tcp": FATAL},
        # For short runs; all scenarios are run with --all, and any can be named.
        "scenarios": {
            "shm": ["start", "am", "send_late", "put", "get", "registration", "end"],
            "tcp": ["start", "am_remote", "stream_remote", "get", "device", "collectives", "graph", "end"],
        },
        "sample": {"shm": 1, "tcp": 1},
        "most": 8,
    },
    # Functions of CCS. Errors that can't be reported to a caller may end the job, with an error text.
    "ccs": {
        "networks": ["shm", "tcp"],
        "calls": {"alloc": ["", "+3", "", "+12"]},
        "sample": {"shm": 2, "tcp": 2},
        "most": 2,
        "may_end": r"^ccs: .*(memory|refused|lost)",
    },
    # Calls of functions by Mercury's interface. The program is both a server and its client, and needs no launcher.
    "function calls": {
        "alone": True,
        "listed": ["calls"],
        "networks": ["shm", "tcp"],
        "calls": {"alloc": ["", "+3", "", "+12"], **PASSING},
        "breaking_calls": {"tcp": FATAL},
        "sample": {"shm": 6, "tcp": 6},
        "most": 20,
    },
    "libfabric": {
        # Before the ranks are connected, and afterwards.
        "networks": ["ofi", "ofi connected"],
        "all_scenarios": ["start", "am", "am_queue", "send_late", "send_remote", "put", "put_signal", "get",
                          "registration", "end"],
        # For short runs.
        "scenarios": {"ofi": ["start", "am", "get"],
                      "ofi connected": ["am_queue", "send_late", "send_remote", "put", "get", "registration", "end"]},
        "most": 3,
        "calls": both(FABRIC, FABRIC_LASTING),
        "calls_at_start": FABRIC_AT_START,
        "calls_at_end": {**both(FABRIC, FABRIC_LASTING), "fi_close": [":EBUSY!"]},
        "sample": {"ofi": 2, "ofi connected": 2},
    },
}

# The environment variables of each network, by name.
NETWORKS = {
    "shm": {"LCI_ATTR_BACKEND": "shm"},
    "tcp": {"LCI_ATTR_BACKEND": "tcp"},
    "ofi": {"LCI_ATTR_BACKEND": "ofi", "LCI_ATTR_OFI_PROVIDER_NAME": "tcp", "LCI_ATTR_EAGER_ADDRESSES": "0"},
    "ofi connected": {"LCI_ATTR_BACKEND": "ofi", "LCI_ATTR_OFI_PROVIDER_NAME": "tcp", "LCI_TEST_SWEEP_CONNECTED": "1"},
}
