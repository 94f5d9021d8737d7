"""Starts lci_iod, and programs that use its files through the preloaded library."""

import os
import pathlib
import resource
import shutil
import subprocess
import tempfile
import time
import unittest

IOD = os.environ['IOD_PROGRAM']
SHIM = os.environ['IOD_SHIM']
CALLS = os.environ['IOD_CALLS']
NETWORK = os.environ.get('IOD_NETWORK', 'shm')
PATIENCE = 120


def needs(program):
    return unittest.skipUnless(shutil.which(program), f'{program} is not installed')


class Server:
    """A server of a folder of its own, over shared memory or TCP. `more`: variables of its environment."""

    def __init__(self, folder, *options, listen='tcp://127.0.0.1:0', network=NETWORK, address_space=None,
                 **more):
        self.root = folder / 'root'
        self.root.mkdir(exist_ok=True)
        self.network = network
        address = folder / 'address'
        address.unlink(missing_ok=True)
        self.log = open(folder / 'server.log', 'a+')
        if network == 'tcp':
            options += ('--listen', listen)
        self.process = subprocess.Popen([IOD, str(self.root), '--address-file', str(address), '--verbose', *options],
                                        stdout=self.log, stderr=self.log, env=dict(self.own_environment(), **more),
                                        preexec_fn=address_space and (lambda: resource.setrlimit(
                                            resource.RLIMIT_AS, (address_space, address_space))))
        until = time.monotonic() + PATIENCE
        while not address.exists():
            if self.process.poll() is not None or time.monotonic() > until:
                raise AssertionError(f'no server: {self.said()}')
            time.sleep(0.01)
        self.address = address.read_text().strip()

    def own_environment(self):
        # Processes of one host use shared memory by themselves unless there is none.
        return dict(os.environ, **({'LCI_ATTR_BACKEND': 'tcp'} if self.network == 'tcp' else {}))

    def environment(self, **more):
        return dict(self.own_environment(), LD_PRELOAD=SHIM, IOD_SERVER=self.address, IOD_VERBOSE='1', **more)

    def said(self):
        self.log.flush()
        return pathlib.Path(self.log.name).read_text()

    def descriptors_below_root(self):
        """Files of the root that the server has open."""
        found = []
        for entry in pathlib.Path(f'/proc/{self.process.pid}/fd').iterdir():
            try:
                target = os.readlink(entry)
            except FileNotFoundError:
                continue
            if target.startswith(str(self.root) + '/'):
                found.append(target)
        return found

    def descriptors(self):
        return len(os.listdir(f'/proc/{self.process.pid}/fd'))

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()


class ServedTest(unittest.TestCase):
    """A test with a folder, and a server below it."""

    options = ()
    server_environment = {}

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='io_server_')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.server = Server(self.folder, *self.options, **self.server_environment)
        self.addCleanup(self.server.stop)
        self.root = self.server.root

    def start(self, *command, server=None, environment=None, **how):
        how = {'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE, 'cwd': self.folder, **how}
        env = (server or self.server).environment(**(environment or {}))
        started = subprocess.Popen([str(c) for c in command], env=env, **how)
        self.addCleanup(lambda: (started.poll() is None and started.kill(), started.communicate()))
        return started

    def finish(self, started, expected=0):
        out, err = started.communicate(timeout=PATIENCE)
        self.assertEqual(started.returncode, expected,
                         f'{started.args}: {(err or b"").decode()[-2000:]}\nserver: {self.server.said()[-2000:]}')
        return (out or b'').decode(errors='replace')

    def run_remotely(self, *command, expected=0, **how):
        return self.finish(self.start(*command, **how), expected)

    def eventually(self, what, condition):
        until = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), until, what)
            time.sleep(0.02)

    def assert_same_files(self, a, b):
        done = subprocess.run(['diff', '-r', '--no-dereference', str(a), str(b)], capture_output=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stdout.decode(errors='replace')[-2000:])

    def some_bytes(self, name, size, seed=1):
        path = self.folder / name
        block = bytes((i * 7 + i // 256 + seed) % 256 for i in range(65536 + 13))
        with open(path, 'wb') as f:
            for n in range(0, size, len(block)):
                f.write(block[:size - n])
        return path

    def some_folder(self, name):
        """Folders, files of many sizes, links, odd names and modes."""
        top = self.folder / name
        for i in range(4):
            inner = top / f'folder {i}' / 'inner'
            inner.mkdir(parents=True)
            for size in (0, 1, 4095, 4096, 4097, 70000, 1 << 20):
                path = inner / f'file-{size}'
                path.write_bytes(os.urandom(size))
                os.utime(path, ns=(10 ** 9 * (1000 + size), 10 ** 9 * (2000 + size) + 123456789))
            (inner / 'ä "quoted" name').write_text('x')
            (inner / 'link').symlink_to('../inner/file-1')
            (inner / 'dangling').symlink_to('nowhere')
            os.link(inner / 'file-1', inner / 'hard link')
            os.chmod(inner / 'file-1', 0o640)
            os.chmod(inner, 0o750)
        return top
