"""Valid ranges of arguments, beyond their types. The reference prints them; the generated tests of misuse
(codegen/misuse.py) use values just outside of them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Fact:
    kind: str  # selects the tests of misuse
    text: str  # for the reference


RANK = Fact("rank", "0 to the number of ranks - 1, or the id of a connected peer")
ANY_RANK = Fact("rank", "0 to the number of ranks - 1, the id of a connected peer, or ANY_SOURCE")
ALL_RANKS = Fact("rank", "0 to the number of ranks - 1, the id of a connected peer, or ALL_RANKS")
ROOT = Fact("root", "0 to the number of ranks - 1")
TAG = Fact("tag", "at most the runtime's `max_tag`")
ANY_TAG = Fact("tag", "at most the runtime's `max_tag`, or ANY_TAG")
BYTES = Fact("bytes", "at most 2^63 - 1")
PIECES = Fact("pieces", "at least 0")
OFFSET = Fact("offset", "such that all bytes are in the registered range")
ATOMIC_OFFSET = Fact("atomic offset", "such that the value is in the registered range, at a multiple of its size")
ALIGNMENT = Fact("alignment", "a power of two, at most 2^30")
SECONDS = Fact("seconds", "any number except NaN")
BUFFER = Fact("buffer", "not null, unless there are 0 bytes")
ADDRESS = Fact("buffer", "not null")
FUNCTION = Fact("function", "not null")
MAY_BE_NULL = Fact("", "may be null")
HANDLE_TO_FREE = Fact("handle to free", "not null; of an object that was not freed and is no default of its runtime")
SEMANTIC = Fact("enumerator", "a value of its enumeration")
RCOMP = Fact("remote completion", "not 0")
RCOMP_IF_ANY = Fact("remote completion if any", "any; messages to a handle that is not registered are dropped and "
                                                "counted")
RESERVED = Fact("reserved handle", "0, or a reserved handle without an object")
REGISTERED = Fact("registered handle", "a registered or reserved handle")
COUNTER_VALUE = Fact("counter value", "-2^62 to 2^62 - 1")
HANDLES = Fact("number of handles", "1 to the number of handles left of 2^24 - 1")

_BY_ARGUMENT = {
    ("post_recv", "rank"): ANY_RANK, ("post_comm", "rank"): ANY_RANK, ("post_flush", "rank"): ALL_RANKS,
    ("get_counters", "rank"): ALL_RANKS, ("post_recv", "tag"): ANY_TAG, ("post_comm", "tag"): ANY_TAG,
    ("post_atomic", "remote_disp"): ATOMIC_OFFSET, ("post_atomic", "operand"): Fact("buffer",
      "not null, except for `fetch`"),
    ("post_atomic", "result"): Fact("", "null for `store`, not null for `fetch`"),
    ("post_comm", "remote_disp"): Fact("", "such that all bytes are in the registered range; 0 without one"),
    ("post_am", "remote_comp"): RCOMP, ("post_put", "remote_comp"): RCOMP_IF_ANY,
    ("post_get", "remote_comp"): RCOMP_IF_ANY,
    ("register_rcomp", "rcomp"): RESERVED, ("deregister_rcomp", "rcomp"): REGISTERED,
    ("counter_set", "value"): COUNTER_VALUE, ("reserve_rcomps", "n"): HANDLES, ("matching_engine_insert", "value"): ADDRESS,
    ("graph_add_node", "fn"): MAY_BE_NULL, ("alloc_handler", "handler"): FUNCTION,
    ("alloc_am_handler", "handler"): FUNCTION,
    ("cq_pop_many", "statuses"): Fact("buffer", "not null, unless `max_pops` is 0"),
    ("find_rmr", "address"): Fact("", "any address"), ("find_rmr", "size"): Fact("", "any number"),
    ("get_histogram", "size"): Fact("", "any number"),
    ("net_poll_cq", "statuses"): Fact("buffer", "not null, unless `max_polls` is 0"),
    ("put_upacket", "packet"): MAY_BE_NULL, ("is_upacket", "packet"): MAY_BE_NULL,
    ("set_allocator", "allocator"): MAY_BE_NULL,
}
_BY_NAME = {
    "rank": RANK, "root": ROOT, "tag": TAG, "size": BYTES, "count": BYTES, "recvcount": BYTES, "item_size": BYTES,
    "ring_nsteps": PIECES, "remote_disp": OFFSET, "offset": OFFSET, "alignment": ALIGNMENT, "timeout": SECONDS,
    "deadline": SECONDS, "p_out": MAY_BE_NULL,
}
_BUFFERS = {"local_buffer", "buffer", "sendbuf", "recvbuf", "address"}


def of(operation, argument, type_name, positional, enums, handles):
    """The valid range of this argument; None if any value of its type is valid."""
    found = _BY_ARGUMENT.get((operation, argument)) or _BY_NAME.get(argument)
    if found is not None:
        return found
    if type_name.endswith("*") and type_name[:-1] in handles and positional:
        return HANDLE_TO_FREE
    if type_name in enums and not enums[type_name].flags:
        return SEMANTIC
    if positional and argument in _BUFFERS and type_name in ("void*", "const void*"):
        return BUFFER
    if type_name == "reduce_op_t":
        return FUNCTION
    return None
