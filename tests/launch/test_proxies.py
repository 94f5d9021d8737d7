"""lcirun checks what it receives at its port, and a proxy what it reads from its standard input."""

import itertools
import os
import random
import resource
import socket
import struct
import subprocess
import time
import unittest

from remote import RemoteTest
from support import LCIRUN, children, clean_environment, marked, wait_until

# Replaces the ssh and the proxy of a host: stores the instructions, and keeps running as ssh does.
KEEPER = '''#!/bin/sh
exec cat > {folder}/$1.setup
'''
MASK = (1 << 64) - 1


def siphash(key, data):
    k0, k1 = struct.unpack('<QQ', key)
    a, b, c, d = (k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261,
                  k1 ^ 0x7465646279746573)

    def turn(x, n):
        return (x << n | x >> (64 - n)) & MASK

    def rounds(n):
        nonlocal a, b, c, d
        for _ in range(n):
            a = (a + b) & MASK
            b = turn(b, 13) ^ a
            a = turn(a, 32)
            c = (c + d) & MASK
            d = turn(d, 16) ^ c
            a = (a + d) & MASK
            d = turn(d, 21) ^ a
            c = (c + b) & MASK
            b = turn(b, 17) ^ c
            c = turn(c, 32)
    whole = data + b'\0' * (7 - len(data) % 8) + bytes([len(data) & 255])
    for (word,) in struct.iter_unpack('<Q', whole):
        d ^= word
        rounds(2)
        a ^= word
    c ^= 255
    rounds(4)
    return struct.pack('<Q', a ^ b ^ c ^ d)


def frame(kind, *fields):
    body = b''.join(struct.pack('<q', f) if isinstance(f, int) else struct.pack('<q', len(f)) + f for f in fields)
    return struct.pack('<IB', len(body), kind) + body


STARTED, REQUESTS, OUTPUT, EXITED, GONE, DONE = 2, 3, 6, 8, 9, 10


class Siphash(unittest.TestCase):
    def test_siphash_is_the_published_function(self):
        """So is lcirun's, since it agrees with this one: the handshakes of the tests below succeed."""
        self.assertEqual(siphash(bytes(range(16)), bytes(range(15))), struct.pack('<Q', 0xa129ca6149be45e5))


class Launcher(RemoteTest):
    def begin(self):
        """A job whose only host is simulated by the test."""
        ssh = self.script('keeper', KEEPER.format(folder=self.folder))
        process = self.start('--hosts', 'a', '--ssh', ssh, '--host-timeout', 20, '-n', 2, 'some-program')
        path = f'{self.folder}/a.setup'

        def whole():
            if not os.path.exists(path):
                return False
            with open(path, 'rb') as f:
                data = f.read()
            return len(data) > 5 and len(data) >= 5 + struct.unpack('<I', data[:4])[0]
        self.assertTrue(wait_until(whole))
        with open(path, 'rb') as f:
            data = f.read()[5:]
        at = 8 + struct.unpack('<q', data[:8])[0] + 8  # behind version and host
        self.assertEqual(struct.unpack('<q', data[at:at + 8])[0], 16)
        self.key = data[at + 8:at + 24]
        self.port = struct.unpack('<q', data[at + 24:at + 32])[0]
        return process

    def connect(self):
        sock = socket.create_connection(('127.0.0.1', self.port), timeout=10)
        self.addCleanup(sock.close)
        return sock

    def join(self, key=None, host=0):
        """The proxy's side of the handshake. Returns the socket after lcirun has proved that it has the key."""
        sock = self.connect()
        hello = b'LCI1' + struct.pack('<I', host) + os.urandom(16)
        sock.sendall(hello)
        challenge = b''
        while len(challenge) < 24:
            part = sock.recv(24 - len(challenge))
            if not part:
                return None
            challenge += part
        nonce, tag = challenge[:16], challenge[16:]
        self.assertEqual(tag, siphash(self.key, b'lcirun' + hello + nonce))
        sock.sendall(siphash(key or self.key, b'proxy' + hello + nonce))
        return sock

    def closed(self, sock):
        try:
            return sock.recv(1) == b''
        except ConnectionError:
            return True

    def test_a_proxy_with_the_key_is_accepted_and_its_reports_are_used(self):
        process = self.begin()
        sock = self.join()
        for rank in (0, 1):
            sock.sendall(frame(STARTED, rank, 4000 + rank))
        sock.sendall(frame(OUTPUT, 1, 1, b'words\n'))
        for rank in (0, 1):
            sock.sendall(frame(EXITED, rank, 0) + b''.join(frame(7, rank, stream) for stream in (1, 2)))
        sock.sendall(frame(GONE) + frame(DONE))
        out, err = self.finish(process)
        self.assertEqual((process.returncode, out, err), (0, 'words\n', ''))

    def test_unauthenticated_connections_are_refused_and_the_job_continues(self):
        process = self.begin()
        chance = random.Random(1)
        for text in (b'', b'GET / HTTP/1.0\r\n\r\n' + b'x' * 20, os.urandom(24), b'LCI1' + b'\xff' * 20,
                     b'LCI1' + struct.pack('<I', 1) + b'x' * 16):
            sock = self.connect()
            sock.sendall(text)
            if len(text) >= 24:
                self.assertTrue(self.closed(sock), text)
        for _ in range(20):
            self.assertTrue(self.closed(self.join(key=bytes(chance.randrange(256) for _ in range(16)))))
        crowd = [self.connect() for _ in range(300)]  # which send nothing
        self.assertIsNone(process.poll())
        sock = self.join()
        sock.sendall(frame(EXITED, 0, 5 << 8))
        self.assertRegex(process.stderr.readline(), r'rank 0 \(not started on a\) exited with code 5')
        for each in crowd:
            each.close()
        process.kill()

    def limit_descriptors(self, process, free):
        """Lets the job's process open `free` more descriptors. Returns its pid, and the limit that it had."""
        pid = children(process.pid)[0]
        used = {int(fd) for fd in os.listdir(f'/proc/{pid}/fd')}
        unused = (fd for fd in itertools.count() if fd not in used)
        _, most = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (next(itertools.islice(unused, free, None)), most))
        return pid, most

    def test_a_connection_for_which_there_is_no_descriptor_waits_without_using_the_processor(self):
        process = self.begin()
        pid, most = self.limit_descriptors(process, 0)
        waiting = self.connect()
        self.assertIn('no descriptor is left for the connection of a host; raise `ulimit -n`',
                      process.stderr.readline())

        def used():
            with open(f'/proc/{pid}/stat') as f:
                return sum(map(int, f.read().rsplit(')', 1)[1].split()[11:13])) / os.sysconf('SC_CLK_TCK')
        before = used()
        time.sleep(2)
        self.assertLess(used() - before, 0.5)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, most))
        self.join().sendall(frame(EXITED, 0, 5 << 8))
        self.assertRegex(process.stderr.readline(), 'exited with code 5')
        waiting.close()
        process.kill()

    def test_idle_connections_of_others_give_their_descriptors_to_a_proxy(self):
        process = self.begin()
        self.limit_descriptors(process, 4)
        crowd = [self.connect() for _ in range(10)]
        began = time.monotonic()
        self.join().sendall(frame(EXITED, 0, 5 << 8))
        self.assertLess(time.monotonic() - began, 9)  # others are closed after 10 s
        self.assertIn('exited with code 5', process.stderr.readline() + process.stderr.readline())
        for each in crowd:
            each.close()
        process.kill()

    def test_a_second_connection_with_the_key_is_refused(self):
        process = self.begin()
        first = self.join()
        first.sendall(frame(STARTED, 0, 4000))
        try:
            second = self.join()
            self.assertTrue(second is None or self.closed(second))
        except ConnectionError:
            pass
        self.assertIsNone(process.poll())
        process.kill()

    def test_malformed_frames_end_the_job(self):
        for bad in (b'\xff' * 5, frame(0), frame(99), frame(STARTED), frame(STARTED, 2, 1), frame(STARTED, -1, 1),
                    frame(STARTED, 0, -5), frame(STARTED, 0, 1, 1), frame(OUTPUT, 0, 3, b'x'),
                    frame(OUTPUT, 0, 1, b'x')[:-1] + b'', struct.pack('<IB', 16, OUTPUT) + b'\xff' * 16,
                    frame(EXITED, 0, 1 << 20), frame(1, b'setup'), frame(13, 1 << 40),
                    struct.pack('<IB', 1 << 30, OUTPUT)):
            with self.subTest(bad=bad):
                process = self.begin()
                sock = self.join()
                sock.sendall(bad)
                sock.shutdown(socket.SHUT_WR)  # truncates the frame
                _, err = self.finish(process)
                self.assertEqual(process.returncode, 1)
                self.assertRegex(err, 'host a is lost, and its ranks 0-1: the connection to its proxy broke')
                os.unlink(f'{self.folder}/a.setup')

    def test_a_rank_that_sends_bad_requests_is_named(self):
        process = self.begin()
        self.join().sendall(frame(STARTED, 1, 4001) + frame(REQUESTS, 1, b'hello\n'))
        self.assertRegex(process.stderr.readline(), r'rank 1 \(pid 4001 on a\) sent a bad PMI request')
        process.kill()

    def test_random_frames_cause_no_crash_and_no_hang(self):
        chance = random.Random(7)
        for _ in range(25):
            process = self.begin()
            sock = self.join()
            try:
                for _ in range(40):
                    kind = chance.randrange(1, 20)
                    fields = [chance.choice((0, 1, 2, 9, -1, 1 << 31, b'', b'cmd=init\n', chance.randbytes(9)))
                              for _ in range(chance.randrange(4))]
                    sock.sendall(frame(kind, *fields))
            except ConnectionError:
                pass
            sock.close()
            _, err = self.finish(process)
            # Most are invalid; some report that a rank has exited or was killed.
            self.assertRegex(err, r'(?m)^lcirun: (host a is lost|rank [01] \()')
            self.assertGreater(process.returncode, 0, err)
            os.unlink(f'{self.folder}/a.setup')


class Instructions(RemoteTest):
    def proxy(self, data):
        return subprocess.run([LCIRUN, '--run-as-proxy'], input=data, capture_output=True, timeout=60,
                              env=clean_environment(**{self.mark: 1}))

    def test_malformed_instructions_are_refused(self):
        chance = random.Random(3)
        for data in (b'', b'x', b'hello world', frame(1), frame(1, b'0.0.1'), frame(1, b'2.1.0', 0, b'short'),
                     frame(5, 1), b'\xff' * 100, struct.pack('<IB', 1 << 31, 1)):
            result = self.proxy(data)
            self.assertEqual(result.returncode, 1, data)
            self.assertRegex(result.stderr.decode(), 'standard input|version')
        path = f'{self.folder}/a.setup'
        ssh = self.script('keeper', KEEPER.format(folder=self.folder))
        process = self.start('--hosts', 'a', '--ssh', ssh, '-n', 2, 'some-program')
        wait_until(lambda: os.path.exists(path) and os.path.getsize(path) > 1000)
        process.kill()
        with open(path, 'rb') as f:
            good = f.read()
        for _ in range(60):
            bad = bytearray(good)
            for _ in range(chance.randrange(1, 6)):
                bad[chance.randrange(min(len(bad), 700))] = chance.randrange(256)
            result = self.proxy(bytes(bad))  # lcirun has ended, so even correct instructions fail
            self.assertEqual(result.returncode, 1)
        self.assertRegex(self.proxy(good).stderr.decode(), 'host a: cannot connect back to lcirun at port')

    def test_another_version_is_named(self):
        self.assertIn('of version 9.9.9', self.proxy(frame(1, b'9.9.9')).stderr.decode())

    def test_a_listener_without_the_key_gets_no_ranks(self):
        path = f'{self.folder}/a.setup'
        ssh = self.script('keeper', KEEPER.format(folder=self.folder))
        process = self.start('--hosts', 'a', '--ssh', ssh, '-n', 2, 'touch', f'{self.folder}/ran')
        wait_until(lambda: os.path.exists(path) and os.path.getsize(path) > 1000)
        with open(path, 'rb') as f:
            good = f.read()
        process.kill()
        process.wait()
        self.assertTrue(wait_until(lambda: not marked(self.mark)))  # its port is free
        port = struct.unpack('<q', good[5 + 8 + 5 + 8 + 8 + 16:][:8])[0]
        with socket.create_server(('127.0.0.1', port)) as listener:
            proxy = subprocess.Popen([LCIRUN, '--run-as-proxy'], stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                                     env=clean_environment(**{self.mark: 1}))
            self.addCleanup(self._close, proxy)
            proxy.stdin.write(good)
            proxy.stdin.flush()
            sock, _ = listener.accept()
            self.assertEqual(sock.recv(100)[:4], b'LCI1')
            sock.sendall(os.urandom(24))
            self.assertEqual(sock.recv(100), b'')
            self.assertIn(b"does not know the job's key", proxy.stderr.read())
            self.assertEqual(proxy.wait(60), 1)
        self.assertFalse(os.path.exists(f'{self.folder}/ran'))


if __name__ == '__main__':
    unittest.main()
