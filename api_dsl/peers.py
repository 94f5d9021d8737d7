"""Peers outside of the job: processes that were not started together."""

from api_dsl import arguments as a
from api_dsl.schema import Argument as A, Operation as Op

_G = "Peers outside of the job"
_OURS = "ours"

OPERATIONS = (
    Op("get_address", "std::string",
       "Returns the text with which runtimes of other processes connect to this one, whose attribute `max_peers` "
       "must leave room for them: a URL of the attribute `peer_listen` if that is set, else `shm://...` for "
       "processes of the same user on this host. It is printable, without blanks, and valid as long as the runtime; the "
       "program passes it to the other processes. Thread-safe.",
       (), (a.runtime, a.net_context), source=_OURS, group=_G, result="The address."),
    Op("connect", "status_t",
       "Connects with the runtime of an address. Each side gets an id of the other, which posts take as `rank`; both "
       "sides must make progress. Each connection has ids of its own. Without a completion object the call blocks, "
       "and throws peer_failure_error if that process has ended or does not answer in time, resource_error if it "
       "refuses. Peers at tcp://HOST:PORT or ofi+PROVIDER://HOST:PORT that are on this host are reached by shared "
       "memory if they can be. A host's "
       "name is looked up by the calling thread, which may take long. Thread-safe.",
       (A("address", "std::string", "The result of get_address() there, or a URL of its `peer_listen`."),),
       (a.runtime, a.device,
        A("local_comp", "comp_t", "Signalled once with the id as `rank`, or with `fatal`; empty: the call blocks.",
          "comp_t()", may_be_empty=True),
        A("timeout", "double", "Time-out for the answer in seconds; negative: none.", "60"),
        A("user_context", "void*", "Any value; returned in the status.", "nullptr")),
       source=_OURS, group=_G,
       result="`done` with the id as `rank` (the own rank if the address is the runtime's own), or "
              "`posted`."),
    Op("disconnect", "void",
       "Ends a connection that either side has made. Outstanding operations with the peer end as `fatal` here and, "
       "after its next progress, there. The id is free once all devices have made progress, and is given to another "
       "peer as late as possible. Also for peers that have disconnected or died; no effect on an id that is free. "
       "Thread-safe, also in handlers.",
       (A("rank", "int", "Id of the peer."),), (a.runtime, a.device), source=_OURS, group=_G),
)
