"""What several backends need stands once, in network/common: no two of them contain the same run of lines."""

import collections
import unittest

import tree

RUN = 6  # lines
SHARED = "common"

# Lines that say nothing about what the code does: every file that uses a header or closes a block has them, and every
# class that implements the contract declares its methods ("override;").
TRIVIAL = ("#include", "#pragma", "using ", "namespace ", "}  // namespace", "public:", "private:", "protected:", "//")


def meaningful_lines(text):
    """Pairs of number and stripped text of the lines that count."""
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if line.strip("{}();, ") and not line.startswith(TRIVIAL) and not line.endswith("override;"):
            yield number, line


def repeated_runs(texts, length=RUN):
    """Runs of `length` lines that stand in files of several backends. `texts`: by backend and path."""
    places = collections.defaultdict(dict)
    for (backend, path), text in texts.items():
        lines = list(meaningful_lines(text))
        for i in range(len(lines) - length + 1):
            run = tuple(line for _, line in lines[i:i + length])
            places[run].setdefault(backend, f"{path}:{lines[i][0]}")
    return sorted({" and ".join(sorted(where.values())) for where in places.values() if len(where) > 1})


class Backends(unittest.TestCase):
    def test_a_repeated_run_is_found_whatever_its_indentation(self):
        one = "\n".join(f"a{i}();" for i in range(RUN))
        other = "#include <x>\n{\n" + "\n\n".join(f"  a{i}();" for i in range(RUN)) + "\n}\n"
        self.assertEqual(repeated_runs({("x", "x/a.cpp"): one, ("y", "y/b.cpp"): other}), ["x/a.cpp:1 and y/b.cpp:3"])
        self.assertEqual(repeated_runs({("x", "x/a.cpp"): one, ("x", "x/b.cpp"): other}), [])
        self.assertEqual(repeated_runs({("x", "x/a.cpp"): one, ("y", "y/b.cpp"): other.replace("a3", "b3")}), [])

    def test_no_two_backends_contain_the_same_run_of_lines(self):
        texts = {}
        for path in tree.files("network"):
            folder = path.parts[1]
            if path.suffix in (".cpp", ".hpp") and len(path.parts) > 2 and folder != SHARED:
                texts[folder, str(path)] = tree.text(path)
        self.assertGreater(len({backend for backend, _ in texts}), 4)
        self.assertEqual(repeated_runs(texts), [])


if __name__ == "__main__":
    unittest.main()
