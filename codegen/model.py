"""Converts the description in `api_dsl` to the model for the templates: checks it, expands derived operations,
orders fields, and determines how each empty handle is resolved."""

import hashlib
import re
from dataclasses import dataclass, replace
from typing import Dict, List, Optional, Tuple

from api_dsl import schema as S


class ModelError(Exception):
    """The description is inconsistent. Each line of the text names an entry and its error."""


# Types of include/lci/types.hpp or of the language: (alignment, size). They determine the order of fields, so that
# argument structs have no internal padding.
BASIC = {
    "bool": (1, 1), "int": (4, 4), "uint16_t": (2, 2), "uint32_t": (4, 4), "int64_t": (8, 8),
    "uint64_t": (8, 8), "size_t": (8, 8), "uintptr_t": (8, 8), "double": (8, 8),
    "std::string": (8, 32), "void*": (8, 8), "const void*": (8, 8), "const char*": (8, 8),
    "tag_t": (8, 8), "rcomp_t": (4, 4), "net_imm_data_t": (4, 4),
    "matching_entry_key_t": (8, 8), "matching_entry_val_t": (8, 8), "make_key_t": (8, 8),
    "allocator_base_t*": (8, 8), "reduce_op_t": (8, 8), "error_t": (4, 4), "rmr_t": (8, 24),
    "status_t": (8, 40), "status_t*": (8, 8), "const layout_t*": (8, 8), "net_status_t*": (8, 8),
    "operation_t": (8, 16), "operation_t*": (8, 8),
}
SIGNED = {"int", "int64_t"}
NUMBERS = SIGNED | {"uint16_t", "uint32_t", "uint64_t", "size_t", "uintptr_t", "tag_t", "rcomp_t",
                    "net_imm_data_t", "matching_entry_key_t"}
RETURN_ONLY = {"void", "global_attr_t", "counters_t", "histogram_t", "reg_cache_stats_t"}
# Pointers below this value are constants of handle types: the address of an object is never in the first page.
FIRST_OBJECT = 16
# The types that can be parsed from the environment. Attributes of other types can't be set there.
PARSED = {"bool", "int", "uint64_t", "size_t", "double", "std::string"}
# Members of every functor: not allowed as names of arguments.
RESERVED = {"call", "args", "attr", "operator"}
IDENTIFIER = re.compile(r"[a-z][a-z0-9_]*$")
PUBLISHED_SO = {"net_post_putImm", "net_post_putImms"}  # names in the spelling of existing clients
KEYWORDS = frozenset("""and asm auto bool break case catch char class const continue default delete
do double else enum explicit export extern false float for friend goto if inline int long mutable
namespace new not operator or private protected public register return short signed sizeof static
struct switch template this throw true try typedef typename union unsigned using virtual void
volatile while xor""".split())


def is_sentence(text):
    """Whether the text is at least a full sentence: it begins like one (or with code), and has two words and an end."""
    return bool(re.match(r"[A-Z`a-z]", text)) and " " in text.strip() and text.endswith(".") \
        or bool(re.match(r"[A-Z][a-zA-Z]+\.$", text))


@dataclass(frozen=True)
class Field:
    """An argument of an operation, as a member of its argument struct."""

    name: str
    type: str
    doc: str
    positional: bool
    default: str  # C++ initializer; "" for the type's default
    handle: Optional[S.Resource]  # the resource, if the field is a handle
    argument: S.Argument
    alignment: int
    size: int


@dataclass(frozen=True)
class Step:
    """One step of resolving an operation's empty handles, in order."""

    kind: str  # "runtime", "default", "check" or "if_any"
    field: str
    owner: str = ""
    member: str = ""
    remedy: str = ""
    when: str = ""


@dataclass(frozen=True)
class Op:
    """An operation, ready for the templates."""

    name: str
    returns: str
    doc: str
    result: str
    source: str
    group: str
    positional: Tuple[Field, ...]
    optional: Tuple[Field, ...]
    layout: Tuple[Field, ...]  # all fields, in the order of the struct
    resource: Optional[S.Resource]
    fixed: Tuple[Tuple[str, str], ...]
    aliases: Tuple[Tuple[str, str], ...]
    steps: Tuple[Step, ...]
    base: str = ""
    direct: str = ""

    @property
    def fields(self):
        return self.positional + self.optional

    @property
    def without_buffer(self):
        """The positional arguments before, of and after the buffer, which is a pointer and a number of bytes; None if
        there is no such pair, or more than one pointer."""
        pointers = [i for i, f in enumerate(self.positional) if f.type in ("void*", "const void*")]
        if len(pointers) != 1:
            return None
        at = pointers[0]
        if at + 1 == len(self.positional) or self.positional[at + 1].name != "size":
            return None
        return self.positional[:at], self.positional[at:at + 2], self.positional[at + 2:]

    @property
    def labelled(self):
        """Whether `name` and `user_context` are attributes of the allocated object."""
        return self.resource is not None


# Pointers to functions that types.hpp defines.
FUNCTIONS = ("reduce_op_t", "make_key_t")


class Model:
    """The whole API. Raises ModelError if the description is inconsistent."""

    def __init__(self, api: S.Api):
        self.errors: List[str] = []
        self.api = api
        self.enums = {e.name: e for e in api.enums}
        self.handles: Dict[str, S.Resource] = {r.name + "_t": r for r in api.resources}
        self.aliases = {a.name: a for a in api.aliases}
        self._check_enums()
        self._check_resources()
        self._check_rest()
        described = self._expand()
        self.operations: List[Op] = [self._operation(o, base) for o, base in described]
        self._check_names()
        if self.errors:
            raise ModelError("\n".join(self.errors))

    # --- queries of templates ---

    def parameter(self, type_name, name):
        """The name of a parameter in a functor. GCC's -Wshadow warns if a pointer to a function has the name of a member
        function."""
        alias = self.aliases.get(type_name)
        is_function = type_name in FUNCTIONS or (alias is not None and "(*)" in alias.definition)
        return name + "_" if is_function else name

    @property
    def layout(self):
        """A hash of everything that is compiled into programs: names, types and order of arguments and
        attributes, and the values of enumerators."""
        lines = [f"{e.name} {[(v.name, v.value) for v in e.values]}" for e in self.api.enums]
        lines += [f"{r.name} {[(a.name, a.type) for a in r.attributes]}" for r in self.attributed]
        lines += [f"{o.returns} {o.name} {[(f.name, f.type) for f in o.layout]}" for o in self.operations]
        return int.from_bytes(hashlib.sha256("\n".join(lines).encode()).digest()[:8], "big")

    @property
    def resources(self):
        return self.api.resources

    @property
    def first_object(self):
        return FIRST_OBJECT

    @property
    def attributed(self):
        """Resources whose handles have attributes."""
        return [r for r in self.api.resources if r.has_attr]

    @property
    def freed(self):
        """(handle type, operation, whether it needs a runtime) of each type that is freed through a pointer to its
        handle; the first such operation counts."""
        found = {}
        for o in self.operations:
            handle = o.positional[0].type[:-1] if len(o.positional) == 1 else ""
            if handle in self.handles and o.positional[0].type == handle + "*":
                found.setdefault(handle, (handle, o.name, any(
                    f.argument.runtime == "required" for f in o.fields)))
        return list(found.values())

    @property
    def settable(self):
        """(resource, attribute) of all attributes with a process-wide default."""
        return [(r, a) for r in self.attributed for a in r.attributes if a.settable]

    @property
    def options(self):
        """(resource, attribute) of all attributes that the environment can set."""
        return [(r, a) for r, a in self.settable if a.from_env]

    def groups(self):
        """Operations by group, in the order of the first appearance of each group."""
        found: Dict[str, List[Op]] = {}
        for op in self.operations:
            found.setdefault(op.group, []).append(op)
        return found.items()

    def has_constants(self, resource):
        """Whether the type has constants that are neither null nor handles of objects."""
        return any(c.type == resource.name + "_t" and c.pointer != 0 for c in self.api.constants)

    def impl(self, resource):
        return resource.impl or f"lci::core::{resource.name}"

    def attribute_default(self, attribute):
        """The built-in default as a C++ expression."""
        if attribute.type == "std::string":
            return f'"{attribute.default}"'
        enum = self.enums.get(attribute.type)
        if enum is not None:
            return f"{enum.name}::{attribute.default}"
        return attribute.default

    def by_alignment(self, attributes):
        return sorted(attributes, key=lambda a: -self.measure(a.type)[0])

    def measure(self, type_name):
        """(alignment, size) of a type; None if it is unknown."""
        if type_name in BASIC:
            return BASIC[type_name]
        if type_name in self.enums:
            return (4, 4)
        if type_name in self.handles or type_name in self.aliases:
            return (8, 8)
        if type_name.endswith("*") and type_name[:-1] in self.handles:
            return (8, 8)
        return None

    # --- checks ---

    def _error(self, where, what):
        self.errors.append(f"{where}: {what}")

    def _unique(self, where, names):
        seen = set()
        for name in names:
            if name in seen:
                self._error(where, f"{name} is there twice")
            seen.add(name)

    def _documented(self, where, entry):
        if not is_sentence(entry.doc):
            self._error(where, f"needs a doc of at least one sentence, has {entry.doc!r}")

    def _named(self, where, name):
        if not IDENTIFIER.match(name) and name not in PUBLISHED_SO:
            self._error(where, "is no snake_case name")
        if name in KEYWORDS:
            self._error(where, "is a keyword of C++")

    def _known(self, where, type_name, others=()):
        if self.measure(type_name) is None and type_name not in others:
            self._error(where, f"type {type_name} is not known")

    def _check_enums(self):
        self._unique("enums", [e.name for e in self.api.enums])
        for e in self.api.enums:
            self._documented(e.name, e)
            if not e.values:
                self._error(e.name, "has no values")
            self._unique(e.name, [v.name for v in e.values])
            for v in e.values:
                self._documented(f"{e.name}::{v.name}", v)

    def _check_resources(self):
        names = {r.name for r in self.api.resources}
        self._unique("resources", [r.name for r in self.api.resources])
        self._unique("attributes of all resources (they share LCI_ATTR_ and global_attr_t)",
                     [a.name for r in self.api.resources for a in r.attributes if a.settable])
        for r in self.api.resources:
            self._named(r.name, r.name)
            self._documented(r.name, r)
            self._unique(r.name, [a.name for a in r.attributes])
            for child in r.children:
                if child not in names:
                    self._error(r.name, f"its child {child} is no resource")
            for a in r.attributes:
                self._check_attribute(f"{r.name}.{a.name}", a)

    def _check_attribute(self, where, a):
        self._named(where, a.name)
        self._documented(where, a)
        self._known(where, a.type)
        if a.name in RESERVED or a.name in ("name", "user_context", "runtime"):
            self._error(where, "is a reserved name")
        enum = self.enums.get(a.type)
        sound = self._check_default(where, a.type, a.default)
        if a.settable and a.from_env and enum is None and a.type not in PARSED:
            self._error(where, f"type {a.type} can't be read from the environment")
        if a.flags and a.flags not in self.enums:
            self._error(where, f"flags {a.flags} is no enum")
        if (a.minimum is not None or a.maximum is not None) and a.settable and sound:
            value = float(int(a.default, 0)) if a.type != "double" else float(a.default)
            if (a.minimum is not None and value < a.minimum) or \
               (a.maximum is not None and value > a.maximum):
                self._error(where, f"default {a.default} is out of its own range")

    def _check_default(self, where, type_name, default, scoped=False):
        """Returns whether `default` is a value of the type. `scoped`: enumerators are written
        with their enum."""
        enum = self.enums.get(type_name)
        if enum is not None:
            prefix = f"{enum.name}::" if scoped else ""
            sound = default in [prefix + v.name for v in enum.values]
        elif type_name == "bool":
            sound = default in ("true", "false")
        elif type_name == "double":
            sound = bool(re.match(r"-?\d+(\.\d*)?$", default))
        elif type_name in NUMBERS:
            digits = r"(0x[0-9a-fA-F]+|0|[1-9]\d*)$"
            sound = bool(re.match(("-?" if type_name in SIGNED else "") + digits, default))
        elif type_name in self.handles:
            sound = default == f"{type_name}()"
        else:
            sound = True
        if not sound:
            self._error(where, f"default {default} is no value of {type_name}")
        return sound

    def _check_rest(self):
        for a in self.api.aliases:
            self._documented(a.name, a)
        for c in self.api.constants:
            self._documented(c.name, c)
            alias = self.aliases.get(c.type)
            if c.type not in self.handles and (alias is None or "*" not in alias.definition):
                self._error(c.name, f"type {c.type} is no handle and no pointer")
            if not 0 <= c.pointer < FIRST_OBJECT:
                self._error(c.name, f"pointer {c.pointer} is not in 0..{FIRST_OBJECT - 1}, where no object is")
        for f in self.api.functions:
            self._documented(f.name, f)
            self._known(f.name, f.returns, RETURN_ONLY | {"const char*"})
            if f.begins and f.parameters:
                self._error(f.name, "begins, so it has no parameters")
        for v in self.api.variables:
            self._documented(v.name, v)
            if not v.name.startswith(("LCI_", "LCT_")):
                self._error(v.name, "does not begin with LCI_ or LCT_")

    def _check_names(self):
        self._unique("operations and functions",
                     [o.name for o in self.operations] + [f.name for f in self.api.functions])
        self._unique("types", list(self.enums) + list(self.handles) + list(self.aliases))

    # --- derivation ---

    def _expand(self):
        """All operations, with derived ones expanded: (operation, name of the base)."""
        plain = {o.name: o for o in self.api.operations if isinstance(o, S.Operation)}
        result = []
        for o in self.api.operations:
            if isinstance(o, S.Operation):
                result.append((o, ""))
            elif o.base not in plain:
                self._error(o.name, f"its base {o.base} is no operation")
            else:
                result.append((self._derive(o, plain[o.base]), o.base))
        return result

    def _derive(self, d, base):
        arguments = {a.name: a for a in base.positional + base.optional}
        types, docs = dict(d.types), dict(d.docs)
        for name in (*d.positional, *d.omit, *types, *docs):
            if name not in arguments:
                self._error(d.name, f"{name} is no argument of {base.name}")
        for name in set(d.omit) & (set(d.positional) | set(types) | set(docs)):
            self._error(d.name, f"{name} is both omitted and used")

        def take(name, positional):
            a = arguments[name]
            return replace(a, type=types.get(name, a.type), doc=docs.get(name, a.doc),
                           default=None if positional else a.default)

        missing = [a.name for a in base.positional
                   if a.name not in d.positional and a.name not in d.omit]
        if missing:
            self._error(d.name, f"{missing[0]} is neither positional nor omitted")
        positional = [take(n, True) for n in d.positional if n in arguments]
        optional = [take(a.name, False) for a in base.optional
                    if a.name not in d.positional and a.name not in d.omit]
        return S.Operation(d.name, base.returns, d.doc, tuple(positional), tuple(optional),
                           source=d.source, result=d.result or base.result,
                           group=d.group or base.group, direct=d.direct)

    def _operation(self, o, base):
        self._named(o.name, o.name)
        self._documented(o.name, o)
        self._known(o.name, o.returns, RETURN_ONLY)
        if o.returns != "void" and not o.result:
            self._error(o.name, "needs a sentence on what it returns")
        if not o.group:
            self._error(o.name, "needs a heading")
        self._unique(o.name, [a.name for a in o.positional + o.optional])
        resource = None
        if o.resource:
            resource = next((r for r in self.api.resources if r.name == o.resource), None)
            if resource is None:
                self._error(o.name, f"{o.resource} is no resource")
        positional = tuple(self._field(o, a, True) for a in o.positional)
        optional = tuple(self._field(o, a, False) for a in o.optional)
        self._check_setters(o, resource)
        layout = tuple(sorted(positional + optional, key=lambda f: -f.alignment))
        return Op(o.name, o.returns, o.doc, o.result, o.source, o.group, positional, optional,
                  layout, resource, o.fixed, o.setter_aliases,
                  tuple(self._steps(o, positional + optional)), base, o.direct)

    def _field(self, o, a, positional):
        where = f"{o.name}.{a.name}"
        self._named(where, a.name)
        self._documented(where, a)
        self._known(where, a.type)
        if a.name in RESERVED:
            self._error(where, "is a reserved name")
        if positional != (a.default is None):
            self._error(where, "is positional with a default" if positional
                        else "is optional without a default")
        if not positional and a.default is not None:
            self._check_default(where, a.type, a.default, scoped=True)
        alignment, size = self.measure(a.type) or (8, 8)
        default = "" if positional or a.default == f"{a.type}()" else a.default
        return Field(a.name, a.type, a.doc, positional, default, self.handles.get(a.type), a,
                     alignment, size)

    def _check_setters(self, o, resource):
        own = [a.name for a in o.positional + o.optional]
        if resource is not None:
            own += [a.name for a in resource.attributes if a.settable]
            if [n for n in ("name", "user_context") if n not in own]:
                self._error(o.name, "allocates, so it needs name and user_context")
            for name, value in o.fixed:
                attribute = next((a for a in resource.attributes if a.name == name), None)
                if attribute is None:
                    self._error(o.name, f"{name} is no attribute of {resource.name}")
                elif attribute.type not in self.enums:
                    self._error(o.name, f"{name} is no enum, so it can't be fixed")
                else:
                    self._check_default(o.name, attribute.type, value)
        for alias, target in o.setter_aliases:
            if target not in own:
                self._error(o.name, f"{alias} stands for {target}, which it has not")
        self._unique(f"setters of {o.name}", own + [alias for alias, _ in o.setter_aliases])

    def _steps(self, o, fields):
        """The steps of an operation: check positional handles, then fill in the runtime and what depends on it."""
        by_name = {f.name: f for f in fields}
        steps, done = [], set()
        for f in fields:
            if f.positional and f.handle is not None and not f.argument.may_be_empty:
                steps.append(Step("check", f.name, remedy=f"pass an allocated {f.type}"))

        def fill(field):
            if field.name in done:
                return
            done.add(field.name)
            rule = field.argument.resolve
            if field.type == "runtime_t":
                mode = field.argument.runtime
                if mode == "if_any":
                    steps.append(Step("if_any", "runtime"))
                elif mode == "required":
                    # A given device determines the runtime; otherwise it is the default runtime.
                    owner = "device" if "device" in by_name and \
                        by_name["device"].type == "device_t" else ""
                    steps.append(Step("runtime", "runtime", owner))
                elif mode != "on_demand":
                    self._error(f"{o.name}.runtime", "needs a degree: required, on_demand, if_any")
                return
            if rule is None:
                if not field.positional and field.handle and not field.argument.may_be_empty:
                    self._error(f"{o.name}.{field.name}", "needs a rule for the empty handle")
                return
            owner = by_name.get(rule.owner)
            if owner is None:
                self._error(f"{o.name}.{field.name}",
                            f"its default comes from {rule.owner}, which is no argument")
                return
            if rule.when and rule.when not in by_name:
                self._error(f"{o.name}.{field.name}", f"{rule.when} is no argument")
            fill(owner)
            steps.append(Step("default", field.name, rule.owner, rule.member, rule.remedy,
                              rule.when))

        for f in fields:
            fill(f)
        return steps
