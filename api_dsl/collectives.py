"""Collective operations: all ranks call them, in the same order on each device."""

from api_dsl import arguments as a
from api_dsl.schema import Argument as A, Default, Operation as Op

_G = "Collectives"

_engine = A("matching_engine", "matching_engine_t", "Matching engine that the messages meet in.",
            "matching_engine_t()",
            resolve=Default("runtime", "default_coll_matching_engine",
                            "the runtime has no default matching engine: pass .matching_engine()"))
_comp = A("comp", "comp_t",
          "Signalled when this rank's part is over. COMP_NULL: the call waits for that.",
          "comp_t()", may_be_empty=True)
_COMMON = (a.runtime, a.device, a.endpoint, _engine, _comp)
_semantic = A("comp_semantic", "comp_semantic_t", "When this rank's sends count as complete.",
              "comp_semantic_t::memory")
_steps = A("ring_nsteps", "int", "Pieces that `ring` cuts the data into; 0: ranks - 1.", "0")


def _algorithm(enum):
    return A("algorithm", enum, "How; none: chosen by size and number of ranks.", f"{enum}::none")


_root = A("root", "int", "The rank that has, or gets, the whole.")
_sendbuf = A("sendbuf", "const void*", "What this rank contributes.")
# What is said of results: which sendbuf they may be.
_APART = (" Must not overlap `sendbuf`: it is seen where calls are checked; else the result is undefined.")
_OR_SAME = (" May be `sendbuf`, but not overlap it otherwise: it is seen where calls are checked; else the result is "
            "undefined.")
_OR_BLOCK = (" %s may be this rank's own block there, but not overlap `%s` otherwise: it is seen where calls are checked; "
             "else the result is undefined.")
_recvbuf = A("recvbuf", "void*", "Where the result goes." + _APART)
_recvbuf_or_same = A("recvbuf", "void*", "Where the result goes." + _OR_SAME)
_count = A("count", "size_t", "Items each rank contributes.")
_item = A("item_size", "size_t", "Bytes of an item.")
_op = A("op", "reduce_op_t",
        "Combines n items: dst[i] = left[i] op right[i]. Associative; `ring` also takes it to be "
        "commutative.")
_size = A("size", "size_t", "Bytes each rank sends to each other one it sends to.")

OPERATIONS = (
    Op("barrier", "void", "Ends on no rank before all ranks have begun it.", (),
       _COMMON + (_semantic,), group=_G),
    Op("broadcast", "void", "Copies the root's buffer into that of all others.",
       (A("buffer", "void*", "Read at the root, written elsewhere."),
        A("size", "size_t", "Bytes of the buffer, the same everywhere."), _root),
       _COMMON + (_algorithm("broadcast_algorithm_t"), _steps), group=_G),
    Op("reduce", "void", "Combines the items of all ranks, in the order of ranks, at the root.",
       (_sendbuf, _recvbuf_or_same, _count, _item, _op, _root), _COMMON, group=_G),
    Op("allreduce", "void",
       "Combines the items of all ranks; all get the result. `sendbuf` may be `recvbuf`.",
       (_sendbuf, _recvbuf_or_same, _count, _item, _op),
       _COMMON + (_algorithm("allreduce_algorithm_t"), _steps), group=_G),
    Op("reduce_scatter", "void",
       "Combines the items of all ranks; each gets its own block of the result.",
       (A("sendbuf", "const void*", "`recvcount` items for each rank, in the order of ranks."),
        _recvbuf, A("recvcount", "size_t", "Items each rank gets."), _item, _op),
       _COMMON + (_algorithm("reduce_scatter_algorithm_t"), _steps), group=_G),
    Op("scan", "void",
       "Combines the items of all ranks up to this one, this one included. `sendbuf` may be "
       "`recvbuf`.", (_sendbuf, _recvbuf_or_same, _count, _item, _op), _COMMON, source="ours", group=_G),
    Op("gather", "void", "Brings the blocks of all ranks to the root, in the order of ranks.",
       (_sendbuf, A("recvbuf", "void*", "At the root: `size` bytes for each rank." +
                   _OR_BLOCK % ("`sendbuf`", "recvbuf")), _size, _root),
       _COMMON + (_algorithm("gather_algorithm_t"),), source="ours", group=_G),
    Op("scatter", "void", "Gives each rank its block of the root's buffer.",
       (A("sendbuf", "const void*", "At the root: `size` bytes for each rank, in their order."),
        A("recvbuf", "void*", "Where this rank's block goes." + _OR_BLOCK % ("At the root it", "sendbuf")), _size,
        _root), _COMMON + (_algorithm("gather_algorithm_t"),), source="ours",
       group=_G),
    Op("allgather", "void", "Brings the blocks of all ranks to all ranks, in the order of ranks.",
       (_sendbuf, A("recvbuf", "void*", "`size` bytes for each rank." + _OR_BLOCK % ("`sendbuf`", "recvbuf")), _size),
       _COMMON + (_algorithm("allgather_algorithm_t"),), group=_G),
    Op("alltoall", "void", "Sends a block to each rank and gets one from each.",
       (A("sendbuf", "const void*", "`size` bytes for each rank, in the order of ranks."),
        A("recvbuf", "void*", "`size` bytes from each rank, in the order of ranks." + _APART), _size),
       _COMMON + (_semantic,), group=_G),
)
