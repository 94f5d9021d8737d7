"""The vocabulary in which the API is described. Plain frozen data: no behaviour, no text of C++
beyond the names of types and constants. `codegen/model.py` checks it and derives what follows."""

from dataclasses import dataclass
from typing import Optional, Tuple


@dataclass(frozen=True)
class EnumValue:
    name: str
    doc: str
    value: Optional[int] = None  # None: one more than the value before
    also: str = ""  # another name that options take for it
    marker: bool = False  # a boundary, no value: options do not take it


@dataclass(frozen=True)
class Enum:
    name: str  # C++ type, with its _t
    doc: str
    values: Tuple[EnumValue, ...]
    source: str = ""  # section of the paper, or "v2" (published interface), or "ours"
    declared_in: str = ""  # header that declares it by hand; empty: generated into attributes.hpp
    flags: bool = False  # unscoped; values may be combined with |
    str_function: bool = False  # the published interface has a get_<name>_str() for it


@dataclass(frozen=True)
class Alias:
    """A `using name = definition;` of handles.hpp."""

    name: str
    definition: str
    doc: str
    source: str = ""


@dataclass(frozen=True)
class Constant:
    """A named value of a handle type, or of an alias for a pointer. `pointer` is the number behind it; 0 is
    the empty handle or the null pointer."""

    name: str
    type: str
    pointer: int
    doc: str
    source: str = ""


@dataclass(frozen=True)
class Attribute:
    name: str
    type: str
    doc: str
    default: str
    source: str = "v2"
    settable: bool = True  # False: filled in by the library, only readable
    from_env: bool = True  # can be set by LCI_ATTR_<NAME>
    variables: Tuple[str, ...] = ()  # further variables of the environment that set it
    flags: str = ""  # name of the Enum whose values the number is or-ed from
    minimum: Optional[float] = None
    maximum: Optional[float] = None
    no_effect: bool = False  # accepted and reported, but not used


@dataclass(frozen=True)
class Resource:
    name: str
    doc: str
    source: str = ""
    attributes: Tuple[Attribute, ...] = ()
    children: Tuple[str, ...] = ()
    impl: str = ""  # class behind the handle; empty: lci::core::<name>
    header: str = ""  # the file that defines that class
    has_attr: bool = True  # the class has a member `attr`
    published: bool = False  # programs know its class as <name>_impl_t, and pass it as void*


@dataclass(frozen=True)
class Default:
    """The value of an empty handle argument: `member` of another argument."""

    owner: str  # name of that argument
    member: str
    remedy: str  # for the error message if that is empty too; "": it never is
    when: str = ""  # name of a bool argument: only resolved if it is true


@dataclass(frozen=True)
class Argument:
    name: str
    type: str
    doc: str
    default: Optional[str] = None  # C++ constant; None: positional
    resolve: Optional[Default] = None  # handles only: how an empty one is replaced
    runtime: str = ""  # "required", "on_demand" or "if_any"; only for the argument `runtime`
    may_be_empty: bool = False  # handles only: empty has a meaning, or the core rejects it
    source: str = ""


@dataclass(frozen=True)
class Operation:
    name: str
    returns: str
    doc: str
    positional: Tuple[Argument, ...] = ()
    optional: Tuple[Argument, ...] = ()
    source: str = "v2"
    resource: str = ""  # the operation allocates it: one setter per settable attribute
    fixed: Tuple[Tuple[str, str], ...] = ()  # attributes that the operation sets itself
    setter_aliases: Tuple[Tuple[str, str], ...] = ()  # (other name, argument or attribute)
    result: str = ""  # one sentence on the returned value
    group: str = ""  # heading in the reference
    direct: str = ""  # name of its inline fast path in lci/direct.hpp, tried first


@dataclass(frozen=True)
class Derived:
    """An operation with some of another one's arguments."""

    name: str
    base: str
    doc: str
    positional: Tuple[str, ...]
    omit: Tuple[str, ...]
    types: Tuple[Tuple[str, str], ...] = ()  # arguments whose type is narrower here
    docs: Tuple[Tuple[str, str], ...] = ()  # arguments whose meaning is narrower here
    source: str = "v2"
    result: str = ""
    group: str = ""
    direct: str = ""


@dataclass(frozen=True)
class Function:
    """A plain function without functor."""

    name: str
    returns: str
    parameters: Tuple[Tuple[str, str], ...]  # (type, name)
    doc: str
    source: str = "v2"
    header: str = "lci/operations.hpp"  # where it is declared
    group: str = ""
    begins: bool = False  # may be a program's first call: it passes the version of the program's headers


@dataclass(frozen=True)
class Variable:
    """A variable of the environment that is no attribute."""

    name: str
    doc: str
    source: str = "v2"
    prefix: bool = False  # any name that begins with it


@dataclass(frozen=True)
class Api:
    enums: Tuple[Enum, ...]
    aliases: Tuple[Alias, ...]
    constants: Tuple[Constant, ...]
    resources: Tuple[Resource, ...]
    operations: Tuple[object, ...]  # Operation or Derived, in the order of the reference
    functions: Tuple[Function, ...]
    variables: Tuple[Variable, ...]
