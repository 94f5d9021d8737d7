"""Atomic operations on remote memory."""

from dataclasses import replace

from api_dsl import arguments as a
from api_dsl.communication import post_comm
from api_dsl.schema import Argument as A, Operation as Op

_of_post = {x.name: x for x in post_comm.positional + post_comm.optional}

OPERATIONS = (
    Op("post_atomic", "status_t",
       "Posts an atomic operation on one value in registered memory of a rank. Atomic with respect "
       "to all other such operations on it, from wherever, and to the owner's own std::atomic and "
       "atomic_ref. Ends when it has been done. Sequentially consistent.",
       (A("rank", "int", "The target."),
        A("op", "atomic_op_t", "What to do."),
        A("operand", "const void*", "One value, read before the call returns; `fetch` needs none. "
          "Of any alignment; may be `result`."),
        A("result", "void*", "Where the value before goes; null: nowhere. `fetch` needs one, "
          "`store` gives none. Of any alignment. Of the own rank it must not overlap the remote value, which is seen "
          "where calls are checked; else what the value is then is undefined."),
        replace(_of_post["local_comp"], doc="Signalled when the operation has been done."),
        replace(_of_post["remote_disp"], default=None,
                doc="Offset into the registered range; the address is a multiple of the value's "
                "size."),
        replace(_of_post["rmr"], default=None, doc="Registration of the target.")),
       (a.runtime, a.device, a.endpoint,
        A("type", "atomic_type_t", "Type of the value, the operand and the result.",
          "atomic_type_t::uint64"),
        A("compare", "const void*", "`compare_swap`: the value to compare with, read before the "
          "call returns. Of any alignment.", "nullptr"),
        _of_post["user_context"], _of_post["operation"], _of_post["deadline"], _of_post["allow_done"], _of_post["allow_posted"],
        _of_post["allow_retry"]),
       source="ours", group="Communication",
       result="`done`, `posted` (`local_comp` will be signalled), or a retry code. In the status, "
       "`buffer` is `result`.", direct="atomic"),
)
