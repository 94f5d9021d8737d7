"""A munged of a test's own."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import time

MUNGED = shutil.which('munged', path=os.environ.get('PATH', '') + ':/usr/sbin')
STARTS_WITHIN = 60  # seconds, on a loaded machine


class Munged:
    """A munged, by default with a key of its own."""

    def __init__(self, key=None):
        self.folder = tempfile.TemporaryDirectory(prefix='munge_')
        os.chmod(self.folder.name, 0o755)
        here = pathlib.Path(self.folder.name)
        self.key = key or os.urandom(64)
        (here / 'key').write_bytes(self.key)
        (here / 'key').chmod(0o600)
        self.socket = here / 'socket'
        self.command = [MUNGED, '--foreground', '--force', *(f'--{what}={here / what.split("-")[0]}' for what in
                        ('key-file', 'socket', 'pid-file', 'log-file', 'seed-file'))]
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True)
        until = time.monotonic() + STARTS_WITHIN
        while not self.socket.exists():
            if self.process.poll() is not None or time.monotonic() > until:
                raise AssertionError('munged does not start: ' + self.process.communicate()[1])
            time.sleep(0.02)

    def kill(self):
        self.process.kill()
        self.process.communicate()
        self.socket.unlink(missing_ok=True)
        pathlib.Path(str(self.socket) + '.lock').unlink(missing_ok=True)

    def end(self):
        self.kill()
        self.folder.cleanup()

    def environment(self):
        return {'LCI_ATTR_PEER_AUTH': 'munge', 'LCI_ATTR_PEER_KEY_FILE': str(self.socket)}
