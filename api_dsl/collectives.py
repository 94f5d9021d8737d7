"""Collective operations: all ranks call them, in the same order on each device."""

from api_dsl import arguments as a
from api_dsl.schema import Argument as A, Default, Operation as Op

_G = "Collectives"

_engine = A("matching_engine", "matching_engine_t", "Matching engine of the collective's messages.",
            "matching_engine_t()",
            resolve=Default("runtime", "default_coll_matching_engine",
                            "the runtime has no default matching engine: pass .matching_engine()"))
_comp = A("comp", "comp_t",
          "Signalled when this rank's part is complete. COMP_NULL: the call blocks until then.",
          "comp_t()", may_be_empty=True)
_COMMON = (a.runtime, a.device, a.endpoint, _engine, _comp)
_semantic = A("comp_semantic", "comp_semantic_t", "When this rank's sends are complete.",
              "comp_semantic_t::memory")
_steps = A("ring_nsteps", "int", "Number of pieces into which `ring` cuts the data; 0: ranks - 1.", "0")


def _algorithm(enum):
    return A("algorithm", enum, "Algorithm; none: chosen by size and number of ranks.", f"{enum}::none")


_root = A("root", "int", "The rank that has the source data, or gets the result.")
_sendbuf = A("sendbuf", "const void*", "This rank's contribution.")
# Which overlap of result and sendbuf is allowed.
_APART = (" Must not overlap `sendbuf`; the checking mode detects that, otherwise the result is undefined.")
_OR_SAME = (" May be `sendbuf`, but not overlap it otherwise; the checking mode detects that, otherwise the result "
            "is undefined.")
_OR_BLOCK = (" %s may be this rank's own block there, but not overlap `%s` otherwise; the checking mode detects "
             "that, otherwise the result is undefined.")
_recvbuf = A("recvbuf", "void*", "Memory for the result." + _APART)
_recvbuf_or_same = A("recvbuf", "void*", "Memory for the result." + _OR_SAME)
_count = A("count", "size_t", "Number of items that each rank contributes.")
_item = A("item_size", "size_t", "Size of an item, in bytes; 0: the function is not called.")
_op = A("op", "reduce_op_t",
        "Combines n items: dst[i] = left[i] op right[i]. Must be associative; for `ring` commutative, too.")
_size = A("size", "size_t", "Size of a block, in bytes: what a rank sends to one other rank.")

OPERATIONS = (
    Op("barrier", "void", "Completes on no rank before all ranks have begun it.", (),
       _COMMON + (_semantic,), group=_G),
    Op("broadcast", "void", "Copies the root's buffer to all other ranks.",
       (A("buffer", "void*", "Read at the root, written elsewhere."),
        A("size", "size_t", "Size of the buffer in bytes, the same on all ranks."), _root),
       _COMMON + (_algorithm("broadcast_algorithm_t"), _steps), group=_G),
    Op("reduce", "void", "Combines the items of all ranks, in the order of ranks. The root gets the result.",
       (_sendbuf, _recvbuf_or_same, _count, _item, _op, _root), _COMMON, group=_G),
    Op("allreduce", "void",
       "Combines the items of all ranks; all get the result. `sendbuf` may be `recvbuf`.",
       (_sendbuf, _recvbuf_or_same, _count, _item, _op),
       _COMMON + (_algorithm("allreduce_algorithm_t"), _steps), group=_G),
    Op("reduce_scatter", "void",
       "Combines the items of all ranks; each gets its own block of the result.",
       (A("sendbuf", "const void*", "`recvcount` items for each rank, in the order of ranks."),
        _recvbuf, A("recvcount", "size_t", "Number of items that each rank gets."), _item, _op),
       _COMMON + (_algorithm("reduce_scatter_algorithm_t"), _steps), group=_G),
    Op("scan", "void",
       "Combines the items of ranks 0 to this one, inclusive. `sendbuf` may be `recvbuf`.",
       (_sendbuf, _recvbuf_or_same, _count, _item, _op), _COMMON, source="ours", group=_G),
    Op("gather", "void", "Gathers the blocks of all ranks at the root, in the order of ranks.",
       (_sendbuf, A("recvbuf", "void*", "At the root: `size` bytes for each rank." +
                   _OR_BLOCK % ("`sendbuf`", "recvbuf")), _size, _root),
       _COMMON + (_algorithm("gather_algorithm_t"),), source="ours", group=_G),
    Op("scatter", "void", "Sends each rank its block of the root's buffer.",
       (A("sendbuf", "const void*", "At the root: `size` bytes for each rank, in their order."),
        A("recvbuf", "void*", "Memory for this rank's block." + _OR_BLOCK % ("At the root it", "sendbuf")), _size,
        _root), _COMMON + (_algorithm("gather_algorithm_t"),), source="ours",
       group=_G),
    Op("allgather", "void", "Gathers the blocks of all ranks at all ranks, in the order of ranks.",
       (_sendbuf, A("recvbuf", "void*", "`size` bytes for each rank." + _OR_BLOCK % ("`sendbuf`", "recvbuf")), _size),
       _COMMON + (_algorithm("allgather_algorithm_t"),), group=_G),
    Op("alltoall", "void", "Sends a block to each rank and receives one from each.",
       (A("sendbuf", "const void*", "`size` bytes for each rank, in the order of ranks."),
        A("recvbuf", "void*", "`size` bytes from each rank, in the order of ranks." + _APART), _size),
       _COMMON + (_semantic,), group=_G),
)
