"""Operations on completion objects and remote completion handles."""

from api_dsl import arguments as a
from api_dsl.schema import Argument as A, Operation as Op

_C = "Completion objects"
_S = "Synchronizer"
_N = "Counter"
_Q = "Completion queue"
_G = "Completion graph"
_R = "Remote completion"


def _alloc(what, doc, group, positional=(), optional=(a.runtime_on_demand,), aliases=(),
           source="3.2.5"):
    return Op(f"alloc_{what}", "comp_t", doc, positional, optional + (a.name, a.user_context),
              source=source, resource="comp", fixed=(("comp_type", what),),
              setter_aliases=aliases, group=group,
              result="The completion object; free it with free_comp.")


_WAITS = (a.do_progress, a.park, a.device_for_progress, a.runtime_on_demand)
_RT = (a.runtime_on_demand,)
_node = A("node", "graph_node_t", "The node.")

OPERATIONS = (
    Op("free_comp", "void", "Frees a completion object and ends its registrations for remote completion; the handle "
                            "becomes empty. Not while an operation may still signal it.",
       (A("comp", "comp_t*", "Handle of the object."),), _RT, source="3.2.5", group=_C),
    Op("comp_signal", "void", "Signals a completion object, as the completion of an operation would. Thread-safe.",
       (a.comp, A("status", "status_t", "The status that the object gets.")), _RT, source="3.2.5",
       group=_C),

    Op("check_status", "void",
       "Throws the reason why an operation has ended as `fatal` or `no_memory`: peer_failure_error, or "
       "resource_error if the system refused it or its target had no memory for it. Does nothing if it ended "
       "otherwise.",
       (A("status", "status_t", "Status of an operation that was posted to the device."),),
       (a.runtime, a.device), source="ours", group=_C),

    _alloc("sync", "Allocates a synchronizer, which is ready after `threshold` signals.", _S,
           aliases=(("threshold", "sync_threshold"),)),
    Op("sync_test", "bool",
       "Tests whether a synchronizer is ready; if so, takes its statuses and resets it. Makes no progress.",
       (a.comp, a.p_out), _RT, source="3.2.5", group=_S, result="Whether it was ready."),
    Op("sync_wait", "void", "Waits, without a time-out, until a synchronizer is ready, takes its statuses and resets "
                            "it.",
       (a.comp, a.p_out), (a.runtime_on_demand, a.do_progress, a.device_for_progress), group=_S),
    Op("sync_wait_for", "bool", "As sync_wait, with a time-out.",
       (a.comp, a.timeout, a.p_out), _WAITS, source="ours", group=_S,
       result="Whether it became ready; if so, it was reset."),

    _alloc("counter", "Allocates a counter of signals.", _N, source="v2"),
    Op("counter_get", "int64_t", "Reads a counter. Thread-safe.", (a.comp,), _RT, group=_N,
       result="The number of signals since the allocation, or the value of the last counter_set plus the signals "
              "since."),
    Op("counter_set", "void", "Sets a counter. Thread-safe.",
       (a.comp, A("value", "int64_t", "The new value.")), _RT, group=_N),
    Op("counter_wait_for", "bool", "Waits for a counter to reach a value, with a time-out.",
       (a.comp, A("value", "int64_t", "The value."), a.timeout), _WAITS, source="ours", group=_N,
       result="Whether the counter is at least `value`."),

    _alloc("cq", "Allocates a completion queue of statuses. Any number of threads may signal and pop.", _Q,
           aliases=(("default_length", "cq_default_length"),)),
    Op("cq_pop", "status_t",
       "Pops a status from a completion queue, in the order that its `cq_type` guarantees. Thread-safe; makes no "
       "progress.",
       (a.comp,), _RT,
       source="3.2.5", group=_Q, result="The status; a retry code if the queue is empty."),
    Op("cq_pop_many", "size_t",
       "Pops several statuses from a completion queue, at less cost than as many calls of cq_pop. Thread-safe; makes "
       "no progress.",
       (a.comp, A("max_pops", "size_t", "Largest number of statuses to pop."),
        A("statuses", "status_t*", "Array for `max_pops` statuses.")), _RT,
       source="ours", group=_Q,
       result="The number of statuses popped: fewer than `max_pops` if the queue has no more, 0 if it is empty."),
    Op("cq_wait_for", "status_t",
       "As cq_pop, but waits for a status, with a time-out.",
       (a.comp, a.timeout), _WAITS, source="ours", group=_Q,
       result="The status; a retry code after the time-out."),

    _alloc("handler", "Allocates a completion object that calls a function.", "Handler",
           (A("handler", "comp_handler_t",
              "The function; runs inside progress() or inside a post, in whichever thread calls that. It should be "
              "short and may post."),)),

    Op("alloc_am_handler", "comp_t",
       "Allocates a completion object that calls a function with an active message: the cheapest way to handle small "
       "ones. Payloads are delivered where they arrived, as with `am_in_place`. For remote completion: the function gets "
       "no error, and is not called at the end of an operation that has failed.",
       (A("handler", "am_handler_t",
          "The function; runs inside progress() or inside a post, in whichever thread calls that. It should be short."),),
       (a.runtime_on_demand, a.name, a.user_context), source="ours", resource="comp", fixed=(("comp_type", "handler"),),
       group="Handler", result="The completion object; free it with free_comp."),
    _alloc("graph", "Allocates a completion graph: operations and functions with a partial order. One thread at a "
                    "time changes and starts an idle graph.", _G, (),
           (A("comp", "comp_t",
              "Signalled when a run has ended, as `done` or as its first operation that failed; the graph then frees "
              "itself. COMP_NULL: use graph_test.", "comp_t()", may_be_empty=True), a.runtime_if_any)),
    Op("graph_add_node", "graph_node_t", "Adds a function to a graph.",
       (a.graph, A("fn", "graph_node_run_cb_t",
                   "The function: returns done, retry to be called again, or posted if graph_node_mark_complete "
                   "follows. GRAPH_NODE_DUMMY_CB: no work.")),
       (A("value", "void*", "Argument of the function.", "nullptr"),
        A("free_cb", "graph_node_free_cb_t", "Called with the value when the graph is freed.",
          "nullptr"), a.runtime_on_demand), source="3.2.5", group=_G, result="The node."),
    Op("graph_add_edge", "void", "Adds an edge: one node of a graph ends before another one begins.",
       (a.graph, A("src", "graph_node_t", "The node that ends first; may be GRAPH_START."),
        A("dst", "graph_node_t", "The node that begins afterwards; may be GRAPH_END.")),
       (A("fn", "graph_edge_run_cb_t", "Called between the two.", "nullptr"),
        a.runtime_on_demand), source="3.2.5", group=_G),
    Op("graph_node_mark_complete", "void", "Completes a node whose function has returned posted, or will return it. "
                                           "Thread-safe.",
       (_node,),
       (A("status", "status_t", "Status that the functions of outgoing edges get.", "status_t()"),
        a.runtime_on_demand), group=_G),
    Op("graph_start", "void", "Starts a run of a graph.", (a.graph,), _RT, source="3.2.5",
       group=_G),
    Op("graph_test", "status_t",
       "Tests whether a run of a graph has ended. A node that fails ends the run early: nodes that have not begun "
       "are skipped. Makes no progress.", (a.graph,), _RT,
       source="3.2.5", group=_G,
       result="`done`, a retry code, or `fatal`, `cancelled`, `timed_out` or `no_memory` with the rank of the "
              "operation that ended so; throws what a node's function threw."),
    Op("graph_wait_for", "status_t", "Waits for a run of a graph to end, with a time-out.",
       (a.graph, a.timeout), _WAITS, source="ours", group=_G,
       result="As graph_test; a retry code after the time-out."),

    Op("reserve_rcomps", "rcomp_t",
       "Reserves consecutive remote completion handles, for register_rcomp with `rcomp`.",
       (A("n", "rcomp_t", "Number of handles."),), (a.runtime,), group=_R, result="The first of them."),
    Op("register_rcomp", "rcomp_t",
       "Registers a completion object, so that other ranks can name it by number. Ranks that register in the same "
       "order get the same numbers, from 1 upward; after 4096 registrations, if they also deregister in the same order. "
       "COMP_NULL gets a number, too: messages to it are dropped. So are messages that arrive before the registration: a "
       "barrier after it ensures that none does. Graphs are refused.",
       (a.comp,), (a.runtime, A("rcomp", "rcomp_t",
                                "A reserved number to register under; 0: a new one.", "0"),
                   A("allocator", "allocator_base_t*",
                     "Allocates the buffers in which active messages for this handle are delivered, in whichever "
                     "thread makes progress. It must live until the registration has ended and all its buffers are "
                     "freed. Null: the runtime's (set_allocator). Not for objects with `zero_copy_am`.", "nullptr",
                     source="ours")),
       source="3.2.3", group=_R, result="The number. Other ranks need it to post to the object."),
    Op("deregister_rcomp", "void",
       "Ends a registration; messages that still name its number are dropped. Freeing the object also ends it; then "
       "the call does nothing.",
       (A("rcomp", "rcomp_t", "The number."),), (a.runtime,), source="3.2.3", group=_R),
    Op("set_undelivered", "void",
       "Sets the object that is signalled for each message, and each signal of a put or a get, to a handle that is not "
       "registered. The message is dropped all the same. The status has error `fatal`, the sender as rank, "
       "size, tag, no buffer, and the handle as user_context. The object must be replaced before it is freed. Graphs "
       "are refused.",
       (A("comp", "comp_t", "The object; empty: none.", may_be_empty=True),), (a.runtime,), source="ours", group=_R),
)
