"""Posting of communication: one generic operation, and those derived from it (paper, Table 1)."""

from api_dsl import arguments as a
from api_dsl.schema import Argument as A, Derived, Operation as Op

_G = "Communication"
_STATUS = ("`done` (complete, nothing will be signalled), `posted` (`local_comp` will be "
           "signalled), or a retry code (nothing happened).")

post_comm = Op(
    "post_comm", "status_t",
    "Posts a communication. Direction, remote buffer and remote completion say which: OUT is a "
    "send, with a remote completion an active message, with a remote buffer a put, with both a "
    "put with signal; IN is a receive, with a remote buffer a get, with both a get with signal.",
    (A("direction", "direction_t", "OUT: local to remote; IN: remote to local."),
     A("rank", "int", "The peer. ANY_SOURCE in receives."),
     A("local_buffer", "void*", "Memory to send from or to receive into."),
     A("size", "size_t", "Bytes to move; for a receive, the size of the buffer."),
     A("local_comp", "comp_t", "Signalled when the operation has completed locally.",
       may_be_empty=True)),
    (a.runtime, a.device, a.endpoint, a.device_packet_pool, a.matching_engine,
     A("comp_semantic", "comp_semantic_t", "When an outgoing operation counts as complete.",
       "comp_semantic_t::memory"),
     A("mr", "mr_t", "Registration of the local buffer, or the kind of memory it is.",
       "mr_t()", may_be_empty=True),
     A("remote_disp", "uintptr_t", "Offset into the remote buffer.", "0"),
     A("rmr", "rmr_t", "Registration that holds the remote buffer; RMR_NULL: none.",
       "rmr_t()"),
     A("tag", "tag_t", "Tag: matched in send and receive, delivered otherwise.", "0"),
     A("remote_comp", "rcomp_t", "Remote completion handle to signal at the peer; 0: none.",
       "0"),
     A("user_context", "void*", "Comes back in the status.", "nullptr"),
     A("matching_policy", "matching_policy_t",
       "What send and receive are matched by; both sides name the same.",
       "matching_policy_t::rank_tag"),
     A("layout", "const layout_t*",
       "Where the bytes lie in the local buffer; null: in one piece. `size` is that of the layout. Pieces that are "
       "read may overlap. Those that are written must not, and all must be memory of the process: it is seen where "
       "calls are checked; else a byte that is written twice is one of the two, and what else is there is undefined.",
       "nullptr", source="ours"),
     A("remote_layout", "const layout_t*",
       "Where the bytes lie from `remote_disp` on; null: in one piece. A list of remote segments has "
       "registrations of its own: `rmr` is RMR_NULL then, and `remote_disp` 0. Pieces must not overlap where they are "
       "written, as in `layout`.", "nullptr", source="ours"),
     A("stream", "stream_t",
       "Stream in whose order an active message is delivered; empty: in no order.",
       "stream_t()", may_be_empty=True, source="ours"),
     A("operation", "operation_t*",
       "Where the operation's name for `cancel` goes: empty unless the answer is `posted`; null: "
       "nowhere.", "nullptr", source="ours"),
     A("deadline", "double",
       "Seconds after which it is cancelled, and ends as `timed_out`; negative: never.", "-1",
       source="ours"),
     A("allow_done", "bool",
       "Whether `done` may be returned; if not, the completion object is always signalled.",
       "true"),
     A("allow_posted", "bool", "Whether `posted` may be returned; if not, the call waits.",
       "true"),
     A("allow_retry", "bool",
       "Whether a retry code may be returned; if not, the request waits in the backlog.",
       "true")),
    source="3.2.4", group=_G, result=_STATUS)

_CONST = ("local_buffer", "const void*")
_FROM = ("local_buffer", "Memory to send from.")
_INTO = ("local_buffer", "Memory to receive into.")
# A put to, or get from, this rank itself.
_APART = (" Of the own rank it must not overlap the remote memory, which is seen where calls are checked; else the "
          "bytes that both have are undefined.")
_REGISTRATION = ("rmr", "Registration of the target. One of another runtime, or that the target has ended, leads nowhere: "
                 "the operation ends as `fatal`; or to what lies there now, where the network looks up no keys.")
_OFFSET = ("remote_disp", "Offset into the registered range.")
_SIGNAL = ("remote_comp", "Remote completion handle to signal at the target; 0: none.")
_DELIVERED = ("tag", "Delivered with the signal.")
_UNMATCHED = ("direction", "matching_engine", "matching_policy")
_UNORDERED = ("stream",)

_BY_NAME = {x.name: x for x in post_comm.positional + post_comm.optional}

OPERATIONS = (
    post_comm,
    Derived("post_am", "post_comm",
            "Posts an active message: the target's completion object gets the data.",
            ("rank", "local_buffer", "size", "local_comp", "remote_comp"),
            _UNMATCHED + ("remote_disp", "rmr", "remote_layout"), (_CONST,),
            (_FROM, ("rank", "The target."), ("size", "Bytes to send."),
             ("remote_comp", "Remote completion handle of the target."),
             ("tag", "Delivered with the message.")),
            source="3.2.4", result=_STATUS, group=_G, direct="am"),
    Derived("post_send", "post_comm", "Posts a send, to be matched by a receive of the target.",
            ("rank", "local_buffer", "size", "tag", "local_comp"),
            ("direction", "remote_disp", "rmr", "remote_comp", "remote_layout") + _UNORDERED, (_CONST,),
            (_FROM, ("rank", "The target."), ("size", "Bytes to send."),
             ("tag", "Tag to be matched.")),
            source="3.2.4", result=_STATUS, group=_G, direct="send"),
    Derived("post_recv", "post_comm",
            "Posts a receive. A longer message is cut to the buffer: `done_truncated`.",
            ("rank", "local_buffer", "size", "tag", "local_comp"),
            ("direction", "remote_disp", "rmr", "remote_comp", "remote_layout") + _UNORDERED, (),
            (_INTO, ("rank", "The source, or ANY_SOURCE."), ("size", "Size of the buffer."),
             ("tag", "Tag to be matched, or ANY_TAG.")),
            source="3.2.4", result=_STATUS, group=_G, direct="recv"),
    Derived("post_put", "post_comm", "Posts a write to registered memory of the target.",
            ("rank", "local_buffer", "size", "local_comp", "remote_disp", "rmr"),
            _UNMATCHED + _UNORDERED, (_CONST,),
            (("local_buffer", "Memory to write from." + _APART), ("rank", "The target."), ("size", "Bytes to write."),
             _OFFSET, _REGISTRATION, _SIGNAL, _DELIVERED),
            source="3.2.4", result=_STATUS, group=_G, direct="put"),
    Derived("post_get", "post_comm", "Posts a read from registered memory of the target.",
            ("rank", "local_buffer", "size", "local_comp", "remote_disp", "rmr"),
            _UNMATCHED + _UNORDERED, (),
            (("local_buffer", "Memory to read into." + _APART), ("rank", "The target."), ("size", "Bytes to read."),
             _OFFSET, _REGISTRATION, _SIGNAL, _DELIVERED),
            source="3.2.4", result=_STATUS, group=_G, direct="get"),
    Op("cancel", "bool",
       "Asks that an operation end. It ends once all the same: as `cancelled`, or as it would have "
       "ended if it is too late. What has ended already, and the empty name, are no errors.",
       (A("operation", "operation_t", "What a post's `operation` has given."),),
       source="ours", group=_G,
       result="Whether it was under way, and had neither been cancelled nor reached its deadline."),
    Op("post_flush", "status_t",
       "Posts a flush: it ends when all puts, gets and atomics that were posted before it through "
       "the device, and all messages that were `posted`, have ended, at the target too where their "
       "`comp_semantic` says so.",
       (A("rank", "int", "The target, or ALL_RANKS."), _BY_NAME["local_comp"]),
       (a.runtime, a.device, a.endpoint, _BY_NAME["user_context"], _BY_NAME["allow_done"],
        _BY_NAME["allow_posted"]),
       source="ours", group=_G,
       result="`done` (there was nothing to wait for), or `posted` (`local_comp` will be signalled; "
       "`fatal` if the target has failed)."),
)
