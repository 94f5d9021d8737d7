"""The C++ face of CCS: its operations as functors, like those of the core. Classes that own something are written by
hand, in include/ccs.hpp and include/ccs/objects.hpp."""

from api_dsl.armci import LayerOperation
from api_dsl.schema import Argument as A

_node = A("node", "int", "The other process.")
_src = "ccs::const_view"
_dst = "ccs::view"
_on_remote = A("on_remote", "ccs::completion",
               "What happens when the data is in the process's memory: a ccs::pending is counted down, or a function "
               "called. Until then the source must not change. Default: the operation blocks.")
_on_done = A("on_done", "ccs::completion", "What happens when the result is here: a ccs::pending is counted down, or a "
                                           "function called. Default: the operation blocks.")
_T = "class T"
_op = A("op", "CCS_combine_t", "How numbers are combined.", "CCS_SUM")


def _args(*arguments):
    return tuple(a if isinstance(a, A) else A(*a) for a in arguments)


def _move(name, doc, source, target, function, done):
    return LayerOperation(
        name, doc, _args(_node, ("src", _src, source), ("dst", _dst, target + " As many bytes as the source's.")),
        f"""{done.name}_.start("{name}", [&](CCS_callback_t callback, void* argument) {{
      return {function}(static_cast<CCS_node_t>(node_), src_.at(), src_.count(), src_.desc(), dst_.at(), dst_.count(),
                     dst_.desc(), callback, argument);
    }});""", (done,))


OPERATIONS = (
    _move("put", "Copies to memory of a process. Not ordered.", "Memory here.", "Registered memory of the process.",
          "CCS_put", _on_remote),
    _move("get", "Copies from memory of a process. Not ordered.", "Registered memory of the process.", "Memory here.",
          "CCS_get", _on_done),
    LayerOperation(
        "accumulate", "Combines numbers with those of a process's memory, each atomically.",
        _args(_node, ("src", _src, "Numbers here."), ("dst", _dst, "Numbers of the process, as many.")),
        """on_remote_.start("accumulate", [&](CCS_callback_t callback, void* argument) {
      return CCS_accumulate(static_cast<CCS_node_t>(node_), op_, detail::number<T>::name, &scale_, src_.at(),
                            src_.count(), src_.desc(), dst_.at(), dst_.count(), dst_.desc(), callback, argument);
    });""", (_op, A("scale", "T", "The factor of the source's numbers.", "T(1)"), _on_remote), _T),
    LayerOperation(
        "put_indexed", "Writes to where a pointer of a process points, and advances the pointer.",
        _args(_node, ("src", "const void*", "Memory here."), ("bytes", "size_t", "Their number."),
              ("pointer", "void**", "The pointer, in registered memory of the process.")),
        """on_remote_.start("put_indexed", [&](CCS_callback_t callback, void* argument) {
      return CCS_put_indexed(static_cast<CCS_node_t>(node_), const_cast<void*>(src_), bytes_, pointer_, callback,
                             argument);
    });""", (_on_remote,)),
    LayerOperation(
        "atomic", "Reads or changes a word of a process's memory atomically.",
        _args(_node, ("op", "CCS_atomic_op_t", "What is done."), ("at", "uint64_t*", "The word, aligned to 8 bytes."),
              ("value", "uint64_t", "What is added, written or swapped in.")),
        """CCS_atomic_type_t old = 0;
    CCS_atomic_type_t* const result = result_ != nullptr ? result_ : &old;
    if (result_ == nullptr && op_ != CCS_ATOMIC_WRITE) {
      completion().start("atomic", [&](CCS_callback_t callback, void* argument) {
        return CCS_atomic(static_cast<CCS_node_t>(node_), op_, at_, value_, compare_, result, callback, argument);
      });
      return old;
    }
    on_done_.start("atomic", [&](CCS_callback_t callback, void* argument) {
      return CCS_atomic(static_cast<CCS_node_t>(node_), op_, at_, value_, compare_, result_, callback, argument);
    });
    return 0;""",
        (A("compare", "uint64_t", "CCS_ATOMIC_COMPARESWAP stores the value if the word is this.", "0"),
         A("result", "uint64_t*", "Where the old value goes. Default: it is returned, and the operation blocks."),
         _on_done), "", "uint64_t", "The old value, if there is no `result`; else 0."),
    LayerOperation(
        "fence", "Blocks until this thread's and others' operations of this process on remote memory are complete.", (),
        """detail::check("fence", node_ < 0 ? CCS_allfence() : CCS_fence(static_cast<CCS_node_t>(node_)));""",
        _args(("node", "int", "Only those on this process's memory; -1: on all.", "-1"))),
    LayerOperation(
        "bcast", "All processes get the root's data. Collective.",
        _args(("data", _dst, "What is sent at the root, and written elsewhere.")),
        """detail::check("bcast",
                  CCS_bcast(data_.at(), data_.count(), data_.desc(), static_cast<CCS_node_t>(root_)));""",
        _args(("root", "int", "The process that has the data.", "0"))),
    LayerOperation(
        "reduce", "Combines the numbers of all processes, element by element. Collective.",
        _args(("src", "const T*", "Numbers here."), ("dst", "T*", "The result; may be the source."),
              ("count", "size_t", "Their number.")),
        """detail::check("reduce", root_ < 0 ? CCS_allreduce(src_, dst_, count_, detail::number<T>::name, op_)
                                      : CCS_reduce(src_, dst_, count_, detail::number<T>::name, op_,
                                                   static_cast<CCS_node_t>(root_)));""",
        (_op, A("root", "int", "The process that gets the result; -1: all.", "-1")), _T),
)
