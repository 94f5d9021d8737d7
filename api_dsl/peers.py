"""Peers outside of the job: processes that were not started together."""

from api_dsl import arguments as a
from api_dsl.schema import Argument as A, Operation as Op

_G = "Peers outside of the job"
_OURS = "ours"

OPERATIONS = (
    Op("get_address", "std::string",
       "Gives the text by which runtimes of other processes connect to this one, whose attribute "
       "`max_peers` must leave room for them. Printable, without blanks; how it gets there is the "
       "program's business. Valid as long as the runtime. Thread-safe.",
       (), (a.runtime, a.net_context), source=_OURS, group=_G, result="The address."),
    Op("connect", "status_t",
       "Connects with the runtime of an address. It gets an id, which posts take as `rank`, and "
       "so does this runtime there; both sides have to make progress. Each connection has ids of its "
       "own. Without a completion object it waits, and throws peer_failure_error if that process "
       "has ended or does not answer in time, resource_error if it refuses. Thread-safe.",
       (A("address", "std::string", "What get_address() gave there."),),
       (a.runtime, a.device,
        A("local_comp", "comp_t", "Signalled once with the id as `rank`, or with `fatal`; empty: wait.",
          "comp_t()", may_be_empty=True),
        A("timeout", "double", "Seconds to wait for the answer at most; negative: for ever.", "60"),
        A("user_context", "void*", "Comes back in the status.", "nullptr")),
       source=_OURS, group=_G,
       result="`done` with the id as `rank` (the own rank if the address is the runtime's own), or "
              "`posted`."),
    Op("disconnect", "void",
       "Ends a connection that either side has made. Operations with the peer that are under way end as "
       "`fatal` here and, after its next progress, there. The id is free once all devices have made "
       "progress, and is given to another peer as late as possible. Also for peers that have left or "
       "died; no effect on an id that is free. Thread-safe, also in handlers.",
       (A("rank", "int", "Id of the peer."),), (a.runtime, a.device), source=_OURS, group=_G),
)
