"""The C++ face of ARMCI: its operations as functors, like those of the core. Classes that own something are written by
hand, in include/armci/armci.hpp."""

from dataclasses import dataclass
from typing import Tuple

from api_dsl.schema import Argument as A


@dataclass(frozen=True)
class LayerOperation:
    name: str
    doc: str
    positional: Tuple[A, ...]
    call: str  # C++ statements of the operator, which see the arguments
    optional: Tuple[A, ...] = ()
    template: str = ""  # parameters
    returns: str = "void"
    result: str = ""


_proc = A("proc", "int", "The other process, a rank of the world.")
_handle = A("handle", "armci::handle&", "The operation is not blocking: the handle completes it. Default: it blocks "
                                        "until local memory may be reused, or is filled.")
_elements = "class T"


def _args(*arguments):
    return tuple(A(*a) for a in arguments)


def _contiguous(name, doc, source, target, function):
    return LayerOperation(
        name, doc, _args(("src", "const void*", source), ("dst", "void*", target),
                         ("bytes", "size_t", "Their number; more than an int holds, too.")) + (_proc,),
        f"""detail::in_pieces(src_, dst_, bytes_, [&](void* from, void* to, int n) {{
      detail::check("{name}", handle_ ? ARMCI_Nb{function}(from, to, n, proc_, handle_->next())
                               : ARMCI_{function}(from, to, n, proc_));
    }});""", (_handle,))


def _patch(name, doc, source, target, function):
    const = "patch<const T>"
    return LayerOperation(
        name + "_patch", doc,
        _args(("src", const, source), ("dst", "patch<T>", target + " Same extents as the source.")) + (_proc,),
        f"""detail::strided s(src_, dst_);
    if (s.is_empty()) return;
    detail::check("{name}_patch",
                  handle_ ? ARMCI_Nb{function}S(s.from(), s.from_strides, s.to(), s.to_strides, s.counts, s.levels, proc_,
                                         handle_->next())
                          : ARMCI_{function}S(s.from(), s.from_strides, s.to(), s.to_strides, s.counts, s.levels, proc_));""",
        (_handle,), _elements)


_scale = A("scale", "T", "The factor of the source's elements.", "T(1)")

OPERATIONS = (
    _contiguous("put", "Copies to memory of a process. Ordered with all other operations to it.", "Local memory.",
                "Memory of the process.", "Put"),
    _contiguous("get", "Copies from memory of a process.", "Memory of the process.", "Local memory.", "Get"),
    LayerOperation(
        "acc", "Adds to elements of a process's memory, atomically to all other accumulates.",
        _args(("src", "const T*", "Local elements."), ("dst", "T*", "Elements of the process."),
              ("count", "size_t", "Their number.")) + (_proc,),
        """detail::in_pieces(src_, dst_, count_ * sizeof(T), [&](void* from, void* to, int n) {
      T factor = scale_;
      detail::check("acc", handle_ ? ARMCI_NbAcc(detail::element<T>::code, &factor, from, to, n, proc_, handle_->next())
                               : ARMCI_Acc(detail::element<T>::code, &factor, from, to, n, proc_));
    });""", (_scale, _handle), _elements),
    _patch("put", "Copies a patch of an array into one of a process.", "The local patch.", "The process's patch.", "Put"),
    _patch("get", "Copies a patch of an array of a process.", "The process's patch.", "The local patch.", "Get"),
    LayerOperation(
        "acc_patch", "Adds a patch to one of a process's, atomically to all other accumulates, element by element.",
        _args(("src", "patch<const T>", "The local patch."),
              ("dst", "patch<T>", "The process's patch. Same extents as the source.")) + (_proc,),
        """detail::strided s(src_, dst_);
    if (s.is_empty()) return;
    T factor = scale_;
    const int type = detail::element<T>::code;
    detail::check("acc_patch", handle_ ? ARMCI_NbAccS(type, &factor, s.from(), s.from_strides, s.to(), s.to_strides,
                                                      s.counts, s.levels, proc_, handle_->next())
                                       : ARMCI_AccS(type, &factor, s.from(), s.from_strides, s.to(), s.to_strides,
                                                    s.counts, s.levels, proc_));""",
        (_scale, _handle), _elements),
    LayerOperation(
        "rmw", "Changes a number of a process's memory atomically: adds to it, or swaps it. T: int or long.",
        _args(("op", "rmw_op", "What is done."), ("at", "T*", "The number, at a multiple of its size."),
              ("operand", "T", "What is added, or swapped in.")) + (_proc,),
        """return detail::rmw(op_, at_, operand_, proc_);""", (), _elements, "T",
        "The number before."),
    LayerOperation(
        "fence", "Blocks until puts and accumulates of this process are complete at their targets.", (),
        """detail::check("fence", proc_ < 0 ? ARMCI_AllFence() : ARMCI_Fence(proc_));""",
        _args(("proc", "int", "Only at this process; -1: at all.", "-1"))),
)
