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
              result="The completion object; to be freed with free_comp.")


_WAITS = (a.do_progress, a.park, a.device_for_progress, a.runtime_on_demand)
_RT = (a.runtime_on_demand,)
_node = A("node", "graph_node_t", "The node.")

OPERATIONS = (
    Op("free_comp", "void", "Frees a completion object; the handle becomes empty.",
       (A("comp", "comp_t*", "Handle of the object."),), _RT, source="3.2.5", group=_C),
    Op("comp_signal", "void", "Signals a completion object, as the end of an operation would.",
       (a.comp, A("status", "status_t", "The status that it is told.")), _RT, source="3.2.5",
       group=_C),

    Op("check_status", "void",
       "Throws what is known of an operation that has ended as `fatal` or `no_memory`: "
       "peer_failure_error, or resource_error if the system refused it or its target had no memory for "
       "it. Does nothing if it ended otherwise.",
       (A("status", "status_t", "Status of an operation that was posted to the device."),),
       (a.runtime, a.device), source="ours", group=_C),

    _alloc("sync", "Allocates a synchronizer: ready after a number of signals.", _S,
           aliases=(("threshold", "sync_threshold"),)),
    Op("sync_test", "bool",
       "Asks whether a synchronizer is ready; if so, takes its statuses and resets it.",
       (a.comp, a.p_out), _RT, source="3.2.5", group=_S, result="Whether it was ready."),
    Op("sync_wait", "void", "Waits until a synchronizer is ready, and resets it.",
       (a.comp, a.p_out), (a.runtime_on_demand, a.do_progress, a.device_for_progress), group=_S),
    Op("sync_wait_for", "bool", "Waits for a synchronizer, for a limited time.",
       (a.comp, a.timeout, a.p_out), _WAITS, source="ours", group=_S,
       result="Whether it became ready; if so, it was reset."),

    _alloc("counter", "Allocates a counter of signals.", _N, source="v2"),
    Op("counter_get", "int64_t", "Reads a counter.", (a.comp,), _RT, group=_N,
       result="Signals since it was allocated, or since counter_set, plus what that set."),
    Op("counter_set", "void", "Sets a counter.",
       (a.comp, A("value", "int64_t", "The new value.")), _RT, group=_N),
    Op("counter_wait_for", "bool", "Waits for a counter to reach a value, for a limited time.",
       (a.comp, A("value", "int64_t", "The value."), a.timeout), _WAITS, source="ours", group=_N,
       result="Whether the counter is at least `value`."),

    _alloc("cq", "Allocates a completion queue.", _Q,
           aliases=(("default_length", "cq_default_length"),)),
    Op("cq_pop", "status_t",
       "Takes a status from a completion queue: the next one in the order that its `cq_type` keeps.",
       (a.comp,), _RT,
       source="3.2.5", group=_Q, result="The status; a retry code if the queue is empty."),
    Op("cq_pop_many", "size_t",
       "Takes several statuses from a completion queue, as many calls of cq_pop would, but cheaper.",
       (a.comp, A("max_pops", "size_t", "How many to take at most."),
        A("statuses", "status_t*", "Where they go: room for `max_pops`.")), _RT,
       source="ours", group=_Q,
       result="How many were taken: fewer than `max_pops` if the queue has no more, 0 if it is empty."),
    Op("cq_wait_for", "status_t",
       "Takes a status from a completion queue, as cq_pop, waiting for one for a limited time.",
       (a.comp, a.timeout), _WAITS, source="ours", group=_Q,
       result="The status; a retry code if the time ran out."),

    _alloc("handler", "Allocates a completion object that calls a function.", "Handler",
           (A("handler", "comp_handler_t",
              "The function; runs inside progress() or inside a post, should be short, and may "
              "post."),)),

    _alloc("graph", "Allocates a completion graph: operations with a partial order.", _G, (),
           (A("comp", "comp_t",
              "Signalled when a run has ended, `done` or as its first operation that failed; the graph "
              "then frees itself. "
              "COMP_NULL: use graph_test.", "comp_t()", may_be_empty=True), a.runtime_if_any)),
    Op("graph_add_node", "graph_node_t", "Adds a function to a graph.",
       (a.graph, A("fn", "graph_node_run_cb_t",
                   "The function: says done, or posted if graph_node_mark_complete follows. "
                   "GRAPH_NODE_DUMMY_CB: there is nothing to do.")),
       (A("value", "void*", "What the function is called with.", "nullptr"),
        A("free_cb", "graph_node_free_cb_t", "Frees the value together with the graph.",
          "nullptr"), a.runtime_on_demand), source="3.2.5", group=_G, result="The node."),
    Op("graph_add_edge", "void", "Makes one node of a graph run before another one.",
       (a.graph, A("src", "graph_node_t", "The one to run first; may be GRAPH_START."),
        A("dst", "graph_node_t", "The other one; may be GRAPH_END.")),
       (A("fn", "graph_edge_run_cb_t", "Runs between the two.", "nullptr"),
        a.runtime_on_demand), source="3.2.5", group=_G),
    Op("graph_node_mark_complete", "void", "Completes a node whose function has said posted.",
       (_node,),
       (A("status", "status_t", "Status that the edges after it are told.", "status_t()"),
        a.runtime_on_demand), group=_G),
    Op("graph_start", "void", "Starts a run of a graph.", (a.graph,), _RT, source="3.2.5",
       group=_G),
    Op("graph_test", "status_t",
       "Asks whether a run of a graph has ended. A node that fails ends the run early: nodes that "
       "have not been started are skipped.", (a.graph,), _RT,
       source="3.2.5", group=_G,
       result="`done`, a retry code, or `fatal`, `cancelled`, `timed_out` or `no_memory` with the rank of the "
              "operation that ended so; throws what a node's function threw."),
    Op("graph_wait_for", "status_t", "Waits for a run of a graph to end, for a limited time.",
       (a.graph, a.timeout), _WAITS, source="ours", group=_G,
       result="As graph_test; a retry code if the time ran out."),

    Op("reserve_rcomps", "rcomp_t",
       "Reserves consecutive remote completion handles, to be registered by number.",
       (A("n", "rcomp_t", "How many."),), (a.runtime,), group=_R, result="The first of them."),
    Op("register_rcomp", "rcomp_t",
       "Makes a completion object known to other ranks by number. Ranks that register in the "
       "same order get the same numbers, from 1 upward. COMP_NULL gets a number, too: messages to it "
       "are dropped and counted.",
       (a.comp,), (a.runtime, A("rcomp", "rcomp_t",
                                "A reserved number to register under; 0: a new one.", "0"),
                   A("allocator", "allocator_base_t*",
                     "Allocates the buffers in which active messages for this handle are delivered, in "
                     "whichever thread makes progress. It must stay until the registration has ended and it has got "
                     "back all that it gave. "
                     "Null: the runtime's (set_allocator). Not for objects with `zero_copy_am`.", "nullptr",
                     source="ours")),
       source="3.2.3", group=_R, result="The number, to be sent to or agreed with the others."),
    Op("deregister_rcomp", "void",
       "Ends a registration; messages that still name it are dropped and counted.",
       (A("rcomp", "rcomp_t", "The number."),), (a.runtime,), source="3.2.3", group=_R),
)
