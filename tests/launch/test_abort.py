"""lci::abort(): the job ends with its code wherever it is called, and nothing is left."""

import os
import unittest

from support import LaunchTest, run

HELPER = os.environ['ABORT_HELPER']


class Abort(LaunchTest):
    def ended(self, place, rank, code, shown, ranks=3):
        result = self.job('-n', ranks, HELPER, place, rank, code)
        self.assertEqual(result.returncode, shown, result.stderr)
        self.assertRegex(result.stderr, rf'lci: rank {rank}: abort with code {shown}: '
                                        r'as the test wants')
        self.assertRegex(result.stderr, rf'rank {rank} \(pid \d+\) aborted the job')
        self.assertNotIn('destroyed', result.stderr)
        return result

    def test_an_abort_ends_ranks_that_wait(self):
        result = self.ended('main', 1, 5, 5)
        self.assertEqual(sorted(result.stdout.splitlines()),
                         [f'rank {r} waits' for r in range(3)])

    def test_an_abort_in_a_handler_ends_the_job(self):
        self.ended('handler', 0, 7, 7)

    def test_concurrent_aborts_of_several_threads_end_the_job(self):
        self.ended('threads', 2, 9, 9)

    def test_a_code_out_of_range_does_not_become_0(self):
        self.ended('main', 0, 256, 1)
        self.ended('main', 0, -1, 255)

    def test_an_abort_with_code_0_ends_the_job(self):
        self.ended('main', 1, 0, 0)

    def test_an_abort_before_a_runtime_exists_ends_the_job(self):
        self.assertEqual(self.job('-n', 2, HELPER, 'without_runtime', 0, 4).returncode, 4)

    def test_an_abort_without_a_launcher_ends_the_process(self):
        for place in ('main', 'handler', 'threads', 'without_runtime'):
            result = run(HELPER, place, 0, 6)
            self.assertEqual(result.returncode, 6, place)
            self.assertIn('lci: abort with code 6: as the test wants', result.stderr)
            self.assertNotIn('destroyed', result.stderr)
        self.assertEqual(run(HELPER, 'main', 0, 512).returncode, 1)


if __name__ == '__main__':
    unittest.main()
