"""Generates the cases of misuse from the interface: invalid values for every argument of every operation, and the
expected results. tests/misuse runs them; setting.hpp there defines the valid values."""

from dataclasses import dataclass, replace

from api_dsl import facts
from codegen import misuse_memory

# Operations without cases, and the reasons.
LEFT_OUT = {
    "abort": "ends the job",
    "g_runtime_init": "has the arguments of alloc_runtime",
    "g_runtime_fina": "has no arguments, and would free what the other cases use",
    "get_g_runtime": "has no arguments",
    "publish_memory": "is collective; tests/conformance/test_published.cpp misuses it",
    "unpublish_memory": "likewise",
}
# Operations that are always refused here, since the runtime has no external peers, counters or registration cache. So
# they have no case with valid arguments.
REFUSED_HERE = {"get_address", "connect", "disconnect", "get_reg_cache_stats", "get_histogram"}

# Valid values by operation and argument, by argument, and by type.
_RECEIVES = {"post_recv", "post_get", "net_post_recv", "net_post_get"}
GOOD_OF = {
    ("sync_test", "comp"): "s.ready_sync()", ("sync_wait", "comp"): "s.ready_sync()",
    ("sync_wait_for", "comp"): "s.ready_sync()",
    ("counter_get", "comp"): "s.counter", ("counter_set", "comp"): "s.fresh<comp_t>()",
    ("counter_wait_for", "comp"): "s.counter", ("counter_wait_for", "value"): "0",
    ("counter_set", "value"): "0", ("set_undelivered", "comp"): "comp_t()",
    ("cq_pop_many", "comp"): "s.queue", ("cq_pop_many", "statuses"): "&s.status",
    ("cq_pop_many", "max_pops"): "1", ("find_rmr", "address"): "s.buffer",
    ("get_histogram", "kind"): "operation_kind_t::put",
    ("cq_pop", "comp"): "s.queue", ("cq_wait_for", "comp"): "s.queue",
    ("comp_signal", "comp"): "s.fresh<comp_t>()", ("register_rcomp", "comp"): "s.fresh<comp_t>()",
    ("graph_add_node", "comp"): "s.graph_at_rest()", ("graph_start", "comp"): "s.graph_at_rest()",
    ("graph_test", "comp"): "s.graph_that_ran()", ("graph_wait_for", "comp"): "s.graph_that_ran()",
    ("graph_add_edge", "comp"): "graph", ("graph_add_edge", "src"): "GRAPH_START",
    ("graph_add_edge", "dst"): "s.node_of(graph)",
    ("graph_add_node", "fn"): "run_node",
    ("register_rcomp", "rcomp"): "0", ("deregister_rcomp", "rcomp"): "reserve_rcomps_x(1).runtime(s.rt)()",
    ("register_memory", "address"): "s.buffer",
    ("matching_engine_insert", "value"): "s.buffer",
    ("is_upacket", "packet"): "s.buffer",
    ("put_upacket", "packet"): "get_upacket_x().runtime(s.rt)()",
    ("connect", "address"): 'std::string("shm://nowhere")',
    ("get_rmr", "mr"): "s.mr", ("get_mr_base", "mr"): "s.mr", ("is_mr_current", "mr"): "s.mr",
    ("progress_thread_add_device", "device"): "s.fresh<device_t>()",
    ("register_packet_pool", "packet_pool"): "s.fresh<packet_pool_t>()",
    ("deregister_packet_pool", "packet_pool"): "registered",
    ("progress_thread_remove_device", "device"): "served",
}
BEFORE = {
    "graph_add_edge": "const comp_t graph = s.graph_at_rest();",
    "deregister_packet_pool": "const packet_pool_t registered = s.fresh<packet_pool_t>();\n"
                              "  register_packet_pool(registered, s.device);",
    "progress_thread_remove_device": "const device_t served = s.fresh<device_t>();\n"
                                     "  progress_thread_add_device(s.thread, served);",
}
GOOD_BY_NAME = {
    "direction": "direction_t::OUT", "rank": "0", "root": "0", "local_comp": "s.counter", "tag": "1",
    "remote_comp": "s.rcomp", "remote_disp": "0", "offset": "0", "sendbuf": "s.buffer",
    "recvbuf": "s.result", "buffer": "s.buffer", "local_buffer": "s.buffer", "operand": "s.buffer",
    "result": "s.result", "count": "1", "recvcount": "1", "item_size": "8", "size": "8",
    "timeout": "0.0", "p_out": "&s.status", "max_polls": "4", "statuses": "s.net_statuses",
    "n": "1", "key": "1", "allocator": "nullptr", "handler": "handle_status", "node": "s.node_that_waits()",
    "mr": "MR_HOST",
}
GOOD_BY_TYPE = {
    "rmr_t": "s.rmr", "device_t": "s.device", "packet_pool_t": "s.pool", "matching_engine_t": "s.engine",
    "symmetric_t": "s.symmetric", "progress_thread_t": "s.thread", "status_t": "status_t(errorcode_t::done)",
    "reduce_op_t": "combine", "atomic_op_t": "atomic_op_t::add", "operation_t": "operation_t()",
    "matching_entry_type_t": "matching_entry_type_t::send", "runtime_t": "s.rt",
    "am_handler_t": "handle_message",
}

# Values just outside of the range of an argument, and far outside, by the kind of its fact (api_dsl/facts.py).
_HUGE = (("2^63", "two_to_63"), ("the largest", "~size_t{0}"))
_INTS = (("one too many", "1"), ("the largest", "std::numeric_limits<int>::max()"),
         ("the smallest", "std::numeric_limits<int>::min()"))
OUTSIDE = {
    "rank": (("-2", "-2"),) + _INTS,
    "root": (("-1", "-1"),) + _INTS,
    "tag": (("max_tag + 1", "s.rt.get_attr_max_tag() + 1"), ("2^63", "two_to_63")),
    "bytes": _HUGE,
    "pieces": (("-1", "-1"),),
    "offset": (("one too many", "setting::window_size - 7"),) + _HUGE,
    "atomic offset": (("one too many", "setting::window_size - 7"), ("misaligned", "1")) + _HUGE,
    "alignment": (("0", "0"), ("3", "3"), ("2^63", "two_to_63")),
    "remote completion": (("0", "0"),),
    "reserved handle": (("not reserved", "0xffffff"), ("the largest", "~rcomp_t{0}")),
    "registered handle": (("0", "0"), ("the largest", "~rcomp_t{0}")),
    "counter value": (("2^62", "int64_t{1} << 62"), ("-2^62 - 1", "-(int64_t{1} << 62) - 1"),
                      ("the smallest", "std::numeric_limits<int64_t>::min()")),
    "number of handles": (("0", "0"), ("the largest", "~rcomp_t{0}")),
}
KINDS = {"sync_": "s.counter", "counter_": "s.queue", "cq_": "s.counter", "graph_": "s.counter"}
OF_OTHER = {"net_context_t", "device_t", "endpoint_t", "packet_pool_t", "matching_engine_t", "mr_t", "stream_t"}
# Types for which freed objects are not always detected; for all others they are (lib/base/objects.hpp).
NOT_ALWAYS_KNOWN = {"comp_t", "mr_t"}
DEFAULTS = {"net_context_t", "device_t", "endpoint_t", "packet_pool_t", "matching_engine_t"}


@dataclass(frozen=True)
class Case:
    operation: str
    argument: str
    value: str
    expected: str
    when: str
    code: str


class Cases:
    def __init__(self, model):
        self.model = model

    def all(self):
        for op in self.model.operations:
            if op.name in LEFT_OUT:
                continue
            if op.name not in REFUSED_HERE and self._good(op) is not None:
                yield self._case(op, "", "good values", "fine", "always", [])
            for f in op.fields:
                for case in self._of_argument(op, f):
                    yield case
                    yield from self._inline(op, case)
            if op.resource is not None:
                yield from self._of_attributes(op)
            for argument, value, setters, expected, before in misuse_memory.of_operation(op):
                yield from self._of_memory(op, argument, value, setters, expected, before)

    # --- calls ---

    def _good_value(self, op, f):
        if f.type.endswith("*") and f.type[:-1] in self.model.handles:
            return "&handle"
        found = GOOD_OF.get((op.name, f.name))
        if found is None and f.name == "local_buffer" and op.name in _RECEIVES:
            found = "s.result"
        if found is None:
            found = GOOD_BY_TYPE.get(f.type)
        if found is None:
            found = GOOD_BY_NAME.get(f.name)
        if found is None:
            raise KeyError(f"codegen/misuse.py: no good value for {op.name}.{f.name} ({f.type})")
        return found

    def _good(self, op):
        return [self._good_value(op, f) for f in op.positional]

    def _case(self, op, argument, value, expected, when, setters, handle=None, before=""):
        lines = []
        pointer = next((f for f in op.positional
                        if f.type.endswith("*") and f.type[:-1] in self.model.handles), None)
        if before:
            lines.append(before)
        if BEFORE.get(op.name):
            lines.append(BEFORE[op.name])
        if pointer is not None:
            kind = pointer.type[:-1]
            fresh = "alloc_shared_x(64).runtime(s.rt)()" if op.name == "free_shared" else f"s.fresh<{kind}>()"
            if handle != "none":
                lines.append(f"{kind} handle = {handle or fresh};")
        arguments = self._good(op)
        if handle == "none":
            arguments = ["nullptr" if a == "&handle" else a for a in arguments]
        call = f"auto op = {op.name}_x({', '.join(arguments)})"
        lines.append(call + ";")
        if any(f.name == "runtime" and not f.positional for f in op.optional):
            lines.append("op.runtime(s.rt);")
        if op.name == "get_counters":
            lines.append("op.device(s.counting);")
        if op.name == "wait_drained":
            lines.append("op.receives(false);")  # receives of other cases may still wait
        lines += [f"op.{name}({text});" for name, text in setters]
        lines.append("static_cast<void>(op());")
        return Case(op.name, argument, value, expected, when, "\n  ".join(lines))

    def _with(self, op, f, value, text, expected="refused", when="always"):
        if op.name in REFUSED_HERE and when == "always" and f.handle is None:
            expected = "either"  # may be refused for another reason, which is checked first
        return self._case(op, f.name, value, expected, when, [(f.name, text)])

    @staticmethod
    def _inline(op, case):
        """The same call where its functor tries a direct path (include/lci/direct.hpp), which must reject the same
        values: to a given device and, of one-sided operations, to memory that this process has mapped."""
        if op.direct and op.name != "progress" and case.argument not in ("runtime", "device"):
            code = case.code.replace("op.runtime(s.rt);", "op.device(s.device);").replace("s.rmr)", "s.shared_rmr)")
            yield replace(case, value=case.value + ", to a given device", code=code)

    # --- arguments ---

    def _of_argument(self, op, f):
        t = f.type
        fact = facts.of(op.name, f.name, t, f.positional, self.model.enums, self.model.handles)
        kind = fact.kind if fact else ""
        if kind == "handle to free":
            yield from self._of_pointer(op, f, t[:-1])
        elif f.handle is not None:
            yield from self._of_handle(op, f)
        elif kind == "enumerator":
            for number in ("-1", "77"):
                yield self._with(op, f, number, f"static_cast<{t}>({number})")
        elif kind == "seconds":
            yield self._with(op, f, "NaN", "not_a_number")
            yield self._with(op, f, "NaN with a sign", "negative_not_a_number")
        elif t == "rmr_t":
            if f.positional:
                yield self._with(op, f, "empty", "RMR_NULL")
        elif kind == "function":
            yield self._with(op, f, "null", "nullptr")
        elif kind == "buffer":
            yield self._with(op, f, "null", "nullptr")
            if t in ("void*", "const void*") and op.name not in REFUSED_HERE and f.name != "address":
                yield self._with(op, f, "misaligned", f"{self._good_value(op, f)} + 1", "fine")
        elif t == "const char*":
            yield self._with(op, f, "null", "nullptr", "either")
        else:
            for value, text in OUTSIDE.get(kind, ()):
                yield self._with(op, f, value, text)
            if kind == "remote completion if any":
                yield self._with(op, f, "a handle that is not registered", "~rcomp_t{0}", "fine")

    def _of_handle(self, op, f):
        t = f.type
        empty_is_refused = f.positional and (not f.argument.may_be_empty or f.name == "comp" or
                                             op.name in ("get_rmr", "get_mr_base", "is_mr_current",
                                                         "graph_node_mark_complete"))
        if op.name == "graph_add_edge" and f.name in ("src", "dst"):
            empty_is_refused = True
        if op.name in ("register_rcomp", "set_undelivered") and f.name == "comp":
            empty_is_refused = False  # the empty handle is valid: messages are dropped and counted
        if empty_is_refused:
            yield self._with(op, f, "empty", f"{t}()")
        if f.name == "comp":
            for prefix, other in KINDS.items():
                if op.name.startswith(prefix):
                    yield self._with(op, f, "of another kind", other)
            if empty_is_refused and f.positional:
                yield self._with(op, f, "a constant", "COMP_NULL_RETRY")
        if op.name == "graph_node_mark_complete" and f.name == "node":
            yield self._with(op, f, "the start of graphs", "GRAPH_START")
        yield self._with(op, f, "freed", f"s.freed<{t}>()", when="checked")
        # Progress on a given device needs no runtime, and ignores it.
        if t in OF_OTHER and (op.name, f.name) != ("progress", "device"):
            yield self._with(op, f, "of another runtime", f"s.of_other<{t}>()", when="checked")

    def _of_pointer(self, op, f, kind):
        yield self._case(op, f.name, "null", "refused", "always", [], handle="none")
        yield self._case(op, f.name, "to an empty handle", "refused", "always", [], handle=f"{kind}()")
        known = kind not in NOT_ALWAYS_KNOWN
        yield self._case(op, f.name, "to a copy of one whose object was freed", "refused",
                         "always" if known else "checked", [], handle=f"s.freed<{kind}>()")
        if kind in DEFAULTS:
            getter = f"get_default_{kind[:-2]}_x().runtime(s.rt)()"
            yield self._case(op, f.name, "to a default one of its runtime", "refused", "always", [],
                             handle=getter)

    def _of_memory(self, op, argument, value, setters, expected, before):
        if expected not in (misuse_memory.APART, misuse_memory.CHECKED):
            yield self._case(op, argument, value, expected, "always", setters, before=before)
            return
        yield self._case(op, argument, value, "refused", "checked", setters, before=before)
        if expected == misuse_memory.APART:
            yield self._case(op, argument, value, "fine", "unchecked", setters, before=before)

    # --- attributes ---

    def _of_attributes(self, op):
        for a in op.resource.attributes:
            if not a.settable or any(name == a.name for name, _ in op.fixed):
                continue

            def case(value, text, expected="refused"):
                return self._case(op, a.name, value, expected, "always", [(a.name, text)])

            enum = self.model.enums.get(a.type)
            if enum is not None:
                yield case("77", f"static_cast<{a.type}>(77)")
                continue
            if a.type == "double" and (a.minimum is not None or a.maximum is not None):
                yield case("NaN", "not_a_number")
            if a.type not in ("int", "size_t", "uint64_t", "double"):
                continue
            whole = a.type != "double"
            if a.minimum is not None and not (a.minimum == 0 and a.type in ("size_t", "uint64_t")):
                yield case("one too few" if whole else "too small",
                           repr(int(a.minimum) - 1 if whole else a.minimum - 1))
            if a.maximum is not None:
                yield case("one too many" if whole else "too large",
                           repr(int(a.maximum) + 1 if whole else a.maximum + 1))
                if a.type in ("size_t", "uint64_t"):
                    yield case("2^63", "two_to_63")
