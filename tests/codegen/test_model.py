"""The model accepts our API, derives what it should, and rejects descriptions that are wrong."""

import dataclasses
import unittest

import support  # noqa: F401: makes the next ones importable
from api_dsl import API
from api_dsl.schema import (Argument, Attribute, Constant, Default, Derived, EnumValue, Operation, Resource,
                            Variable)
from codegen.model import FIRST_OBJECT, Model, ModelError

RUNTIME = Argument("runtime", "runtime_t", "The runtime.", "runtime_t()", runtime="on_demand")


def with_operation(*operations):
    return dataclasses.replace(API, operations=API.operations + operations)


def with_attribute(**changes):
    """The API with one more attribute of a device."""
    attribute = dataclasses.replace(
        Attribute("fresh", "size_t", "A fresh attribute.", "4"), **changes)
    resources = tuple(
        dataclasses.replace(r, attributes=r.attributes + (attribute,)) if r.name == "device" else r
        for r in API.resources)
    return dataclasses.replace(API, resources=resources)


def operation(name="fresh", **changes):
    return dataclasses.replace(
        Operation(name, "void", "Does nothing.", (), (RUNTIME,), group="Tests"), **changes)


class Rejects(unittest.TestCase):
    def rejected(self, api, message):
        with self.assertRaises(ModelError) as caught:
            Model(api)
        self.assertRegex(str(caught.exception), message)

    def test_nothing_of_our_api(self):
        Model(API)
        Model(with_operation(operation()))
        Model(with_attribute())

    def test_an_operation_twice(self):
        self.rejected(with_operation(operation("cq_pop")), "cq_pop is there twice")

    def test_an_argument_twice(self):
        self.rejected(with_operation(operation(optional=(RUNTIME, RUNTIME))),
                      "fresh: runtime is there twice")

    def test_an_attribute_twice_even_in_two_resources(self):
        self.rejected(with_attribute(name="npackets"), "npackets is there twice")

    def test_missing_docs(self):
        for doc in ("", "word", "No end", "."):
            with self.subTest(doc=doc):
                self.rejected(with_operation(operation(doc=doc)), "fresh: needs a doc")
                self.rejected(with_attribute(doc=doc), r"device\.fresh: needs a doc")
        argument = dataclasses.replace(RUNTIME, doc="")
        self.rejected(with_operation(operation(optional=(argument,))),
                      r"fresh\.runtime: needs a doc")
        enum = dataclasses.replace(API.enums[-1], values=(EnumValue("x", ""),))
        self.rejected(dataclasses.replace(API, enums=API.enums[:-1] + (enum,)), "x: needs a doc")
        self.rejected(with_operation(operation(returns="int")), "needs a sentence on what")

    def test_unknown_types(self):
        argument = Argument("x", "widget_t", "An argument.")
        self.rejected(with_operation(operation(positional=(argument,))),
                      r"fresh\.x: type widget_t is not known")
        self.rejected(with_operation(operation(returns="widget_t", result="A widget it is.")),
                      "fresh: type widget_t is not known")
        self.rejected(with_attribute(type="widget_t"), r"device\.fresh: type widget_t is not")

    def test_names_that_are_no_names(self):
        self.rejected(with_operation(operation("Fresh")), "Fresh: is no snake_case name")
        argument = Argument("call", "int", "An argument.")
        self.rejected(with_operation(operation(positional=(argument,))), "reserved name")
        self.rejected(with_attribute(name="user_context"), "reserved name")

    def test_defaults_that_make_no_sense(self):
        self.rejected(with_attribute(type="attr_backend_t", default="udp"),
                      "default udp is no value of attr_backend_t")
        self.rejected(with_attribute(minimum=5), "default 4 is out of its own range")
        self.rejected(with_attribute(maximum=3), "default 4 is out of its own range")
        argument = Argument("x", "int", "An argument.", "3")
        self.rejected(with_operation(operation(positional=(argument,))),
                      "positional with a default")
        argument = Argument("x", "int", "An argument.")
        self.rejected(with_operation(operation(optional=(argument,))),
                      "optional without a default")

    def test_an_attribute_that_no_text_can_set(self):
        self.rejected(with_attribute(type="make_key_t", default="nullptr"),
                      "can't be read from the environment")
        Model(with_attribute(type="make_key_t", default="nullptr", from_env=False))

    def test_handles_without_a_rule(self):
        argument = Argument("device", "device_t", "A device.", "device_t()")
        self.rejected(with_operation(operation(optional=(argument,))),
                      r"fresh\.device: needs a rule for the empty handle")
        argument = dataclasses.replace(argument, resolve=Default("endpoint", "device", "remedy"))
        self.rejected(with_operation(operation(optional=(argument,))),
                      "its default comes from endpoint, which is no argument")
        bare = dataclasses.replace(RUNTIME, runtime="")
        self.rejected(with_operation(operation(optional=(bare,))), "needs a degree")

    def test_resources_that_do_not_exist(self):
        self.rejected(with_operation(operation(resource="widget")), "widget is no resource")
        parent = Resource("parent", "A parent of nobody.", children=("widget",))
        self.rejected(dataclasses.replace(API, resources=API.resources + (parent,)),
                      "its child widget is no resource")

    def test_derivations_that_make_no_sense(self):
        def derived(**changes):
            return with_operation(dataclasses.replace(
                Derived("fresh", "post_comm", "A fresh form.",
                        ("rank", "local_buffer", "size", "local_comp"), ("direction",)),
                **changes))
        Model(derived())
        self.rejected(derived(base="post_widget"), "its base post_widget is no operation")
        self.rejected(derived(omit=("direction", "widget")), "widget is no argument of post_comm")
        self.rejected(derived(omit=()), "direction is neither positional nor omitted")
        self.rejected(derived(omit=("direction", "rank")), "rank is both omitted and used")

    def test_setter_aliases_for_nothing(self):
        self.rejected(with_operation(operation(setter_aliases=(("x", "y"),))),
                      "x stands for y, which it has not")
        self.rejected(with_operation(operation(setter_aliases=(("runtime", "runtime"),))),
                      "runtime is there twice")

    def test_constants_where_objects_may_be(self):
        for pointer in (-1, FIRST_OBJECT):
            with self.subTest(pointer=pointer):
                constant = Constant("COMP_FRESH", "comp_t", pointer, "Signals nothing.")
                self.rejected(dataclasses.replace(API, constants=API.constants + (constant,)),
                              f"COMP_FRESH: pointer {pointer} is not in 0..15")

    def test_variables_of_others(self):
        variable = Variable("PATH", "Not one of ours.")
        self.rejected(dataclasses.replace(API, variables=(variable,)), "does not begin with LCI_")

    def test_all_faults_are_reported_at_once(self):
        with self.assertRaises(ModelError) as caught:
            Model(with_operation(operation(doc="", returns="widget_t")))
        self.assertGreaterEqual(len(str(caught.exception).splitlines()), 2)


class Derives(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.operations = {o.name: o for o in Model(API).operations}

    def names(self, operation):
        o = self.operations[operation]
        return [f.name for f in o.positional], [f.name for f in o.optional]

    def test_positional_arguments_in_the_published_order(self):
        self.assertEqual(self.names("post_am")[0],
                         ["rank", "local_buffer", "size", "local_comp", "remote_comp"])
        self.assertEqual(self.names("post_send")[0],
                         ["rank", "local_buffer", "size", "tag", "local_comp"])
        self.assertEqual(self.names("post_put")[0],
                         ["rank", "local_buffer", "size", "local_comp", "remote_disp", "rmr"])

    def test_shared_arguments_that_an_operation_does_not_use_are_removed(self):
        self.assertNotIn("rmr", sum(self.names("post_send"), []))
        self.assertNotIn("matching_engine", sum(self.names("post_put"), []))
        self.assertNotIn("direction", sum(self.names("post_recv"), []))

    def test_outgoing_buffers_are_constant(self):
        types = {name: {f.name: f.type for f in self.operations[name].fields}["local_buffer"]
                 for name in ("post_am", "post_send", "post_put", "post_recv", "post_get",
                              "post_comm")}
        self.assertEqual(types, {"post_am": "const void*", "post_send": "const void*",
                                 "post_put": "const void*", "post_recv": "void*",
                                 "post_get": "void*", "post_comm": "void*"})

    def test_a_pointer_and_its_size_are_one_buffer(self):
        model = Model(API)
        with_buffer = {o.name for o in model.operations if o.without_buffer}
        self.assertLessEqual({"post_comm", "post_am", "post_send", "post_recv", "post_put", "post_get",
                              "register_memory", "broadcast"}, with_buffer)
        # Two buffers, or a size that is not the buffer's.
        self.assertTrue(with_buffer.isdisjoint({"allreduce", "gather", "alltoall", "post_atomic"}))
        put = next(o for o in model.operations if o.name == "post_put")
        before, buffer, after = ([f.name for f in part] for part in put.without_buffer)
        self.assertEqual((before, buffer, after), (["rank"], ["local_buffer", "size"],
                                                   ["local_comp", "remote_disp", "rmr"]))

    def test_every_resource_that_is_allocated_can_be_freed(self):
        freed = {handle for handle, _, _ in Model(API).freed}
        self.assertEqual(freed, {r.name + "_t" for r in API.resources} - {"graph_node_t"})

    def test_handles_are_resolved_after_what_they_come_from(self):
        for o in self.operations.values():
            order = [s.field for s in o.steps]
            for step in o.steps:
                if step.kind == "default" and step.owner in order:
                    with self.subTest(operation=o.name, argument=step.field):
                        self.assertLess(order.index(step.owner), order.index(step.field))

    def test_the_number_of_the_layout_changes_with_compiled_in_types(self):
        same = Model(API).layout
        self.assertEqual(Model(API).layout, same)
        documented = dataclasses.replace(API.operations[0], doc="Does it in other words.")
        self.assertEqual(Model(dataclasses.replace(API, operations=(documented,) + API.operations[1:])).layout, same)
        swapped = (Argument("one", "int", "The one.", "0"), Argument("two", "int", "The two.", "0"))
        numbers = {same, Model(with_attribute()).layout, Model(with_attribute(name="other")).layout,
                   Model(with_attribute(type="uint64_t")).layout, Model(with_operation(operation())).layout,
                   Model(with_operation(operation(optional=swapped))).layout,
                   Model(with_operation(operation(optional=swapped[::-1]))).layout}
        self.assertEqual(len(numbers), 7)

    def test_fields_leave_no_padding_inside(self):
        for o in self.operations.values():
            alignments = [f.alignment for f in o.layout]
            with self.subTest(operation=o.name):
                self.assertEqual(alignments, sorted(alignments, reverse=True))


if __name__ == "__main__":
    unittest.main()
