"""Enumerations. Those that include/lci/types.hpp declares are listed for their string functions
and for the reference."""

from api_dsl.schema import Enum, EnumValue as V

_TYPES = "lci/types.hpp"

errorcode = Enum(
    "errorcode_t",
    "Result of a call, in three ordered ranges: done, posted, retry. Fatal errors of calls are exceptions.",
    (
        V("done_min", "Boundary marker, never returned."),
        V("done", "Complete; the completion object is not signalled."),
        V("done_backlog", "Complete for the caller: the message waits inside the library, the buffer is free."),
        V("done_truncated",
          "Complete, but the message was longer than the receive buffer and was truncated to it."),
        V("done_max", "Boundary marker, never returned."),
        V("posted_min", "Boundary marker, never returned."),
        V("posted", "The completion object will be signalled once."),
        V("posted_backlog", "As `posted`; the request waits in the backlog for a resource."),
        V("posted_max", "Boundary marker, never returned."),
        V("retry_min", "Boundary marker, never returned."),
        V("retry", "Nothing happened: make progress, then call again."),
        V("retry_init", "Initial value of a status."),
        V("retry_lock", "Another thread holds the resource."),
        V("retry_nopacket", "The packet pool is empty."),
        V("retry_nomem", "The network's send queue is full."),
        V("retry_backlog", "Earlier requests to the same peer wait in the device's backlog, or the window of the "
                           "stream is full."),
        V("retry_max", "Boundary marker, never returned."),
        V("fatal", "Of an outstanding operation: its peer has failed, or refuses the request. Posts throw instead."),
        V("cancelled", "Of an outstanding operation: it was cancelled, here or by its peer."),
        V("timed_out", "Of an outstanding operation: it had not completed at its deadline."),
        V("no_memory", "Of an outstanding operation: its target had no memory for the message and has not delivered "
                       "it."),
    ),
    source="3.2.5", declared_in=_TYPES)

direction = Enum(
    "direction_t", "Direction of a communication as the posting rank sees it.",
    (V("OUT", "From the local buffer to the peer."), V("IN", "From the peer to the local buffer.")),
    source="3.2.4", declared_in=_TYPES, str_function=True)

matching_policy = Enum(
    "matching_policy_t",
    "Which of rank and tag make up the matching key. Sender and receiver name the same policy.",
    (
        V("none", "Neither: any send of this policy matches any receive of it.", 0),
        V("rank_only", "The source rank only.", 1),
        V("tag_only", "The tag only.", 2),
        V("rank_tag", "Both.", 3),
        V("max", "Number of policies, no policy.", 4),
    ),
    source="3.3.2", declared_in=_TYPES, str_function=True)

matching_entry_type = Enum(
    "matching_entry_type_t", "The two kinds of entries of a matching engine.",
    (V("send", "A message that has arrived.", 0), V("recv", "A receive that was posted.", 1)),
    source="4.1.3", declared_in=_TYPES, str_function=True)

comp_semantic = Enum(
    "comp_semantic_t", "When an outgoing operation is complete.",
    (
        V("memory", "The local buffer may be reused."),
        V("network", "The network has finished the operation."),
        V("remote", "The target's loads see the data; an active message has been handled, a send is in its receive "
                    "buffer."),
    ),
    source="v2", declared_in=_TYPES, str_function=True)

backend = Enum(
    "attr_backend_t", "Networks (backends) that a net context can open.",
    (
        V("none", "Automatic: shared memory within a host, the best usable network between hosts.",
          also="auto"),
        V("ibv", "InfiniBand and RoCE through libibverbs."),
        V("ofi", "Any provider of libfabric, including TCP."),
        V("ucx", "UCX."),
        V("shm", "Shared memory of one host."),
        V("sim", "Deterministic simulation: several ranks in one process, for tests."),
        V("tcp", "Plain TCP sockets."),
    ),
    source="4.2", declared_in=_TYPES, str_function=True)

rdv_protocol = Enum(
    "attr_rdv_protocol_t", "How messages too large for a packet are transferred (rendezvous).",
    (
        V("auto_select", "The cheapest protocol that the network supports. On one host, if the sender polls, the "
                         "fastest of copy, read and split, as measured meanwhile."),
        V("write", "The sender writes, then sends FIN."),
        V("writeimm", "The sender writes, and the last write carries the notification."),
        V("read", "The receiver reads, then sends FIN."),
        V("copy", "Fragments sent as messages; works on every network."),
        V("split", "The receiver reads one half while the sender writes the other. Where the network can't, as read."),
    ),
    source="4.3", str_function=True)

copy_way = Enum(
    "attr_copy_way_t", "How repeated large puts and gets in memory that the process has mapped are copied.",
    (
        V("auto_select", "By pieces or by vectors, as each thread measures to be faster."),
        V("pieces", "By memcpy, some KiB at a time."),
        V("vectors", "By loads and stores of 32 bytes. Where the processor has no AVX2, by pieces."),
    ),
    source="ours")

choice = Enum(
    "attr_choice_t", "Whether to do something that saves time on some processors and costs time on others.",
    (
        V("auto_select", "If it is measured to save time."),
        V("always", "Always."),
        V("never", "Never."),
    ),
    source="ours")

matching_engine_type = Enum(
    "attr_matching_engine_type_t", "Implementations of the matching engine; both names select the same one.",
    (
        V("queue", "The hash table, too; its entries of a key are in posting order."),
        V("map", "A hash table with a lock per bucket."),
    ),
    source="4.1.3", str_function=True)

comp_type = Enum(
    "attr_comp_type_t", "Kinds of completion objects.",
    (
        V("sync", "Synchronizer: ready after a number of signals."),
        V("counter", "Counts signals."),
        V("cq", "Queue of statuses."),
        V("handler", "Function that is called with the status."),
        V("graph", "Partially ordered set of operations and functions."),
        V("custom", "A class of the program's, derived from `comp_impl_t`."),
    ),
    source="3.2.5", str_function=True)

cq_type = Enum(
    "attr_cq_type_t", "Implementations of the completion queue.",
    (
        V("array_atomic", "A fixed array; the fastest for one thread while not full. First in, first out until it is "
                          "full; beyond that, each thread's statuses stay in order."),
        V("lcrq", "Lists of rings, one for a few signalling threads; grows without limit; the fastest for several "
                  "threads. The statuses of each thread, and of each stream, stay in order."),
        V("fifo", "One list of rings; grows without limit. First in, first out across threads."),
    ),
    source="4.1.4", str_function=True)

ibv_odp_strategy = Enum(
    "attr_ibv_odp_strategy_t", "On-demand paging of registered memory (libibverbs).",
    (
        V("none", "Registration pins pages."),
        V("explicit_odp", "Each registration is paged on demand."),
        V("implicit_odp", "One registration of the whole address space."),
    ),
    source="3.3.1", str_function=True)

ibv_prefetch_strategy = Enum(
    "attr_ibv_prefetch_strategy_t", "Advice given for memory paged on demand (libibverbs).",
    (
        V("none", "None."),
        V("prefetch", "Map pages for reading."),
        V("prefetch_write", "Map pages for writing."),
        V("prefetch_no_fault", "Map what is present without faulting."),
    ),
    source="v2", str_function=True)

ibv_td_strategy = Enum(
    "attr_ibv_td_strategy_t", "Which queue pairs share a thread domain (libibverbs).",
    (
        V("none", "No thread domains."),
        V("all_qp", "One for all queue pairs of a device: for a device per thread."),
        V("per_qp", "One per queue pair: for devices that threads share."),
    ),
    source="4.2.3", str_function=True)

net_opcode = Enum(
    "net_opcode_t", "Which raw network operation a status belongs to.",
    (
        V("SEND", "A send of this rank has completed: its buffer may be reused."),
        V("RECV", "A message has filled a posted receive."),
        V("WRITE", "A put of this rank is complete."),
        V("REMOTE_WRITE", "A put with immediate data has written to this rank's memory."),
        V("READ", "A get of this rank is complete."),
        V("ERROR", "An operation has failed: its peer has failed, or a message was truncated."),
    ),
    source="v2", declared_in=_TYPES, str_function=True)

progress_mode = Enum(
    "progress_mode_t", "What a progress thread does while nothing happens.",
    (
        V("none", "No progress thread: the program makes progress."),
        V("spin", "Polls all the time: the shortest delay, and a processor that is always busy."),
        V("adaptive", "Polls for half a millisecond after the last event, then sleeps as `event` does."),
        V("event", "Sleeps after a few microseconds, until a message arrives or this process leaves work to be sent."),
    ),
    source="3.2.6")

net_lock_mode = Enum(
    "attr_net_lock_mode_t", "Calls into libfabric that LCI guards with locks of its own.",
    (
        V("LCI_NET_TRYLOCK_SEND", "Try a lock around posting sends.", 1),
        V("LCI_NET_TRYLOCK_RECV", "Try a lock around posting receives.", 2),
        V("LCI_NET_TRYLOCK_POLL", "Try a lock around polling.", 4),
        V("LCI_NET_LOCK_MR", "Take a lock around memory registration.", 8),
        V("LCI_NET_LOCK_ALL", "All of these.", 15),
        V("LCI_NET_TRYLOCK_MAX", "Boundary marker: above all of them.", 16, marker=True),
        V("LCI_NET_TRYLOCK_ENDPOINT",
          "Try one lock around posting and polling together, as providers have one for each endpoint; replaces the "
          "first three.", 32),
    ),
    source="4.2.2", flags=True)


def _algorithms(operation, *named, published=True):
    return Enum(f"{operation}_algorithm_t", f"Ways to carry out `{operation}`.",
                (V("none", "Chosen by size and number of ranks."),) +
                tuple(V(name, doc) for name, doc in named), str_function=published)


_TREE = ("tree", "Binomial trees (allreduce: recursive doubling if the number of ranks is a power of two), in O(log n) "
                 "rounds: for small data and many ranks.")
_DIRECT = ("direct", "Messages between each pair of ranks that exchange data, all at once.")
_RING = ("ring", "Pieces from each rank to the next: for large data.")
broadcast_algorithm = _algorithms("broadcast", _DIRECT, _TREE, _RING)
reduce_scatter_algorithm = _algorithms("reduce_scatter", _DIRECT, _TREE, _RING)
allreduce_algorithm = _algorithms("allreduce", _DIRECT, _TREE, _RING)
allgather_algorithm = _algorithms("allgather", _DIRECT, _RING, published=False)
gather_algorithm = _algorithms("gather", _DIRECT, _TREE, published=False)

atomic_op = Enum(
    "atomic_op_t",
    "What an atomic operation does to the remote value. Each returns the previous value if a result is requested: "
    "fetch-and-add is `add` with a result.",
    (
        V("fetch", "Reads it."),
        V("store", "Replaces it by the operand, without a result."),
        V("swap", "Replaces it by the operand."),
        V("compare_swap", "Replaces it by the operand if it has the bits of `compare`."),
        V("add", "Adds the operand; integers wrap around."),
        V("bit_and", "Bitwise and with the operand; integers only."),
        V("bit_or", "Bitwise or; integers only."),
        V("bit_xor", "Bitwise exclusive or; integers only."),
    ),
    source="ours")

atomic_type = Enum(
    "atomic_type_t", "Value types of atomic operations.",
    (
        V("int32", "Signed, 4 bytes."),
        V("uint32", "Unsigned, 4 bytes."),
        V("int64", "Signed, 8 bytes."),
        V("uint64", "Unsigned, 8 bytes."),
        V("float32", "Floating point, 4 bytes."),
        V("float64", "Floating point, 8 bytes."),
    ),
    source="ours")

operation_kind = Enum(
    "operation_kind_t", "Kinds of operations with separate time histograms.",
    (
        V("am", "Active messages."),
        V("send", "Sends."),
        V("recv", "Receives."),
        V("put", "Puts."),
        V("get", "Gets."),
        V("atomic", "Atomic operations."),
    ),
    source="ours")

ALL = (errorcode, direction, matching_policy, matching_entry_type, comp_semantic, backend,
       rdv_protocol, copy_way, choice, matching_engine_type, comp_type, cq_type, ibv_odp_strategy,
       ibv_prefetch_strategy, ibv_td_strategy, net_opcode, progress_mode, net_lock_mode,
       broadcast_algorithm, reduce_scatter_algorithm, allreduce_algorithm, allgather_algorithm,
       gather_algorithm, atomic_op, atomic_type, operation_kind)
