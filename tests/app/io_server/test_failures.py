"""Clients and servers that die."""

import os
import resource
import signal
import subprocess
import sys
import time
import unittest

from support import NETWORK, PATIENCE, Server, ServedTest

# Prints a line after each read, and the error's name in the end.
READER = '''
import errno, os, time
f = os.open('/remote/file', os.O_RDONLY)
while True:
    try:
        assert len(os.pread(f, {size}, 0)) == {size}
        print('read', flush=True)
    except OSError as e:
        print(errno.errorcode[e.errno], flush=True)
        break
'''


class Clients(ServedTest):
    def test_one_that_is_killed_in_a_transfer_harms_no_other(self):
        self.some_bytes('root/file', 4 << 20)
        writers = [self.start('dd', 'if=/dev/zero', f'of=/remote/endless{i}', 'bs=3M', 'status=none') for i in range(2)]
        reader = self.start(sys.executable, '-c', READER.format(size=4 << 20))
        for i in range(2):
            self.eventually('writers write', lambda i=i: (self.root / f'endless{i}').exists() and
                            (self.root / f'endless{i}').stat().st_size > 3 << 20)
        self.assertEqual(reader.stdout.readline(), b'read\n')
        for writer in writers:
            writer.kill()
            writer.wait()
        for _ in range(20):
            self.assertEqual(reader.stdout.readline(), b'read\n')
        self.eventually('the files of clients that were killed are closed',
                        lambda: not any('endless' in f for f in self.server.descriptors_below_root()))
        reader.kill()
        source = self.some_bytes('source', 1_000_000)
        self.run_remotely('cp', source, '/remote/after')
        self.run_remotely('cmp', source, '/remote/after')
        self.assertIsNone(self.server.process.poll())

    def test_one_that_is_stopped_in_a_transfer_delays_no_other(self):
        writer = self.start('dd', 'if=/dev/zero', 'of=/remote/endless', 'bs=3M', 'status=none')
        self.eventually('it writes', lambda: (self.root / 'endless').exists() and
                        (self.root / 'endless').stat().st_size > 3 << 20)
        for _ in range(5):
            writer.send_signal(signal.SIGSTOP)
            begin = time.monotonic()
            self.run_remotely('ls', '/remote')
            self.assertLess(time.monotonic() - begin, 20)
            writer.send_signal(signal.SIGCONT)
            time.sleep(0.01)
        self.assertIsNone(writer.poll())
        writer.kill()

    def test_several_that_are_stopped_in_transfers_delay_no_other(self):
        self.some_bytes('root/file', 8 << 20)
        self.some_bytes('root/small', 100_000)
        endless = 'import os\nf = os.open("/remote/file", os.O_RDWR)\nwhile True: '
        stopped = [self.start(sys.executable, '-c', endless + call) for call in
                   ('os.pread(f, 8 << 20, 0)', 'os.pwrite(f, bytes(8 << 20), 0)') * 3]
        time.sleep(2)
        for client in stopped:
            client.send_signal(signal.SIGSTOP)
        begin = time.monotonic()
        self.run_remotely('cp', '/remote/small', '/remote/copy')
        self.assertLess(time.monotonic() - begin, 20)
        for client in stopped:
            client.send_signal(signal.SIGCONT)
            self.assertIsNone(client.poll())

    def test_nothing_stays_open_after_many_have_come_and_died(self):
        for _ in range(10):
            client = self.start(sys.executable, '-c', '''
import os
f = [os.open('/remote/file', os.O_CREAT | os.O_RDWR) for _ in range(20)]
print('open', flush=True)
os.kill(os.getpid(), 9)''')
            client.wait(PATIENCE)
        self.eventually('all is closed', lambda: not self.server.descriptors_below_root())


class Servers(ServedTest):
    def lose(self, how):
        self.some_bytes('root/file', 4 << 20)
        for size in (100, 4 << 20):
            readers = [self.start(sys.executable, '-c', READER.format(size=size), environment={'IOD_TIMEOUT': '20'})
                       for _ in range(2)]
            for reader in readers:
                self.assertEqual(reader.stdout.readline(), b'read\n')
            self.server.process.send_signal(how)
            begin = time.monotonic()
            for reader in readers:
                self.assertEqual(self.finish(reader).split()[-1], 'EIO')
            self.assertLess(time.monotonic() - begin, 40)
            self.server.stop()
            self.server = Server(self.folder)
            self.addCleanup(self.server.stop)

    def test_clients_get_eio_when_it_is_killed(self):
        self.lose(signal.SIGKILL)

    def test_clients_get_eio_when_it_ends(self):
        self.lose(signal.SIGTERM)

    def test_clients_get_eio_when_it_falls_silent(self):
        self.some_bytes('root/file', 1000)
        reader = self.start(sys.executable, '-c', READER.format(size=100), environment={'IOD_TIMEOUT': '2'})
        self.assertEqual(reader.stdout.readline(), b'read\n')
        self.server.process.send_signal(signal.SIGSTOP)
        begin = time.monotonic()
        self.assertEqual(self.finish(reader).split()[-1], 'EIO')
        self.assertLess(time.monotonic() - begin, 30)
        self.server.process.send_signal(signal.SIGCONT)

    def test_what_can_not_be_reached_gives_eio(self):
        self.server.stop()
        done = self.start('cat', '/remote/file')
        self.assertIn(b'Input/output error', done.communicate(timeout=PATIENCE)[1])

    @unittest.skipUnless(NETWORK == 'tcp', 'addresses in shared memory name a process')
    def test_files_are_opened_at_a_server_that_has_started_again(self):
        (self.root / 'file').write_text('text')
        client = self.start(sys.executable, '-c', '''
import os, sys, time
f = os.open('/remote/file', os.O_RDONLY)
print(os.read(f, 10).decode(), flush=True)
sys.stdin.readline()
try:
    os.read(f, 10)
except OSError as e:
    print(e.errno, flush=True)
for attempt in range(100):
    try:
        print(open('/remote/file').read(), flush=True)
        break
    except OSError:
        time.sleep(0.2)
''', stdin=subprocess.PIPE)
        self.assertEqual(client.stdout.readline(), b'text\n')
        self.server.process.kill()
        self.server.process.wait()
        self.server = Server(self.folder, listen=self.server.address)
        self.addCleanup(self.server.stop)
        client.stdin.write(b'\n')
        client.stdin.close()
        client.stdin = None
        self.assertEqual(self.finish(client).split(), ['5', 'text'])


# Its first argument is the server. For each number and operation the server lacks memory for that allocation.
SHORT_OF_MEMORY = '''
import os, signal, sys, time
file = '/remote/a file with a long name'
for attempt in range(100):  # the former client's last number may make the server refuse this one
    try:
        descriptor = os.open(file, os.O_RDWR)
        break
    except OSError:
        time.sleep(0.1)
operations = {{
    'stat': lambda: os.stat(file).st_size,
    'open': lambda: os.close(os.open(file, os.O_RDWR)),
    'read': lambda: len(os.pread(descriptor, 100, 0)),
    'read much': lambda: len(os.pread(descriptor, 1 << 20, 0)),
    'write': lambda: os.pwrite(descriptor, bytes(100), 0),
    'write much': lambda: os.pwrite(descriptor, bytes(1 << 20), 0),
    'list': lambda: len(os.listdir('/remote')),
    'lock': lambda: os.lockf(descriptor, os.F_TLOCK, 0),
}}
for name in operations:
    begin = time.monotonic()
    os.kill(int(sys.argv[1]), signal.SIGRTMIN + {number})
    try:
        operations[name]()
        how = 'succeeds'
    except OSError as e:
        how = os.strerror(e.errno)
    print(name, how, round(time.monotonic() - begin), sep=':', flush=True)
'''


class WithoutMemory(ServedTest):
    server_environment = {'LD_PRELOAD': os.environ['IOD_SERVER_MEMORY']}

    def test_a_server_that_lacks_memory_replies_or_disconnects(self):
        self.some_bytes('root/a file with a long name', 4 << 20)
        seen = set()
        for number in range(12):
            client = self.start(sys.executable, '-c', SHORT_OF_MEMORY.format(number=number),
                                str(self.server.process.pid))
            for line in self.finish(client).splitlines():
                name, how, seconds = line.split(':')
                seen.add(how)
                self.assertLess(int(seconds), 20, f'{name} {how}, without allocation {number}')
        self.assertIn('Cannot allocate memory', seen)
        self.assertIsNone(self.server.process.poll(), self.server.said())

    def test_a_server_that_lacks_threads_says_so(self):
        with self.assertRaisesRegex(AssertionError, "lci_iod: can't start 256 threads: "):
            self.addCleanup(Server(self.folder, '--threads', '256', address_space=2 << 30).stop)


class SlowDisk(ServedTest):
    server_environment = {'LD_PRELOAD': os.environ['IOD_SLOW_DISK'], 'SLOW_DISK': '5'}
    SYNCS = '''
import errno, os, sys
f = os.open('/remote/file', os.O_CREAT | os.O_WRONLY)
print('open', flush=True)
sys.stdin.readline()
try:
    os.fsync(f)
    print(os.write(f, b'text'))
except OSError as e:
    print(errno.errorcode[e.errno])'''

    def begin(self):
        client = self.start(sys.executable, '-c', self.SYNCS, environment={'IOD_TIMEOUT': '1'}, stdin=subprocess.PIPE)
        self.assertEqual(client.stdout.readline(), b'open\n')
        client.stdin.write(b'\n')
        client.stdin.close()
        client.stdin = None
        return client

    def test_a_synchronization_may_take_longer_than_other_calls(self):
        self.assertEqual(self.finish(self.begin()), '4\n')

    def test_one_fails_if_the_server_falls_silent(self):
        client = self.begin()
        time.sleep(0.5)
        self.server.process.send_signal(signal.SIGSTOP)
        self.assertEqual(self.finish(client), 'EIO\n')
        self.server.process.send_signal(signal.SIGCONT)

    def test_a_disk_that_hangs_in_short_requests_delays_no_other_client(self):
        hung = [self.start(sys.executable, '-c', f'''
import os
f = os.open('/remote/file{i}', os.O_CREAT | os.O_WRONLY)
print('open', flush=True)
os.ftruncate(f, 4711)
print(os.fstat(f).st_size)''') for i in range(4)]
        for client in hung:
            self.assertEqual(client.stdout.readline(), b'open\n')
        time.sleep(0.5)
        self.run_remotely('cp', __file__, '/remote/copy')
        self.run_remotely('cmp', __file__, '/remote/copy')
        self.assertEqual([client.poll() for client in hung], [None] * 4)
        for client in hung:
            self.assertEqual(self.finish(client), '4711\n')

    def test_large_writes_stay_in_order_while_the_first_hangs(self):
        data = b'slow' + os.urandom(3_000_000)
        (self.folder / 'data').write_bytes(data)
        writer = self.start('dd', f'if={self.folder}/data', 'of=/remote/written', 'bs=4M', 'status=none')
        self.eventually('it writes', lambda: (self.root / 'written').exists())
        self.run_remotely('ls', '/remote')
        self.assertIsNone(writer.poll())
        self.finish(writer)
        self.assertEqual((self.root / 'written').read_bytes(), data)


class Limits(ServedTest):
    def error_with(self, limit, value):
        client = self.start(sys.executable, '-c', 'import os; os.open("/remote/file", os.O_CREAT | os.O_WRONLY)',
                            preexec_fn=lambda: resource.setrlimit(limit, (value, value)))
        return client.communicate(timeout=PATIENCE)[1].decode().splitlines()[-1]

    def test_the_error_is_that_of_a_limit_that_is_too_low(self):
        self.assertIn('Cannot allocate memory',
                      self.error_with(resource.RLIMIT_AS, (400 if NETWORK == 'shm' else 60) << 20))
        if NETWORK == 'shm':
            self.assertIn('File too large', self.error_with(resource.RLIMIT_FSIZE, 1 << 20))

    def test_a_client_needs_little_address_space(self):
        def limit():  # of `ulimit -v 1000000`
            resource.setrlimit(resource.RLIMIT_AS, (1_000_000 << 10, 1_000_000 << 10))
        data = self.some_bytes('data', 9_000_000)
        self.run_remotely('cp', data, '/remote/copy', preexec_fn=limit)
        self.run_remotely('cmp', data, '/remote/copy', preexec_fn=limit)
        self.run_remotely(sys.executable, '-c', '''
import concurrent.futures, os
def use(i):
    f = os.open(f'/remote/{i}', os.O_CREAT | os.O_RDWR)
    for n in range(50):
        os.pwrite(f, bytes([n]) * 100_000, n * 100_000)
    return os.pread(f, 100_000, 7 * 100_000) == bytes([7]) * 100_000
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    assert all(pool.map(use, range(16)))''', preexec_fn=limit)

    def test_a_server_opens_more_files_than_its_soft_limit(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (128, hard))
        try:
            server = Server(self.folder)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        self.addCleanup(server.stop)
        self.run_remotely(sys.executable, '-c', 'import os\nfor i in range(300): os.open("/remote/file", os.O_CREAT)',
                          server=server)


class Retries(ServedTest):
    def test_a_child_connects_although_its_parent_could_not(self):
        script = '''if 1:
            import os, resource
            limits = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (8, limits[1]))
            try:
                os.open('/remote/file', os.O_CREAT | os.O_WRONLY)
            except OSError:
                print('refused')
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
            child = os.fork()
            if child == 0:
                os._exit(0 if os.write(os.open('/remote/file', os.O_CREAT | os.O_WRONLY), b'text') == 4 else 1)
            print(os.waitpid(child, 0)[1])'''
        self.assertEqual(self.run_remotely(sys.executable, '-c', script), 'refused\n0\n')
        self.assertEqual((self.root / 'file').read_text(), 'text')


if __name__ == '__main__':
    unittest.main()
