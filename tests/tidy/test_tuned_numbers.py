"""docs/tuned-numbers.md has the values that the sources have."""

import re
import unittest

import tree

PAGE = "docs/tuned-numbers.md"
ROW = re.compile(r"^\| `([^`]+)` \| `([^`]+)` \| `([^`]+)` \|", re.M)


class TunedNumbers(unittest.TestCase):
    def test_each_row_has_the_value_of_its_source(self):
        rows = ROW.findall(tree.text(PAGE))
        self.assertGreater(len(rows), 30)
        for path, name, value in rows:
            with self.subTest(path=path, name=name):
                self.assertTrue((tree.SOURCE / path).is_file(), "no such file")
                initial = rf"\b{name}(?: = {re.escape(value)}[,;]|{re.escape(value)};)"
                self.assertRegex(tree.without_comments(tree.text(path)), initial)


if __name__ == "__main__":
    unittest.main()
