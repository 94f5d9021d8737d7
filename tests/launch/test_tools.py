"""Options for single ranks: variables, binding, files, debuggers, several programs."""

import os
import shutil
import subprocess
import tempfile
import unittest

from support import HELPER, LCIRUN, PATIENCE, PYTHON, LaunchTest, lcirun, run

TOPOLOGY = os.path.join(os.path.dirname(LCIRUN), 'lcirun_topology')
no_hwloc = not os.path.exists(TOPOLOGY)
AFFINITY = 'import os; print(os.environ["PMI_RANK"], *sorted(os.sched_getaffinity(0)))'


class Tools(LaunchTest):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.mkdtemp(prefix='lcirun-test-')
        self.addCleanup(shutil.rmtree, self.folder)


class Environment(Tools):
    def test_variables_are_set_for_the_ranks(self):
        result = self.job('-n', 2, '--env', 'A=1 2', '--env', 'B=x=y', '--env', 'C', 'sh', '-c',
                          'echo "$A,$B,$C"', A='old', C='here')
        self.assertEqual(result.stdout, '1 2,x=y,here\n' * 2)

    def test_a_variable_that_is_not_set_is_refused(self):
        result = self.job('-n', 1, '--env', 'NOT_SET_AT_ALL', 'true')
        self.assertEqual(result.returncode, 2)
        self.assertIn('--env NOT_SET_AT_ALL', result.stderr)

    def test_the_folder_can_be_chosen(self):
        self.assertEqual(self.job('-n', 2, '--wdir', '/usr', 'pwd').stdout, '/usr\n' * 2)

    def test_programs_are_found_from_the_folder_in_which_ranks_start(self):
        for words in (['./bin/true'], ['../usr/bin/true'], ['true']):
            with self.subTest(words=words):
                result = self.job('-n', 2, '--wdir', '/usr', *words, PATH='bin')
                self.assertEqual((result.returncode, result.stderr), (0, ''))
        result = self.job('-n', 2, '--wdir', '/usr', './test_tools.py')
        self.assertEqual(result.returncode, 127)
        self.assertIn("'/usr' (--wdir)", result.stderr)


class Programs(Tools):
    def test_several_programs_run_as_one_job(self):
        result = self.job('-n', 2, HELPER, 'exchange', 2, ':', '-n', 1, '--env', 'X=5', 'sh', '-c',
                          f'echo $PMI_RANK $X; exec {HELPER} exchange 2')
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        self.assertEqual(result.stdout.count('exchanged'), 3)
        self.assertIn('2 5\n', result.stdout)

    def test_each_part_has_a_number(self):
        script = ('import os, socket; s = socket.socket(fileno=int(os.environ["PMI_FD"])); '
                  'f = s.makefile("rw"); w = lambda t: (f.write(t), f.flush(), f.readline())[2]; '
                  'w("cmd=init pmi_version=1 pmi_subversion=1\\n"); '
                  'print(os.environ["PMI_RANK"], w("cmd=get_appnum\\n").split("=")[-1].strip())')
        result = self.job('-n', 1, PYTHON, '-c', script, ':', '-n', 2, PYTHON, '-c', script)
        self.assertEqual(sorted(result.stdout.splitlines()), ['0 0', '1 1', '2 1'], result.stderr)

    def test_a_colon_among_the_program_s_arguments_is_passed_on(self):
        self.assertEqual(self.job('-n', 1, 'echo', ':', 'a').stdout, ': a\n')

    def test_a_part_begins_with_any_form_of_its_number_of_ranks(self):
        for number in (['-n', 1], ['-n1'], ['-np', 1], ['--ranks', 1], ['--ranks=1']):
            self.assertEqual(self.job('-n', 1, 'echo', 'a', ':', *number, 'echo', 'a').stdout, 'a\n' * 2, number)

    def test_mistakes_in_a_part_are_reported(self):
        for words, text in ((['-n', 1, 'true', ':', '-n', 2], 'no program'),
                            (['-n', 1, 'true', ':', '-n', 0, 'true'], '0'),
                            (['-n', 1, 'true', ':', '-n', 1, '--label', 'true'], '--label'),
                            (['-n', 9000, 'true', ':', '-n', 9000, 'true'], '16384')):
            result = self.job(*words)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(text, result.stderr)
        self.assertEqual(self.job('-n', 1, 'true', ':', '-n', 1, 'no-such-program').returncode, 127)


class Files(Tools):
    def read(self, name):
        with open(f'{self.folder}/{name}') as f:
            return f.read()

    def test_each_rank_writes_its_own_file(self):
        result = self.job('-n', 3, '--output', f'{self.folder}/o.%r.100%%', 'sh', '-c', 'echo $PMI_RANK; echo e >&2')
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, '', ''))
        for rank in range(3):
            self.assertEqual(self.read(f'o.{rank}.100%'), f'{rank}\ne\n')

    def test_stderr_can_have_a_file_of_its_own(self):
        self.job('-n', 2, '--output', f'{self.folder}/o', '--error', f'{self.folder}/e.%r', 'sh', '-c',
                 'echo out; echo error >&2')
        self.assertEqual((self.read('o'), self.read('e.0'), self.read('e.1')), ('out\n' * 2, 'error\n', 'error\n'))

    def test_existing_files_are_overwritten(self):
        for _ in range(2):
            self.job('-n', 1, '--output', f'{self.folder}/o', 'echo', 'once')
        self.assertEqual(self.read('o'), 'once\n')

    def test_output_to_a_fifo_waits_for_its_reader_and_says_so(self):
        fifo = f'{self.folder}/fifo'
        os.mkfifo(fifo)
        started = subprocess.Popen([LCIRUN, '-n', '2', '--output', fifo, 'echo', 'x'],
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(started.communicate)
        self.addCleanup(started.kill)
        self.assertEqual(started.stderr.readline(),
                         f"lcirun: waits until a program reads from the FIFO '{fifo}' (--output, --error)\n")
        with open(fifo) as reader:
            self.assertEqual(reader.read(), 'x\nx\n')
        self.assertEqual(started.wait(PATIENCE), 0)
        with subprocess.Popen(['cat', fifo], stdout=subprocess.PIPE, text=True) as reader:
            result = self.job('-n', 2, '--output', fifo, 'echo', 'y')
            self.assertEqual(reader.communicate(timeout=PATIENCE)[0], 'y\ny\n')
        self.assertEqual(result.stderr, '')

    def test_an_invalid_pattern_is_reported_before_any_rank_runs(self):
        result = self.job('-n', 1, '--output', f'{self.folder}/%x', 'touch', f'{self.folder}/ran')
        self.assertEqual(result.returncode, 2)
        self.assertIn('%r', result.stderr.replace('r (rank)', '%r'))
        result = self.job('-n', 1, '--output', '/no/such/folder/%r', 'touch', f'{self.folder}/ran')
        self.assertEqual(result.returncode, 1)
        self.assertIn("'/no/such/folder/0'", result.stderr)
        self.assertEqual(os.listdir(self.folder), [])


@unittest.skipIf(no_hwloc, 'built without hwloc (Debian: libhwloc-dev)')
class Binding(Tools):
    def bound(self, kind, ranks):
        result = self.job('-n', ranks, '--bind', kind, '--report-bindings', PYTHON, '-c', AFFINITY)
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = sorted([int(w) for w in line.split()] for line in result.stdout.splitlines())
        return [row[1:] for row in rows], result.stderr

    def test_ranks_are_bound_to_consecutive_cores_and_the_binding_is_printed(self):
        allowed = set(os.sched_getaffinity(0))
        places, report = self.bound('core', 2 * len(allowed) + 1)
        for rank, place in enumerate(places):
            self.assertTrue(place and set(place) <= allowed)
            self.assertIn(f'rank {rank} is bound to processor', report)
        cores = {tuple(place) for place in places}
        self.assertEqual(set().union(*map(set, cores)), allowed)
        self.assertEqual(sum(len(core) for core in cores), len(allowed))  # the cores are disjoint
        for rank in range(len(places) - len(cores)):
            self.assertEqual(places[rank], places[rank + len(cores)])

    def test_consecutive_ranks_share_a_socket(self):
        places, report = self.bound('socket', 4)
        self.assertEqual(set().union(*map(set, places)), set(os.sched_getaffinity(0)))
        self.assertEqual(places, sorted(places))
        self.assertIn('socket 0', report)

    def test_only_processors_that_lcirun_may_use_are_used(self):
        one = min(os.sched_getaffinity(0))
        result = run('taskset', '-c', one, LCIRUN, '-n', 2, '--bind', 'core', PYTHON, '-c', AFFINITY)
        self.assertEqual(sorted(result.stdout.splitlines()), [f'0 {one}', f'1 {one}'], result.stderr)

    def test_a_missing_binding_is_reported(self):
        result = self.job('-n', 1, '--report-bindings', 'true')
        self.assertEqual(result.stderr, 'lcirun: rank 0 is not bound\n')

    def test_binding_without_hwloc_is_refused(self):
        alone = shutil.copy(LCIRUN, self.folder)
        result = run(alone, '-n', 1, '--bind', 'core', 'true')
        self.assertEqual(result.returncode, 2)
        self.assertIn('hwloc', result.stderr)


@unittest.skipIf(shutil.which('gdb') is None, 'no gdb')
@unittest.skipIf(os.environ.get('SANITIZER', 'none') != 'none', 'sanitizers and debuggers are incompatible')
class Gdb(Tools):
    def test_a_crash_under_gdb_prints_stacks(self):
        result = self.job('-n', 2, '--gdb', '1', '--label', HELPER, 'signal', 1, 11, DISPLAY='')
        self.assertEqual(result.returncode, 139, result.stdout + result.stderr)
        lines = [line for line in result.stdout.splitlines() if line.startswith('[1] ')]
        self.assertTrue(any('SIGSEGV' in line for line in lines), result.stdout)
        self.assertTrue(any('main (' in line for line in lines), result.stdout)
        self.assertNotIn('[0] Program', result.stdout)

    def test_a_normal_exit_under_gdb_is_as_without_it(self):
        result = self.job('-n', 2, '--gdb', 'all', HELPER, 'exchange', 2, DISPLAY='')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.count('exchanged'), 2)
        self.assertEqual(self.job('-n', 1, '--gdb', '0', 'sh', '-c', 'exit 6', DISPLAY='').returncode, 6)

    def test_with_a_display_each_rank_has_a_terminal_with_gdb(self):
        path = os.path.join(self.folder, 'xterm')
        with open(path, 'w') as f:
            f.write('#!/bin/sh\necho "$@"\n')
        os.chmod(path, 0o755)
        result = self.job('-n', 2, '--gdb', 'all', 'true', DISPLAY=':0', PATH=f'{self.folder}:{os.environ["PATH"]}')
        self.assertEqual(sorted(result.stdout.splitlines()),
                         [f'-T rank {r} -e gdb --args {shutil.which("true")}' for r in range(2)])

    @unittest.skipIf(shutil.which('gdbserver') is None, 'no gdbserver (Debian: gdbserver)')
    def test_gdbserver_prints_its_port(self):
        process = self.start('-n', 1, '--gdb', 'all', '--gdb-mode', 'server', 'true')
        said = process.stderr.readline() + process.stderr.readline()
        self.assertRegex(said, r'Listening on port \d+')
        process.terminate()
        self.finish(process)

    def test_ranks_out_of_range_are_refused(self):
        for words, text in ((['--gdb', '2'], '0 to 1'), (['--gdb', 'x'], "'x'"), (['--gdb', '1-0'], "'1-0'"),
                            (['--valgrind', '0,'], "'0,'"), (['--gdb', '0', '--valgrind', 'all'], 'rank 0'),
                            (['--gdb-mode', 'other'], 'other')):
            result = lcirun('-n', 2, *words, 'true')
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(text, result.stderr)


@unittest.skipIf(shutil.which('valgrind') is None, 'no valgrind')
@unittest.skipIf(os.environ.get('SANITIZER', 'none') != 'none', 'sanitizers and valgrind are incompatible')
class Valgrind(Tools):
    def test_chosen_ranks_run_under_valgrind_with_a_log(self):
        result = self.job('-n', 2, '--valgrind', '1', '--wdir', self.folder, '/bin/true')
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        self.assertEqual(os.listdir(self.folder), ['valgrind.1.log'])
        with open(f'{self.folder}/valgrind.1.log') as f:
            self.assertIn('ERROR SUMMARY', f.read())


if __name__ == '__main__':
    unittest.main()
