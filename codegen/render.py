"""Renders the templates with their filters, and the machine-readable model."""

import dataclasses
import json
import pathlib
import textwrap

import jinja2

from api_dsl import facts
from codegen import misuse

TEMPLATES = pathlib.Path(__file__).resolve().parent / "templates"


def _number(value, attribute):
    """A bound of an attribute as a C++ literal of its type."""
    return repr(float(value)) if attribute.type == "double" else str(int(value))


class _Filters:
    def __init__(self, model):
        self.model = model

    # --- text ---

    def commented(self, text, indent=""):
        """Text as a documentation comment of at most 100 columns."""
        lines = textwrap.wrap(text, 96 - len(indent), break_long_words=False,
                              break_on_hyphens=False)
        return "\n".join(f"{indent}/// {line}" for line in lines)

    def cstring(self, text):
        return json.dumps(text)

    # --- attributes ---

    def sort_by_alignment(self, pairs):
        return sorted(pairs, key=lambda p: -self.model.measure(p[1].type)[0])

    def variables(self, a):
        return [f"LCI_ATTR_{a.name.upper()}", *a.variables]

    def range_text(self, a):
        if a.minimum is not None and a.maximum is not None:
            return f"{_number(a.minimum, a)} to {_number(a.maximum, a)}"
        if a.minimum is not None:
            return f"at least {_number(a.minimum, a)}"
        return f"at most {_number(a.maximum, a)}" if a.maximum is not None else ""

    def out_of_range(self, a, value):
        conditions = []
        if a.minimum is not None and not (a.minimum == 0 and a.type in ("size_t", "uint64_t")):
            conditions.append(f"{value} < {_number(a.minimum, a)}")
        if a.maximum is not None:
            conditions.append(f"{value} > {_number(a.maximum, a)}")
        return conditions

    def checks(self, resource):
        """The checks of a resource's attributes in resolve.cpp."""
        found = []
        for a in resource.attributes:
            conditions = self.out_of_range(a, f"a.{a.name}") if a.settable else []
            if a.type == "double" and conditions:  # also detects NaN
                conditions = [f"!({c.replace(' < ', ' >= ').replace(' > ', ' <= ')})"
                              for c in conditions]
            if conditions:
                found.append({"name": a.name, "condition": " || ".join(conditions),
                              "value": f"a.{a.name}", "range": self.range_text(a)})
            enum = self.model.enums.get(a.type)
            if enum is not None and a.settable:
                number = f"static_cast<int>(a.{a.name})"
                values = " && ".join(f"a.{a.name} != {enum.name}::{v.name}" for v in enum.values)
                found.append({"name": a.name, "condition": values, "value": number,
                              "range": "one of " + ", ".join(v.name for v in enum.values)})
        return found

    def accepted(self, a):
        enum = self.model.enums.get(a.type)
        if enum is not None:
            text = "one of " + ", ".join(v.also or v.name for v in enum.values if not v.marker)
        elif a.flags:
            names = [name for name, _ in self.flag_names(a)]
            text = "a number, or names separated by commas: none, " + ", ".join(names)
        else:
            text = {"bool": "1, on, true, yes, 0, off, false or no",
                    "size_t": "a whole number, with a suffix k, M, G or T if you like",
                    "uint64_t": "a whole number, with a suffix k, M, G or T if you like",
                    "int": "a whole number, with a suffix k, M, G or T if you like", "double": "a number",
                    "std::string": "any text"}[a.type]
        bounds = self.range_text(a)
        return f"{text}; {bounds}" if bounds else text

    def built_in_text(self, a):
        if a.type in ("size_t", "uint64_t", "int"):
            value = int(a.default, 0)
            names = {v.value: name for name, v in self.flag_names(a)} if a.flags else {}
            return "none" if a.flags and value == 0 else names.get(value, str(value))
        enum = self.model.enums.get(a.type)
        if enum is not None:
            return {v.name: v.also or v.name for v in enum.values}[a.default]
        return a.default

    def is_parsed(self, e):
        """Whether some option has values of this enum."""
        return any(e.name in (a.type, a.flags) for _, a in self.model.options)

    def choices(self, a):
        """(name, C++ value) of all names of an enum or of flags in the environment."""
        enum = self.model.enums.get(a.flags or a.type)
        if enum is None:
            return []
        if not enum.flags:
            return [(name, f"{enum.name}::{v.name}")
                    for v in enum.values if not v.marker for name in (v.also, v.name) if name]
        return [("none", "0")] + [(name, v.name) for name, v in self.flag_names(a)]

    def flag_names(self, a):
        """(name in the environment, value) of the flags of an attribute."""
        return [(v.name.split("_")[-1].lower(), v) for v in self.model.enums[a.flags].values if not v.marker]

    # --- operations ---

    def setter_type(self, op, name):
        for f in op.fields:
            if f.name == name:
                return f.type
        return self.attribute_type(op, name)

    def attribute_type(self, op, name):
        return next(a.type for a in op.resource.attributes if a.name == name)

    def on_demand(self, op):
        return any(f.name == "runtime" and f.argument.runtime == "on_demand" for f in op.fields)

    def resolved_fields(self, op):
        """Handles that resolve.cpp keeps in local variables."""
        used = {name for s in op.steps if s.kind in ("runtime", "default")
                for name in (s.field, s.owner) if name}
        return [f.name for f in op.fields if f.name in used]

    def may_be_empty(self, op):
        found = []
        for f in op.fields:
            if f.handle is None or f.positional:
                continue
            if f.argument.runtime in ("on_demand", "if_any"):
                found.append(f.name)
            elif f.argument.resolve is not None and f.argument.resolve.when:
                found.append(f"{f.name} (without {f.argument.resolve.when})")
        return found

    # --- checks of calls ---

    def handle_pointer(self, f):
        return f.type.endswith("*") and f.type[:-1] in self.model.handles

    def takes_default_runtime(self, op):
        """Whether omitted arguments come from the default runtime, whatever else is given."""
        return any(f.argument.runtime == "required" for f in op.fields)

    def collective(self, op):
        return op.group == "Collectives"

    def collective_text(self, op):
        """A C++ expression for the description of the call, which must be equal at all ranks."""
        numbers = [f for f in op.fields if f.type in ("size_t", "int") or f.name == "algorithm"]
        text = f'std::string("{op.name}(")'
        for i, f in enumerate(numbers):
            value = f"static_cast<int>(a.{f.name})" if f.name == "algorithm" else f"a.{f.name}"
            text += f' + "{", " if i else ""}{f.name} = " + std::to_string({value})'
        if op.name == "barrier":  # the only one of which some ranks must not wait while others pass an object
            text += ' + (a.comp.is_empty() ? "without comp" : "with comp")'
        return text + ' + ")"'

    def names_memory(self, op):
        """Whether lib/core/checking/memory_inspection.hpp checks the operation."""
        return op.name in ("post_comm", "post_am", "post_send", "post_recv", "post_put", "post_get", "post_atomic",
                           "net_post_put", "net_post_putImm", "net_post_get", "put_upacket")

    def works_after_fork(self, op):
        """Whether a forked child may call it: it only reads facts about the process, or ends the process."""
        return op.name in ("get_rank_me", "get_rank_n", "get_g_runtime", "abort")

    def ends_something(self, op):
        return op.returns == "void" and (
            op.name == "g_runtime_fina" or
            op.name.startswith(("free_", "deregister_m")) and
            any(self.handle_pointer(f) for f in op.positional))

    def without_a_word(self, op):
        """What such an operation does in a forked child."""
        pointers = [f for f in op.positional if self.handle_pointer(f)]
        if not pointers:
            return "return;"
        name = pointers[0].name
        return f"return core::leave_alone(args.{name});"

    def ends_known(self, op):
        """Whether it frees an object of a type for which freed objects are always detected (lib/base/objects.hpp)."""
        return op.name.startswith("free_") and op.name not in (
            "free_runtime", "free_comp", "free_shared")

    def makes(self, op):
        return op.resource is not None or op.name in ("register_memory", "alloc_shared",
                                                      "alloc_symmetric")

    def makes_known(self, op):
        return self.makes(op) and op.returns not in ("runtime_t", "comp_t", "mr_t")

    def accepts(self, f, op):
        """The values that an argument accepts, for the reference."""
        fact = facts.of(op.name, f.name, f.type, f.positional, self.model.enums, self.model.handles)
        return fact.text if fact else ""

    def misuse_cases(self, model):
        return list(misuse.Cases(model).all())

    def headers(self, resources):
        return sorted({r.header for r in resources})

    def resolve_headers(self, resources):
        """The headers of resources whose members resolve.cpp reads."""
        owners = {s.owner for op in self.model.operations for s in op.steps if s.owner}
        return self.headers([r for r in resources if r.name in owners | {"runtime"}])

    # --- the reference ---

    def source_text(self, source):
        if source == "ours":
            return "own addition"
        if source in ("", "v2"):
            return "published interface"
        return f"paper {source}"

    def cell(self, text):
        return str(text).replace("|", "\\|").replace("\n", " ")

    def shown_default(self, a):
        """An attribute's built-in value as the reference shows it."""
        return a.default or '""'

    def default_text(self, f):
        """An optional argument's default as the reference shows it."""
        rule = f.argument.resolve
        if rule is not None:
            return f"{rule.owner}'s {rule.member}"
        mode = f.argument.runtime
        if mode:
            return {"required": "the device's, else the default runtime",
                    "on_demand": "the default runtime, if needed",
                    "if_any": "the default runtime, if any"}[mode]
        return f"`{f.argument.default}`"


def _environment(model):
    env = jinja2.Environment(loader=jinja2.FileSystemLoader(str(TEMPLATES)),
                             undefined=jinja2.StrictUndefined, trim_blocks=True,
                             lstrip_blocks=True, keep_trailing_newline=True, autoescape=False)
    filters = _Filters(model)
    for name in dir(filters):
        if not name.startswith("_") and callable(getattr(filters, name)):
            env.filters[name] = getattr(filters, name)
    env.globals["model"] = model
    return env


def template(name, model, **more):
    text = _environment(model).get_template(name).render(**more)
    lines, blank = [], True  # no consecutive empty lines, and none at the ends
    for line in text.split("\n"):
        line = line.rstrip()
        if line or not blank:
            lines.append(line)
        blank = not line
    return "\n".join(lines).strip("\n") + "\n"


def api_json(model):
    """The description as JSON, with derived operations expanded."""
    def plain(entry):
        return dataclasses.asdict(entry)

    def operation(op):
        def argument(f):
            a = f.argument
            return {"name": f.name, "type": f.type, "doc": f.doc, "default": a.default,
                    "resolve": plain(a.resolve) if a.resolve else None,
                    "runtime": a.runtime or None}
        return {"name": op.name, "returns": op.returns, "doc": op.doc, "result": op.result,
                "source": op.source, "group": op.group, "derived_from": op.base or None,
                "allocates": op.resource.name if op.resource else None,
                "positional": [argument(f) for f in op.positional],
                "optional": [argument(f) for f in op.optional],
                "setter_aliases": dict(op.aliases)}

    api = model.api
    return json.dumps({
        "enums": [plain(e) for e in api.enums],
        "aliases": [plain(a) for a in api.aliases],
        "constants": [plain(c) for c in api.constants],
        "resources": [plain(r) for r in api.resources],
        "operations": [operation(o) for o in model.operations],
        "functions": [plain(f) for f in api.functions],
        "variables": [plain(v) for v in api.variables],
    }, indent=1) + "\n"
