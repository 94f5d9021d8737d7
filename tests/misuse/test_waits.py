"""Mistakes that make a program wait for ever leave a line on standard error that names them."""

import os
import subprocess
import unittest

PROGRAM = os.environ["WAITS"]


def run(how, check):
    env = {**os.environ, "LCI_ATTR_CHECK": check, "LCI_ATTR_BACKEND": "shm"}
    done = subprocess.run([PROGRAM, how], env=env, text=True, capture_output=True, timeout=60, check=True)
    return done.stdout, [line for line in done.stderr.splitlines() if line.startswith("lci: warning: ")]


class Waits(unittest.TestCase):
    def test_a_misused_node_is_reported_while_the_graph_waits_for_others(self):
        for check in ("0", "1"):
            out, warnings = run("graph", check)
            self.assertIn("ended: 0", out)
            self.assertEqual(len(warnings), 1, warnings)
            self.assertIn("post_send: rank = 99, but must be 0..0", warnings[0])

    def test_the_checking_mode_reports_the_first_message_to_a_handle_that_is_not_registered(self):
        warnings = run("handle", "1")[1]
        self.assertEqual(len(warnings), 1, warnings)
        for word in ("8 bytes", "from rank 0", "handle 77", "register_rcomp()"):
            self.assertIn(word, warnings[0])

    def test_without_the_checking_mode_such_messages_are_dropped_silently(self):
        self.assertEqual(run("handle", "0")[1], [])


if __name__ == "__main__":
    unittest.main()
