"""Cases of misuse of memory arguments: overlapping buffers, invalid layouts, registrations of other devices or
runtimes, misaligned values. `fine` means that the call returns, whatever the resulting bytes."""

# Overlapping memory: refused if calls are checked, else the bytes are undefined.
APART = "apart"
# Detected with checked calls only, else undefined.
CHECKED = "checked"

_PUTS = ("post_put", "net_post_put", "net_post_putImm")
_COPYING_PUTS = ("net_post_puts", "net_post_putImms")  # these may overlap
_GETS = ("post_get", "net_post_get")
_BUFFER = {"post_put": "local_buffer", "post_get": "local_buffer"}

# By operation: (invalid argument, its value in words, setters, expected result).
_COLLECTIVES = {
    "reduce": [("recvbuf", "sendbuf", (("recvbuf", "s.buffer"),), "fine")],
    "allreduce": [("recvbuf", "sendbuf", (("recvbuf", "s.buffer"),), "fine")],
    "scan": [("recvbuf", "sendbuf", (("recvbuf", "s.buffer"),), "fine")],
    "gather": [("recvbuf", "around sendbuf", (("recvbuf", "s.buffer"),), "fine")],
    "scatter": [("recvbuf", "this rank's block of sendbuf", (("recvbuf", "s.buffer"),), "fine")],
    "allgather": [("recvbuf", "around sendbuf", (("recvbuf", "s.buffer"),), "fine")],
    "reduce_scatter": [("recvbuf", "sendbuf", (("recvbuf", "s.buffer"),), APART)],
    "alltoall": [("recvbuf", "sendbuf", (("recvbuf", "s.buffer"),), APART)],
}

_NEGATIVE = "static_cast<size_t>(-16)"
# Strided layouts: (description, counts, strides, size, expected result if the memory is read, and if it is written).
_STRIDED = (
    ("no blocks", "8, 0", "8", "0", "fine", "fine"),
    ("blocks of 0 bytes", "0, 2", "8", "0", "fine", "fine"),
    ("a stride of 0", "8, 2", "0", "16", "fine", APART),
    ("strides shorter than blocks", "8, 2", "4", "16", "fine", APART),
    ("dimensions that cross", "1, 2, 3", "3, 2", "6", "fine", "fine"),
    ("dimensions that meet", "1, 3, 2", "2, 4", "6", "fine", APART),
    ("a negative count", "8, " + _NEGATIVE, "8", "8", "refused", "refused"),
    ("a negative stride", "8, 2", _NEGATIVE, "16", "refused", "refused"),
    ("counts that overflow", "two_to_63, 4", "8", "0", "refused", "refused"),
    ("a stride that overflows", "8, 3", "two_to_63", "24", "refused", "refused"),
    ("2^63 bytes", "two_to_63, 1", "8", "two_to_63", "refused", "refused"),
    ("2^63 bytes apart", "8, 2", "two_to_63 - 8", "16", "refused", "refused"),
    ("another size", "8, 2", "8", "8", "refused", "refused"),
    ("too many levels", "8, 1, 1, 1, 1, 1, 1, 1, 1, 1", "8, 8, 8, 8, 8, 8, 8, 8, 8", "8", "refused", "refused"),
)
# The same for lists of segments.
_SEGMENTS = (
    ("segments that overlap", "{0, 8}, {4, 8}", "16", "fine", APART),
    ("a segment twice", "{0, 8}, {16, 8}, {0, 8}", "24", "fine", APART),
    ("empty segments in another", "{0, 8}, {4, 0}, {2, 0}", "8", "fine", "fine"),
    ("sizes that overflow", "{0, ~size_t{0}}, {0, 9}", "8", "refused", "refused"),
    ("a segment around the end of all memory", "{~size_t{0} - 3, 8}", "8", "refused", "refused"),
    ("a negative offset", "{" + _NEGATIVE + ", 8}", "8", "refused", "refused"),
    ("2^63 bytes in segments", "{0, two_to_63}", "two_to_63", "refused", "refused"),
    ("another size in segments", "{0, 8}", "16", "refused", "refused"),
)
_MISSING = (
    ("no counts", "layout_t::strided(nullptr, numbers, 1)", "8"),
    ("no strides", "layout_t::strided(numbers, nullptr, 1)", "8"),
    ("no segments", "layout_t::iovec(nullptr, 2)", "8"),
    ("no segments, of 0 bytes", "layout_t::iovec(nullptr, 2)", "0"),
    ("no remote segments", "layout_t::remote(nullptr, 1)", "8"),
)
# For local layouts: there is no memory 2^40 bytes beyond the setting's buffers.
_FAR = "size_t{1} << 40"


def _layouts():
    """(description, C++ declarations, size, expected result if the memory is read, and if it is written)."""
    for what, counts, strides, size, read, written in _STRIDED:
        yield what, (f"const size_t counts[] = {{{counts}}}, strides[] = {{{strides}}};\n"
                     "  const layout_t pieces = layout_t::strided(counts, strides, std::size(strides));"), \
            size, read, written
    for what, segments, size, read, written in _SEGMENTS:
        yield what, _list(segments), size, read, written
    for what, made, size in _MISSING:
        yield what, (f"const size_t numbers[] = {{8, 1}};\n  static_cast<void>(numbers);\n"
                     f"  const layout_t pieces = {made};"), size, "refused", "refused"


def _list(segments):
    return (f"const layout_segment_t segments[] = {{{segments}}};\n"
            "  const layout_t pieces = layout_t::iovec(segments, std::size(segments));")


def _remote_list(segments):
    return (f"const remote_segment_t segments[] = {{{segments}}};\n"
            "  const layout_t pieces = layout_t::remote(segments, std::size(segments));")


def of_operation(op):
    """(argument, its value in words, setters, expected result, code before the call) of all cases."""
    names = {f.name for f in op.fields}
    for argument, value, setters, expected in _COLLECTIVES.get(op.name, ()):
        yield argument, value, setters, expected, ""
    if op.name in _COLLECTIVES:
        yield "recvbuf", "in the middle of sendbuf", (("recvbuf", "s.buffer + 4"),), APART, ""
    if "layout" in names:
        yield from _of_layout(op.name, "layout", op.name in ("post_recv", "post_get"))
    if "remote_layout" in names and op.name != "post_comm":
        written = op.name == "post_put"
        yield from _of_layout(op.name, "remote_layout", written)
        for what, segments, expected in (
                ("remote segments that overlap", "{s.rmr, 0, 8}, {s.rmr, 4, 8}", APART if written else "fine"),
                ("a remote segment without a registration", "{rmr_t(), 0, 16}", "either"),
                ("a remote segment beyond its registration", "{s.rmr, setting::window_size - 8, 16}", "either"),
                ("sizes of remote segments that overflow", "{s.rmr, 0, ~size_t{0}}, {s.rmr, 0, 17}", "refused")):
            setters = (("size", "16"), ("rmr", "RMR_NULL"), ("remote_layout", "&pieces"))
            yield "remote_layout", what, setters, expected, _remote_list(segments)
    yield from _of_remote_memory(op, names)
    if "mr" in names and op.name.startswith(("post_", "net_post_")):
        always = op.name.startswith("net_")
        yield "mr", "of another device", (("mr", "s.mr_of_other_device()"),), "refused" if always else CHECKED, ""


def _of_layout(operation, argument, written):
    for what, before, size, when_read, when_written in _layouts():
        if argument == "remote_layout" and what in ("no remote segments",):
            continue  # a layout without segments needs no rmr
        expected = when_written if written else when_read
        yield argument, what, (("size", size), (argument, "&pieces")), expected, before
    if argument == "remote_layout":
        return
    for what, segments in (("far segments", f"{{0, 8}}, {{{_FAR}, 8}}"), ("a huge segment", f"{{0, {_FAR}}}")):
        yield argument, what, (("size", "pieces.size()"), (argument, "&pieces")), CHECKED, _list(segments)
    at_null = (("size", "16"), ("local_buffer", "nullptr"), (argument, "&pieces"))
    yield argument, "a segment at a null pointer", at_null, "refused", \
        _list("{reinterpret_cast<size_t>(s.buffer), 8}, {0, 8}")
    yield "local_buffer", "null with strides", at_null, "refused", (
        "const size_t counts[] = {8, 2}, strides[] = {8};\n"
                    "  const layout_t pieces = layout_t::strided(counts, strides, 1);")
    yield argument, "of remote segments", (("size", "8"), (argument, "&pieces")), "refused", \
        _remote_list("{s.rmr, 0, 8}")


def _of_remote_memory(op, names):
    if "rmr" not in names or op.name == "post_comm":
        return
    yield "rmr", "of another device", (("rmr", "s.rmr_of_other_device()"),), "refused", ""
    yield "rmr", "of another runtime", (("rmr", "s.rmr_of_other_runtime()"),), "either", ""
    yield "rmr", "with another key", (("rmr", "with_key(s.rmr, s.rmr.opaque_rkey + 0x1000)"),), "either", ""
    buffer = _BUFFER.get(op.name, "buffer")
    if op.name in _PUTS + _GETS + _COPYING_PUTS:
        expected = "fine" if op.name in _COPYING_PUTS else APART
        yield buffer, "the remote memory", ((buffer, "s.window"),), expected, ""
        yield buffer, "overlapping the remote memory", ((buffer, "s.window + 4"),), expected, ""
        yield buffer, "beside the remote memory", ((buffer, "s.window + 8"),), "fine", ""
    if op.name in _BUFFER:
        setters = (("size", "16"), (buffer, "nullptr"), ("layout", "&pieces"))
        yield buffer, "one segment in the remote memory", setters, APART, _list(
            "{reinterpret_cast<size_t>(s.result), 8}, {reinterpret_cast<size_t>(s.window) + 12, 8}")
    if op.name == "post_atomic":
        yield "result", "the remote value", (("result", "s.window"),), APART, ""
        yield "result", "misaligned", (("result", "s.result + 1"),), "fine", ""
        yield "result", "the operand", (("result", "s.buffer"),), "fine", ""
        yield "compare", "misaligned", (("op", "atomic_op_t::compare_swap"), ("compare", "s.buffer + 9")), "fine", ""
        yield "remote_disp", "0 of memory that is misaligned", (("rmr", "s.misaligned_rmr()"),), "refused", ""
