"""Posting of communication: one generic operation, and those derived from it (paper, Table 1)."""

from api_dsl import arguments as a
from api_dsl.schema import Argument as A, Derived, Operation as Op

_G = "Communication"
_STATUS = ("`done` (complete, nothing will be signalled), `posted` (`local_comp` will be signalled once), or a retry "
           "code (nothing happened). Throws invalid_argument_error for misuse, peer_failure_error if the peer has "
           "failed.")

post_comm = Op(
    "post_comm", "status_t",
    "Posts a communication. Direction, remote buffer and remote completion select the operation: OUT is a send, with "
    "a remote completion an active message, with a remote buffer a put, with both a put with signal; IN is a "
    "receive, with a remote buffer a get, with both a get with signal. Thread-safe.",
    (A("direction", "direction_t", "OUT: local to remote; IN: remote to local."),
     A("rank", "int", "The peer; receives also take ANY_SOURCE."),
     A("local_buffer", "void*", "Memory to send from or to receive into."),
     A("size", "size_t", "Number of bytes to move; for a receive, the size of the buffer."),
     A("local_comp", "comp_t", "Signalled once when the operation has completed; not if the post returns `done`.",
       may_be_empty=True)),
    (a.runtime, a.device, a.endpoint, a.device_packet_pool, a.matching_engine,
     A("comp_semantic", "comp_semantic_t", "When an outgoing operation is complete.",
       "comp_semantic_t::memory"),
     A("mr", "mr_t", "Registration of the local buffer with the device, or the kind of its memory.",
       "mr_t()", may_be_empty=True),
     A("remote_disp", "uintptr_t", "Offset into the registered range `rmr`, in bytes.", "0"),
     A("rmr", "rmr_t", "Registration of the remote buffer; RMR_NULL: none.",
       "rmr_t()"),
     A("tag", "tag_t", "Tag; matched by sends and receives, delivered to the target otherwise.", "0"),
     A("remote_comp", "rcomp_t", "Remote completion handle to signal at the peer; 0: none.",
       "0"),
     A("user_context", "void*", "Any value; returned in the status.", "nullptr"),
     A("matching_policy", "matching_policy_t",
       "Which of rank and tag a send and a receive are matched by; both sides name the same policy.",
       "matching_policy_t::rank_tag"),
     A("layout", "const layout_t*",
       "Where the bytes are in the local buffer; null: contiguous. `size` is that of the layout. Pieces that are "
       "read may overlap. Pieces that are written must not, and all must be memory of the process. The checking mode "
       "detects both; otherwise a byte written twice has one of the two values, and other errors are undefined "
       "behaviour.",
       "nullptr", source="ours"),
     A("remote_layout", "const layout_t*",
       "Where the bytes are from `remote_disp` on; null: contiguous. A list of remote segments has registrations of "
       "its own: `rmr` is RMR_NULL then, and `remote_disp` 0. Pieces that are written must not overlap, as in "
       "`layout`.", "nullptr", source="ours"),
     A("allocate", "bool",
       "Whether a receive gets memory of the message's size when it matches one. `local_buffer` is null and `size` 0 "
       "then, and there is no `layout`; the status has the buffer, which the program frees like that of an active "
       "message. Without memory the receive ends as `no_memory`, and so does a sender that waits for it.",
       "false", source="ours"),
     A("stream", "stream_t",
       "Stream in whose order an active message is delivered; empty: unordered.",
       "stream_t()", may_be_empty=True, source="ours"),
     A("ordered", "bool",
       "Whether a put is placed in order: its data is in the target's memory before that of any ordered put, and before "
       "any message is delivered, that is posted to the same target through the same device after this post has "
       "returned. Gets, atomics, other puts and signals of puts that are posted later are not ordered behind it, nor is "
       "it behind messages that were posted before. Costs no round trip. Throws invalid_argument_error if the device's "
       "`ordered_puts` is false.",
       "false", source="ours"),
     A("operation", "operation_t*",
       "Receives the operation's name for `cancel`, empty unless the post returns `posted`; null: no name.",
       "nullptr", source="ours"),
     A("deadline", "double",
       "Seconds after which the operation is cancelled and ends as `timed_out`; negative: never.", "-1",
       source="ours"),
     A("allow_done", "bool",
       "Whether `done` may be returned; if not, the completion object is always signalled. Without effect if "
       "`allow_posted` is false or `local_comp` is not an object: then `done` is returned.",
       "true"),
     A("allow_posted", "bool", "Whether `posted` may be returned; if not, the call waits.",
       "true"),
     A("allow_retry", "bool",
       "Whether a retry code may be returned; if not, a request that can't be sent now waits in the backlog.",
       "true")),
    source="3.2.4", group=_G, result=_STATUS)

_CONST = ("local_buffer", "const void*")
_FROM = ("local_buffer", "Memory to send from.")
_INTO = ("local_buffer", "Memory to receive into.")
# For a put to, or get from, this rank itself.
_APART = (" On the own rank it must not overlap the remote memory; the checking mode detects that, otherwise the "
          "common bytes are undefined.")
_REGISTRATION = ("rmr", "Registration of the target. With one of another runtime, or one that the target has ended, "
                        "the operation ends as `fatal`; networks that check no keys access what is at that address "
                        "now.")
_OFFSET = ("remote_disp", "Offset into the registered range, in bytes.")
_SIGNAL = ("remote_comp", "Remote completion handle to signal at the target; 0: none.")
_DELIVERED = ("tag", "Delivered to the target with the signal.")
_UNMATCHED = ("direction", "matching_engine", "matching_policy")
_UNORDERED = ("stream",)
_GIVEN = ("allocate",)  # all but receives
_PLACED = ("ordered",)  # all but puts

_BY_NAME = {x.name: x for x in post_comm.positional + post_comm.optional}

OPERATIONS = (
    post_comm,
    Derived("post_am", "post_comm",
            "Posts an active message: the target's completion object gets the data. Unordered, unless it has a "
            "`stream`. Thread-safe.",
            ("rank", "local_buffer", "size", "local_comp", "remote_comp"),
            _UNMATCHED + _GIVEN + _PLACED + ("remote_disp", "rmr", "remote_layout"), (_CONST,),
            (_FROM, ("rank", "The target."), ("size", "Number of bytes to send."),
             ("remote_comp", "Remote completion handle that the target has registered."),
             ("tag", "Delivered to the target with the message.")),
            source="3.2.4", result=_STATUS, group=_G, direct="am"),
    Derived("post_send", "post_comm", "Posts a send, to be matched by a receive of the target. Thread-safe.",
            ("rank", "local_buffer", "size", "tag", "local_comp"),
            ("direction", "remote_disp", "rmr", "remote_comp", "remote_layout") + _UNORDERED + _GIVEN + _PLACED,
            (_CONST,),
            (_FROM, ("rank", "The target."), ("size", "Number of bytes to send."),
             ("tag", "Tag to be matched.")),
            source="3.2.4", result=_STATUS, group=_G, direct="send"),
    Derived("post_recv", "post_comm",
            "Posts a receive. A longer message is truncated to the buffer and ends as `done_truncated`. Thread-safe.",
            ("rank", "local_buffer", "size", "tag", "local_comp"),
            ("direction", "remote_disp", "rmr", "remote_comp", "remote_layout") + _UNORDERED + _PLACED, (),
            (_INTO, ("rank", "The source, or ANY_SOURCE."), ("size", "Size of the buffer in bytes."),
             ("tag", "Tag to be matched, or ANY_TAG.")),
            source="3.2.4", result=_STATUS, group=_G, direct="recv"),
    Derived("post_put", "post_comm", "Posts a write to registered memory of the target, with `remote_comp` a put "
                                     "with signal. Throws if the range exceeds the registration. Thread-safe.",
            ("rank", "local_buffer", "size", "local_comp", "remote_disp", "rmr"),
            _UNMATCHED + _UNORDERED + _GIVEN, (_CONST,),
            (("local_buffer", "Memory to write from." + _APART), ("rank", "The target."),
             ("size", "Number of bytes to write."),
             _OFFSET, _REGISTRATION, _SIGNAL, _DELIVERED),
            source="3.2.4", result=_STATUS, group=_G, direct="put"),
    Derived("post_get", "post_comm", "Posts a read from registered memory of the target, with `remote_comp` a get "
                                     "with signal. Throws if the range exceeds the registration. Thread-safe.",
            ("rank", "local_buffer", "size", "local_comp", "remote_disp", "rmr"),
            _UNMATCHED + _UNORDERED + _GIVEN + _PLACED, (),
            (("local_buffer", "Memory to read into." + _APART), ("rank", "The target."),
             ("size", "Number of bytes to read."),
             _OFFSET, _REGISTRATION, _SIGNAL, _DELIVERED),
            source="3.2.4", result=_STATUS, group=_G, direct="get"),
    Op("cancel", "bool",
       "Requests that an operation end. It ends exactly once, as `cancelled`, or as it would have ended if the "
       "request is too late. A transfer that has begun may end only when its peer makes progress, which a deadline "
       "avoids, also one in years. An operation that has ended already, and the empty name, are no errors. "
       "Thread-safe, also in handlers.",
       (A("operation", "operation_t", "The name that a post has stored in its `operation`."),),
       source="ours", group=_G,
       result="Whether the operation was outstanding, and had neither been cancelled nor reached its deadline."),
    Op("post_flush", "status_t",
       "Posts a flush: it completes when all puts, gets and atomics that were posted before it through the device, "
       "and all messages whose post returned `posted`, have completed, at the target too if their `comp_semantic` is "
       "`remote`. Thread-safe.",
       (A("rank", "int", "The target, or ALL_RANKS."), _BY_NAME["local_comp"]),
       (a.runtime, a.device, a.endpoint, _BY_NAME["user_context"], _BY_NAME["operation"], _BY_NAME["deadline"],
        _BY_NAME["allow_done"], _BY_NAME["allow_posted"]),
       source="ours", group=_G,
       result="`done` (nothing was outstanding), or `posted` (`local_comp` will be signalled; `fatal` if the target "
              "has failed)."),
)
