"""Clients that send anything: the server neither ends, nor touches what is outside of the root, nor forgets the others."""

import os
import subprocess
import unittest

from support import PATIENCE, ServedTest

FUZZ = os.environ['IOD_FUZZ']
COUNT = os.environ.get('IOD_FUZZ_COUNT', '1000')
MARKER = 'what-nobody-may-read'


def state(folder):
    """All that a client could change there."""
    return [(str(p), p.lstat().st_mode, p.lstat().st_uid, p.lstat().st_size, p.lstat().st_mtime_ns, p.lstat().st_nlink)
            for p in [folder, *sorted(folder.rglob('*'))]]


class Fuzzed(ServedTest):
    def test_requests_of_any_content_harm_nothing_and_nobody(self):
        outside = self.folder / 'outside'
        outside.mkdir()
        (outside / 'secret').write_text(MARKER)
        (self.root / 'd').mkdir()
        (self.root / 'd' / 'f').write_text('inside')
        for name, target in {'up': '..', 'link': '../outside/secret', 'absolute': str(outside / 'secret'),
                             'folder': str(outside), 'deep': '../outside/deeper'}.items():
            (self.root / name).symlink_to(target)
        before = state(outside)
        good = self.some_bytes('good', 3_000_000)
        attackers = [subprocess.Popen([FUZZ, self.server.address, str(seed), COUNT, MARKER],
                                      env=self.server.own_environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      cwd=self.folder) for seed in (1, 2)]
        # Attackers may change any file whose name they use, so the good client uses other names.
        for i in range(5):
            self.run_remotely('cp', good, f'/remote/good{i}')
            self.run_remotely('cmp', good, f'/remote/good{i}')
        for attacker in attackers:
            said, _ = attacker.communicate(timeout=10 * PATIENCE)
            self.assertEqual(attacker.returncode, 0, f'{said.decode()}\nserver: {self.server.said()[-2000:]}')
            connections, executed = (int(word) for word in said.split() if word.isdigit())
            self.assertGreater(connections, 5)
            self.assertGreater(executed, 50)
        self.assertIsNone(self.server.process.poll(), self.server.said()[-2000:])
        self.assertEqual(state(outside), before)
        self.assertEqual((outside / 'secret').read_text(), MARKER)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()),
                         ['address', 'good', 'outside', 'root', 'server.log'])
        self.run_remotely('cmp', good, '/remote/good0')
        self.eventually('all files of clients that were refused are closed',
                        lambda: not self.server.descriptors_below_root())


class FuzzedWithoutOpenat2(Fuzzed):
    options = ('--walk',)


if __name__ == '__main__':
    unittest.main()
