"""Who may come, and where paths lead."""

import os
import subprocess
import sys
import threading
import unittest

from munged import MUNGED, Munged
from support import IOD, NETWORK, PATIENCE, Server, ServedTest


class Paths(ServedTest):
    def test_no_path_leaves_the_root(self):
        (self.folder / 'secret').write_text('secret')
        (self.root / 'inner').mkdir()
        (self.root / 'file').write_text('file')
        links = {'up': '..', 'file_above': '../secret', 'absolute': str(self.folder / 'secret'), 'slash': '/',
                 'inner/deep': '../../../../../../../../../../../etc/passwd', 'config': '/etc', 'process': '/proc/self/root'}
        for name, target in links.items():
            (self.root / name).symlink_to(target)
        out = self.run_remotely(sys.executable, '-c', f'''
import os
def tried(what, *arguments):
    try:
        return what(*arguments)
    except OSError as e:
        return type(e).__name__
read = lambda p: open(p).read()
for path in ('file_above', 'absolute', 'inner/deep', 'config/passwd', 'process/etc/passwd', 'slash/etc/passwd',
             'up/secret', 'up/up/up/up/secret'):
    assert tried(read, '/remote/' + path) == 'FileNotFoundError', path
for path in ('up/file', 'slash/file', 'up/up/inner/../file', 'inner/../slash/file'):
    assert tried(read, '/remote/' + path) == 'file', path
assert sorted(os.listdir('/remote/up')) == sorted(os.listdir('/remote'))
# What creates and removes names does not leave it either.
os.mkdir('/remote/up/made')
assert tried(os.mkdir, '/remote/config/made') == 'FileNotFoundError'
assert tried(os.unlink, '/remote/file_above') is None
assert tried(os.rename, '/remote/file', '/remote/slash/moved') is None
os.symlink('/remote/moved', '/remote/mine')
assert read('/remote/mine') == 'file' and os.readlink('/remote/mine') == '/remote/moved'
''')
        self.assertEqual(out, '')
        self.assertEqual((self.folder / 'secret').read_text(), 'secret')
        self.assertEqual(sorted(os.listdir(self.folder)), ['address', 'root', 'secret', 'server.log'])
        self.assertTrue((self.root / 'made').is_dir())
        self.assertEqual(os.readlink(self.root / 'mine'), '/moved')

    def test_a_pipe_in_the_folder_lets_no_request_wait(self):
        os.mkfifo(self.root / 'pipe')
        out = self.run_remotely(sys.executable, '-c', '''
import errno, fcntl, os
named = os.open('/remote/pipe', os.O_PATH | os.O_APPEND)
for call in (lambda: os.open('/remote/pipe', os.O_RDONLY), lambda: os.open('/remote/pipe', os.O_WRONLY),
             lambda: os.truncate('/remote/pipe', 0), lambda: os.lseek(named, 0, os.SEEK_DATA),
             lambda: fcntl.fcntl(named, fcntl.F_SETLK, bytes(32)), lambda: os.utime('/remote/pipe'),
             lambda: os.stat('/remote/pipe'), lambda: os.listdir('/remote')):
    try:
        call()
        print('done')
    except OSError as e:
        print(errno.errorcode[e.errno])''')
        self.assertEqual(out.split(), ['ENXIO', 'ENXIO', 'ENXIO', 'EBADF', 'EBADF', 'done', 'done', 'done'])

    def test_a_folder_that_becomes_a_link_meanwhile_leads_nowhere(self):
        outside = self.folder / 'outside'
        outside.mkdir()
        (outside / 'file').write_text('outside')
        for name in ('a', 'b'):
            (self.root / name).mkdir()
            (self.root / name / 'file').write_text('inside')
        (self.root / 'link').symlink_to('../outside')
        over = threading.Event()

        def exchange():
            while not over.is_set():
                os.rename(self.root / 'a', self.root / 'aside')
                os.rename(self.root / 'link', self.root / 'a')
                os.rename(self.root / 'a', self.root / 'link')
                os.rename(self.root / 'aside', self.root / 'a')

        racer = threading.Thread(target=exchange)
        racer.start()
        try:
            out = self.run_remotely(sys.executable, '-c', '''
found = set()
for i in range(3000):
    try:
        found.add(open('/remote/a/file').read())
    except OSError as e:
        found.add(type(e).__name__)
print('inside' in found, 'outside' in found)''')
        finally:
            over.set()
            racer.join()
        self.assertEqual(out.split(), ['True', 'False'])

    def test_pipes_and_devices_are_not_opened(self):
        os.mkfifo(self.root / 'pipe')
        done = self.start('cat', '/remote/pipe')
        self.assertIn(b'No such device or address', done.communicate(timeout=PATIENCE)[1])


class PathsWithoutOpenat2(Paths):
    options = ('--walk',)


@unittest.skipUnless(NETWORK == 'tcp', 'in shared memory the kernel decides: processes of one user')
class Keys(ServedTest):
    def key(self, name):
        path = self.folder / name
        path.write_bytes(os.urandom(32))
        path.chmod(0o600)
        return path

    def test_only_who_has_the_key_is_served(self):
        key, other = self.key('key'), self.key('other')
        (self.folder / 'second').mkdir()
        server = Server(self.folder / 'second', '--auth', 'secret', '--key-file', str(key))
        self.addCleanup(server.stop)
        (server.root / 'file').write_text('text')
        out = self.run_remotely('cat', '/remote/file', server=server, environment={'LCI_ATTR_PEER_KEY_FILE': str(key)})
        self.assertEqual(out, 'text')
        for environment in ({}, {'LCI_ATTR_PEER_KEY_FILE': str(other)}):
            done = self.start('cat', '/remote/file', server=server, environment={'IOD_TIMEOUT': '3', **environment})
            out, err = done.communicate(timeout=PATIENCE)
            self.assertEqual((out, done.returncode), (b'', 1))
            self.assertIn(b'Input/output error', err)


    @unittest.skipUnless(MUNGED, 'munged is not installed (Debian: munge)')
    def test_only_users_whom_munge_confirms_are_served(self):
        munged, other = Munged(), Munged()
        self.addCleanup(munged.end)
        self.addCleanup(other.end)
        (self.folder / 'third').mkdir()
        try:
            server = Server(self.folder / 'third', '--auth', 'munge', '--key-file', str(munged.socket))
        except AssertionError as e:
            if 'built without' in str(e) or 'libmunge' in str(e):
                self.skipTest(str(e))
            raise
        self.addCleanup(server.stop)
        (server.root / 'file').write_text('text')
        out = self.run_remotely('cat', '/remote/file', server=server, environment=munged.environment())
        self.assertEqual(out, 'text')
        for environment in ({}, other.environment()):
            done = self.start('cat', '/remote/file', server=server, environment={'IOD_TIMEOUT': '3', **environment})
            out, err = done.communicate(timeout=PATIENCE)
            self.assertEqual((out, done.returncode), (b'', 1))
            self.assertIn(b'Input/output error', err)


class CommandLine(unittest.TestCase):
    def run_server(self, *arguments):
        return subprocess.run([IOD, *arguments], capture_output=True, text=True, timeout=PATIENCE)

    def test_help_names_all_options(self):
        done = self.run_server('--help')
        self.assertEqual(done.returncode, 0)
        for option in ('root', '--listen', '--auth', '--key-file', '--threads', '--max-clients', '--address-file'):
            self.assertIn(option, done.stdout)

    def test_an_address_file_that_can_not_be_written_is_named(self):
        done = self.run_server('/tmp', '--address-file', '/nowhere/address')
        self.assertEqual((done.returncode, done.stderr),
                         (1, 'lci_iod: --address-file /nowhere/address: No such file or directory\n'))

    def test_options_that_make_no_sense_are_refused(self):
        for arguments in ([], ['/nowhere'], ['/tmp', '--threads', '0'], ['/tmp', '--auth', 'magic'],
                          ['/tmp', '--auth', 'secret'], ['/tmp', '--listen', 'nonsense']):
            with self.subTest(arguments=arguments):
                done = self.run_server(*arguments)
                self.assertNotEqual(done.returncode, 0)
                self.assertNotEqual(done.stderr, '')
                if '--listen' not in arguments:  # refused later, by the library
                    self.assertEqual(done.returncode, 2)
                    self.assertTrue(done.stderr.startswith('lci_iod: '), done.stderr)


if __name__ == '__main__':
    unittest.main()
