"""lcirun's --help, its manual page and the completion of three shells have the same options."""

import os
import pathlib
import re
import shutil
import subprocess
import unittest

from support import lcirun

LAUNCHER = pathlib.Path(os.environ['LAUNCHER_SOURCE'])


def options_of_help():
    text = lcirun('--help').stdout
    head = text[text.index('Options:'):text.index('Each rank gets')]
    return {word for line in head.splitlines() if re.match(r'\s+-', line)
            for word in re.findall(r'(?<![\w-])--?[a-z][a-z-]*', line.strip().split(' ')[0])}


class Words(unittest.TestCase):
    def setUp(self):
        self.options = options_of_help()
        self.assertGreater(len(self.options), 20)
        self.assertIn('--host-timeout', self.options)

    def test_the_manual_page_has_all_options_and_no_other(self):
        text = (LAUNCHER / 'lcirun.1').read_text().replace('\\-', '-')
        tagged = re.findall(r'^\.TP\n(.*)$', text, re.M)
        named = {word for line in tagged for word in re.findall(r'(?<![\w-])--?[a-z][a-z-]*', line)}
        self.assertEqual(named, self.options)

    def test_values_of_options_are_the_same_everywhere(self):
        text = lcirun('--help').stdout
        for option in ('--bind', '--gdb-mode'):
            values = re.search(rf'{option} \S*\{{(.*?)\}}', text).group(1).split(',')
            for path in ('lcirun.1', 'completion/lcirun.bash', 'completion/_lcirun', 'completion/lcirun.fish'):
                for value in values:
                    self.assertIn(value, (LAUNCHER / path).read_text(), (path, option))

    @unittest.skipIf(shutil.which('man') is None, 'no man (Debian: man-db)')
    def test_the_manual_page_is_formatted_without_warnings(self):
        shown = subprocess.run(['man', '--warnings', '-l', LAUNCHER / 'lcirun.1'], capture_output=True, text=True,
                               env={**os.environ, 'MANWIDTH': '100', 'LC_ALL': 'C.UTF-8', 'MANPAGER': 'cat'})
        self.assertEqual((shown.returncode, shown.stderr), (0, ''))
        self.assertIn('Several hosts', shown.stdout)

    def completed(self, *words):
        """Bash's completions of the last of these words."""
        script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _lcirun; '
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        shown = subprocess.run(['bash', '--norc', '-c', script, 'bash', LAUNCHER / 'completion/lcirun.bash', *words],
                               capture_output=True, text=True, check=True, cwd=LAUNCHER)
        self.assertEqual(shown.stderr, '')
        return shown.stdout.split()

    def test_bash_completes_options_values_and_programs(self):
        self.assertEqual(set(self.completed('lcirun', '-')), self.options)
        self.assertEqual(self.completed('lcirun', '--host'), ['--hosts', '--hostfile', '--host-timeout'])
        self.assertEqual(self.completed('lcirun', '--bind', 's'), ['socket'])
        self.assertEqual(self.completed('lcirun', '-n', '2', '--gdb-mode', ''), ['auto', 'xterm', 'server', 'batch'])
        self.assertIn('lcirun.1', self.completed('lcirun', '-n', '2', 'cat', 'lcirun'))
        self.assertIn('lcirun.1', self.completed('lcirun', '-n', '2', '--', 'cat', 'lcirun'))
        self.assertEqual(self.completed('lcirun', '-n', '2', 'cat', '--la'), [])

    def test_zsh_completes_the_same_options(self):
        text = (LAUNCHER / 'completion/_lcirun').read_text()
        named = {word for line in text.splitlines()[3:]
                 for word in re.findall(r"(?<![\w-])--?[a-z][a-z-]*(?=[\[,}])", line)}
        self.assertEqual(named, self.options)
        if shutil.which('zsh') is None:
            self.skipTest('no zsh (Debian: zsh) to parse it')
        checked = subprocess.run(['zsh', '-n', LAUNCHER / 'completion/_lcirun'], capture_output=True, text=True)
        self.assertEqual((checked.returncode, checked.stderr), (0, ''))

    def test_fish_completes_the_same_options(self):
        text = (LAUNCHER / 'completion/lcirun.fish').read_text()
        named = {f'--{word}' for word in re.findall(r' -l (\S+)', text)}
        named |= {f'-{word}' for word in re.findall(r' -s (\S+)', text)}
        self.assertEqual(named, self.options)
        if shutil.which('fish') is None:
            self.skipTest('no fish (Debian: fish) to run it')
        shown = subprocess.run(['fish', '--no-config', '-c', f'source {LAUNCHER}/completion/lcirun.fish; '
                                'complete -C "lcirun --host"'], capture_output=True, text=True)
        self.assertEqual({line.split()[0] for line in shown.stdout.splitlines()},
                         {'--host-timeout', '--hostfile', '--hosts'}, shown.stderr)


class Mistakes(unittest.TestCase):
    def test_invalid_hosts_are_refused(self):
        for words, text in ((['--hosts', ''], "''"), (['--hosts', 'a,'], "''"), (['--hosts', 'a:0'], "'a:0'"),
                            (['--hosts', 'a:x'], "'a:x'"), (['--hosts', '-oProxyCommand=x'], '-oProxyCommand'),
                            (['--hosts', 'a b'], "'a b'"), (['--hosts', 'a;b'], "'a;b'"),
                            (['--hostfile', '/no/such/file'], '/no/such/file'),
                            (['--hostfile', '/dev/null'], 'no host'),
                            (['--hosts', 'a', '--ssh', ' '], '--ssh'), (['--hosts', 'a', '--host-timeout', '0'], '0'),
                            (['--hosts', 'a', '--hostfile', 'b'], '--host'), (['--output', 'x', '--label'], '--label'),
                            (['-q', '-v'], '--quiet')):
            with self.subTest(words=words):
                result = lcirun('-n', 1, *words, 'true')
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(text, result.stderr)
                self.assertEqual(len(result.stderr.splitlines()), 2)  # and the usage


if __name__ == '__main__':
    unittest.main()
