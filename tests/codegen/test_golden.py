"""What the templates make of the sample interface, word for word. After a change that is meant:

    python3 tests/codegen/test_golden.py --update

and read the difference."""

import sys
import unittest

import support
import sample_api as sample
import jinja2
from codegen import render
from codegen.model import Model

OUTPUTS = ("attributes.hpp", "handles.hpp", "operations.hpp", "core_operations.hpp",
           "resolve.cpp", "options.cpp")


def golden(name):
    return support.GOLDEN / (name + ".txt")


def rendered(name):
    return render.template(name + ".j2", Model(sample.API))


class Golden(unittest.TestCase):
    maxDiff = None

    def test_outputs_are_as_recorded(self):
        for name in OUTPUTS:
            with self.subTest(name):
                self.assertEqual(rendered(name).splitlines(),
                                 golden(name).read_text().splitlines())

    def test_nothing_is_recorded_that_is_not_compared(self):
        self.assertEqual({p.name for p in support.GOLDEN.iterdir()},
                         {golden(n).name for n in OUTPUTS})

    def test_a_mistyped_name_in_a_template_is_an_error(self):
        env = render._environment(Model(sample.API))
        with self.assertRaises(jinja2.UndefinedError):
            env.from_string("{{ model.no_such_thing }}").render()


def update():
    support.GOLDEN.mkdir(exist_ok=True)
    for name in OUTPUTS:
        golden(name).write_text(rendered(name))


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        update()
    else:
        unittest.main()
