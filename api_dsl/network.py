"""Raw network operations, for programs with protocols of their own. Operations whose names end in `s` send a copy."""

from api_dsl import arguments as a
from api_dsl.schema import Argument as A, Operation as Op

_G = "Raw network operations"

_rank = A("rank", "int", "The target.")
_APART = (" On the own rank it must not overlap the remote memory; the checking mode detects that, otherwise the "
          "common bytes are undefined.")
_from = A("buffer", "const void*", "Memory to send from.")
_written_from = A("buffer", "const void*", "Memory to write from." + _APART)
_into = A("buffer", "void*", "Memory to receive into.")
_read_into = A("buffer", "void*", "Memory to read into." + _APART)
_size = A("size", "size_t", "Number of bytes to move.")
_mr = A("mr", "mr_t", "Registration of the buffer with the device, or the kind of its memory.",
        may_be_empty=True)
_offset = A("offset", "uint64_t", "Offset into the registered range, in bytes.")
_rmr = A("rmr", "rmr_t", "Registration of the target.")
_imm = A("imm_data", "net_imm_data_t", "Delivered in the target's status.", "0")
_context = A("user_context", "void*", "Any value; returned in the status.", "nullptr")

_WAY = (a.runtime, a.device, a.endpoint)
_COPY = " The buffer is free on return; no status follows, except ERROR if it fails later."
_COPY_LIMIT = " At most get_max_bcopy_size() bytes."
_DONE = "`done`, or a retry code (nothing happened)."
_POSTED = "`posted`, or a retry code (nothing happened)."


def _op(name, doc, positional, optional, result):
    return Op(name, "error_t", doc + " Thread-safe.", positional, _WAY + optional, group=_G,
              result=result)


def _follows(opcode):
    return f" {opcode} follows."


OPERATIONS = (
    Op("net_poll_cq", "size_t",
       "Makes progress once, as progress() does, and pops statuses of raw operations that have ended on the device, "
       "oldest first. Raw and other operations may be mixed on a device: either kind of progress serves both, and "
       "raw statuses wait until they are polled. Inside a completion handler it makes no progress. Thread-safe.",
       (A("max_polls", "size_t", "Largest number of statuses to pop."),
        A("statuses", "net_status_t*", "Array for `max_polls` statuses.")),
       (a.runtime, a.device), group=_G, result="The number of statuses popped."),
    Op("net_post_recv", "error_t",
       "Posts a buffer for one raw message from any rank. Messages fill the device's buffers in the order of "
       "posting. RECV follows, with the sender's immediate data; or ERROR if the message was longer and has been "
       "truncated. Thread-safe.",
       (_into, A("size", "size_t", "Size of the buffer in bytes."), _mr),
       (a.runtime, a.device, _context), group=_G, result=_POSTED),
    _op("net_post_sends", "Posts a raw send of a copy." + _COPY + _COPY_LIMIT,
        (_rank, _from, _size), (_imm, _context), _DONE),
    _op("net_post_send", "Posts a raw send, which fills a buffer of the target's net_post_recv." +
        _follows("SEND"), (_rank, _from, _size, _mr), (_imm, _context), _POSTED),
    _op("net_post_puts", "Posts a raw put of a copy." + _COPY + _COPY_LIMIT,
        (_rank, _from, _size, _offset, _rmr), (_context,), _DONE),
    _op("net_post_put", "Posts a raw put." + _follows("WRITE"),
        (_rank, _written_from, _size, _mr, _offset, _rmr), (_context,), _POSTED),
    _op("net_post_putImms",
        "Posts a raw put of a copy; the target gets REMOTE_WRITE." + _COPY + _COPY_LIMIT,
        (_rank, _from, _size, _offset, _rmr), (_imm, _context), _DONE),
    _op("net_post_putImm",
        "Posts a raw put; the target gets REMOTE_WRITE when the data is in its memory. It uses none of the target's "
        "receive buffers." + _follows("WRITE"),
        (_rank, _written_from, _size, _mr, _offset, _rmr), (_imm, _context), _POSTED),
    _op("net_post_get", "Posts a raw get." + _follows("READ"),
        (_rank, _read_into, _size, _mr, _offset, _rmr), (_context,), _POSTED),
)
