"""Atomic operations on remote memory."""

from dataclasses import replace

from api_dsl import arguments as a
from api_dsl.communication import post_comm
from api_dsl.schema import Argument as A, Operation as Op

_of_post = {x.name: x for x in post_comm.positional + post_comm.optional}

OPERATIONS = (
    Op("post_atomic", "status_t",
       "Posts an atomic operation on one value in registered memory of a rank. It is atomic with respect to all "
       "other such operations on the value, from any rank, and to the owner's own std::atomic and atomic_ref, and "
       "sequentially consistent. It completes when the value has been updated. Thread-safe.",
       (A("rank", "int", "The target."),
        A("op", "atomic_op_t", "The operation on the remote value."),
        A("operand", "const void*", "One value, read before the call returns; ignored by `fetch`. Any alignment; may "
                                    "be `result`."),
        A("result", "void*", "Memory for the previous value; null: not returned. Required by `fetch`, null for "
                             "`store`. Any alignment. On the own rank it must not overlap the remote value; the "
                             "checking mode detects that, otherwise its content is undefined."),
        replace(_of_post["local_comp"], doc="Signalled when the operation is complete."),
        replace(_of_post["remote_disp"], default=None,
                doc="Offset into the registered range, in bytes; the address must be a multiple of the value's size."),
        replace(_of_post["rmr"], default=None, doc="Registration of the target.")),
       (a.runtime, a.device, a.endpoint,
        A("type", "atomic_type_t", "Type of the remote value, the operand and the result.",
          "atomic_type_t::uint64"),
        A("compare", "const void*", "`compare_swap`: the value to compare with, read before the call returns. Any "
                                    "alignment.", "nullptr"),
        _of_post["user_context"], _of_post["operation"], _of_post["deadline"], _of_post["allow_done"],
        _of_post["allow_posted"],
        _of_post["allow_retry"]),
       source="ours", group="Communication",
       result="`done`, `posted` (`local_comp` will be signalled once), or a retry code (nothing happened). "
              "`status.buffer` is `result`. Throws peer_failure_error if the target has failed.", direct="atomic"),
)
