"""Ranks without a launcher: they connect over TCP, and refuse all other processes."""

import os
import random
import signal
import socket
import struct
import subprocess
import time
import unittest

from support import HELPER, PATIENCE, LaunchTest, clean_environment, free_ports, run, wait_until

NO_NETWORKS = subprocess.run(['unshare', '--net', 'ip', 'link'], capture_output=True, text=True).stderr.strip()
KEY = 'a secret key of the job'
(HELLO, CHALLENGE, PROOF, JOINED, REFUSED, PUT, GET, VALUE, GET_ALL, VALUES, MISSING, FENCE, FENCED, FAILED,
 ABORT, CLOSE) = range(1, 17)


def frame(kind, body=b''):
    return struct.pack('<IB', len(body), kind) + body


def text(value):
    value = value.encode() if isinstance(value, str) else value
    return struct.pack('<I', len(value)) + value


def number(value):
    return struct.pack('<I', value)


def hello(rank=1, size=2, keyed=0, magic='LCI tcp 1', nonce=b'n' * 32):
    return frame(HELLO, text(magic) + number(rank) + number(size) + number(keyed) + text(nonce))


class Tcp(LaunchTest):
    def setUp(self):
        super().setUp()
        self.port = free_ports(1)[0]

    def rank(self, rank, size, *words, timeout=30, limit=None, **env):
        """Starts a rank, with at most `limit` open descriptors."""
        env = {'RANK': rank, 'WORLD_SIZE': size, 'MASTER_ADDR': '127.0.0.1', 'MASTER_PORT': self.port,
               'LCI_ATTR_BOOTSTRAP_TIMEOUT': timeout, self.mark: 1, **env}
        limited = ['sh', '-c', f'ulimit -n {limit}; exec "$@"', 'sh'] if limit else []
        process = subprocess.Popen([*limited, HELPER, *map(str, words)], stdin=subprocess.DEVNULL, text=True,
                                   env=clean_environment(**{k: v for k, v in env.items() if v is not None}),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, errors='replace')
        self.addCleanup(self._close, process)
        return process

    def all_ranks(self, size, *words, **env):
        return [self.rank(r, size, *words, **env) for r in reversed(range(size))][::-1]

    def ends(self, processes, code=0):
        output = []
        for p in processes:
            out, err = p.communicate(timeout=PATIENCE)
            output.append(out + err)
            self.assertEqual(p.returncode, code, output)
        return output

    def connect(self):
        """Connects to the root, as soon as it listens."""
        end = time.monotonic() + 20
        while True:
            try:
                s = socket.create_connection(('127.0.0.1', self.port), timeout=20)
                self.addCleanup(s.close)
                return s
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)

    def read_frame(self, s):
        head = s.recv(5, socket.MSG_WAITALL)
        if len(head) < 5:
            return None, b''
        size, kind = struct.unpack('<IB', head)
        return kind, s.recv(size, socket.MSG_WAITALL)


class Joining(Tcp):
    def test_ranks_exchange_values_with_and_without_a_key(self):
        for env in ({}, {'LCI_TCP_KEY': KEY}, {'LCI_TCP_ROOT': f'localhost:{self.port}', 'MASTER_ADDR': None}):
            with self.subTest(env=env):
                output = self.ends(self.all_ranks(4, 'exchange', 2, **env))
                self.assertEqual(sum('exchanged' in s for s in output), 4)

    def test_ranks_have_one_job_id_and_their_number_on_the_host(self):
        output = self.ends([self.rank(r, 3, 'info', LOCAL_RANK=r, LOCAL_WORLD_SIZE=3) for r in range(3)])
        self.assertEqual(len({s.split('job=')[1].split()[0] for s in output}), 1)
        self.assertIn('kind=tcp rank=2 size=3 local=2/3', output[2])

    def test_misuse_and_forks_are_refused_and_a_second_runtime_works(self):
        for what in ('misuse', 'twice', 'fork'):
            self.ends(self.all_ranks(3, what))

    def test_rank_0_may_come_last_and_end_first(self):
        others = [self.rank(r, 3, 'exchange', 1) for r in (1, 2)]
        time.sleep(0.5)
        self.ends([self.rank(0, 3, 'exchange', 1)] + others)

    def test_rank_0_waits_for_slow_ranks_with_any_timeout(self):
        for timeout in (0, 100, 1e300):
            with self.subTest(timeout=timeout):
                self.port = free_ports(1)[0]
                self.ends(self.all_ranks(3, 'slow', 1, 1, timeout=timeout))

    @unittest.skipIf(NO_NETWORKS, NO_NETWORKS)
    def test_a_rank_that_connects_to_itself_retries(self):
        # In a network with only one port to assign, a connection to it connects to itself until rank 0 listens there.
        script = f'''
            ip link set lo up
            echo "{self.port} {self.port}" >/proc/sys/net/ipv4/ip_local_port_range
            export WORLD_SIZE=2 LCI_ATTR_BOOTSTRAP_TIMEOUT=30
            RANK=1 {HELPER} exchange 1 & other=$!
            sleep 0.3
            echo "{self.port - 9} {self.port - 1}" >/proc/sys/net/ipv4/ip_local_port_range
            RANK=0 {HELPER} exchange 1 && wait $other'''
        done = subprocess.run(['unshare', '--net', 'sh', '-c', script], text=True, capture_output=True,
                              timeout=PATIENCE,
                              env=clean_environment(LCI_TCP_ROOT=f'127.0.0.1:{self.port}', **{self.mark: 1}))
        self.assertEqual((done.returncode, done.stdout.count('exchanged')), (0, 2), done.stdout + done.stderr)

    def test_a_job_of_one_rank_opens_no_connection(self):
        result = run(HELPER, 'info', RANK=0, WORLD_SIZE=1)
        self.assertIn('kind=local', result.stdout, result.stderr)

    def test_an_abort_ends_ranks_inside_and_outside_of_fences(self):
        processes = [self.rank(r, 3, 'abort', 1, 5) if r != 2 else self.rank(r, 3, 'late', 2, 600)
                     for r in range(3)]
        output = self.ends(processes, 5)
        self.assertIn('rank 1 has aborted: as the test wants', output[2])

    def test_a_missing_variable_is_named(self):
        for wanted, env in {
                'RANK is not set': {'WORLD_SIZE': 2, 'MASTER_ADDR': 'x', 'MASTER_PORT': 1},
                'WORLD_SIZE is not set': {'RANK': 0, 'MASTER_ADDR': 'x', 'MASTER_PORT': 1},
                'MASTER_PORT is not set': {'RANK': 0, 'WORLD_SIZE': 2, 'MASTER_ADDR': 'x'},
                'MASTER_ADDR is not set': {'RANK': 0, 'WORLD_SIZE': 2},
                'RANK=2': {'RANK': '2 ', 'WORLD_SIZE': 2, 'LCI_TCP_ROOT': 'a:1'},
                'rank 2 of 2 is impossible (RANK, WORLD_SIZE): the number of ranks must be at least 1, and the rank from 0':
                    {'RANK': '2', 'WORLD_SIZE': 2, 'LCI_TCP_ROOT': 'a:1'},
                '<host>:<port> with a port from 1 to 65535; name the host of rank 0':
                    {'RANK': '0', 'WORLD_SIZE': 2, 'LCI_TCP_ROOT': 'a:70000'},
                'at least 16': {'RANK': '0', 'WORLD_SIZE': 2, 'LCI_TCP_ROOT': 'localhost:1',
                                'LCI_TCP_KEY': 'short'}}.items():
            with self.subTest(wanted=wanted):
                result = run(HELPER, 'info', **env)
                self.assertEqual(result.returncode, 9)
                self.assertIn(wanted, result.stderr)

    def test_contradictory_variables_are_named(self):
        tcp = {'RANK': 0, 'WORLD_SIZE': 2, 'LCI_TCP_ROOT': 'localhost:1'}
        for other, names in (({'PMI_FD': 7, 'PMI_RANK': 1, 'PMI_SIZE': 2}, ('PMI_RANK=1', ' RANK=0')),
                             ({'PMI_FD': 7, 'PMI_RANK': 0, 'PMI_SIZE': 4}, ('PMI_SIZE=4', 'WORLD_SIZE=2')),
                             ({'PMIX_NAMESPACE': 'x', 'PMIX_RANK': 3}, ('PMIX_RANK=3', ' RANK=0'))):
            result = run(HELPER, 'info', **tcp, **other)
            self.assertEqual(result.returncode, 9)
            for name in names + ('contradictory', 'LCI_ATTR_BOOTSTRAP='):
                self.assertIn(name, result.stderr)


class Missing(Tcp):
    def test_ranks_that_never_joined_are_named(self):
        began = time.monotonic()
        output = self.ends([self.rank(r, 5, 'info', timeout=2) for r in (0, 2)], 9)
        self.assertLess(time.monotonic() - began, 10)
        for s in output:
            self.assertIn('of 5 ranks, ranks 1, 3 and 4 never joined', s)

    def test_ranks_that_never_joined_are_named_by_a_root_that_started_late(self):
        rank = self.rank(0, 3, 'info', timeout=2)
        time.sleep(1)
        rank.send_signal(signal.SIGSTOP)
        time.sleep(2)
        rank.send_signal(signal.SIGCONT)
        self.assertIn('of 3 ranks, ranks 1 and 2 never joined', self.ends([rank], 9)[0])

    def test_a_rank_that_does_not_come_to_the_fence_is_named(self):
        # The first fence, in which ranks join, is complete.
        output = [p.communicate(timeout=PATIENCE)
                  for p in self.all_ranks(3, 'late', 1, 4, timeout=2)]
        for r in (0, 2):
            self.assertIn('rank 1 joined, but did not come to the fence', output[r][1])

    def test_a_missing_root_is_an_error(self):
        output = self.ends([self.rank(1, 2, 'info', timeout=1)], 9)
        self.assertIn("rank 0 can't be reached at 127.0.0.1", output[0])

    def test_a_killed_rank_is_named(self):
        processes = self.all_ranks(3, 'late', 1, 600)
        time.sleep(1)
        processes[1].send_signal(signal.SIGKILL)
        began = time.monotonic()
        output = self.ends([processes[0], processes[2]], 9)
        self.assertLess(time.monotonic() - began, 10)
        for s in output:
            self.assertIn('rank 1 of 3', s)
            self.assertIn('has died or lost its connection', s)

    def test_a_killed_root_is_named(self):
        processes = self.all_ranks(3, 'late', 1, 2)
        time.sleep(1)
        processes[0].send_signal(signal.SIGKILL)
        for s in self.ends(processes[1:], 9):
            self.assertIn('(rank 0) has ended', s)

    def test_a_port_in_use_is_an_error(self):
        with socket.socket() as s:
            s.bind(('127.0.0.1', self.port))
            s.listen()
            output = self.ends([self.rank(0, 2, 'info')], 9)
        self.assertIn('LCI_TCP_ROOT', output[0])
        self.assertIn('in use', output[0])


class Refusals(Tcp):
    def test_ranks_of_other_jobs_get_the_reason_of_the_refusal(self):
        root = self.rank(0, 3, 'info', timeout=20, LCI_TCP_KEY=KEY)
        for env, wanted in (({'LCI_TCP_KEY': 'quite another key'}, 'has another LCI_TCP_KEY'),
                            ({}, 'rank 0 has a LCI_TCP_KEY'),
                            ({'WORLD_SIZE': 4, 'LCI_TCP_KEY': KEY}, 'WORLD_SIZE is 4 there and 3')):
            self.assertIn(wanted, self.ends([self.rank(1, 3, 'info', **env)], 9)[0])
        first = self.rank(2, 3, 'info', LCI_TCP_KEY=KEY)
        self.assertTrue(wait_until(lambda: os.path.exists(f'/proc/{first.pid}')))
        time.sleep(0.5)
        self.assertIn('there is a RANK=2 already', self.ends([self.rank(2, 3, 'info', LCI_TCP_KEY=KEY)], 9)[0])
        self.ends([root, first, self.rank(1, 3, 'info', LCI_TCP_KEY=KEY)])

    def test_a_root_without_the_key_is_rejected(self):
        with socket.socket() as s:
            s.bind(('127.0.0.1', self.port))
            s.listen()
            rank = self.rank(1, 2, 'info', LCI_TCP_KEY=KEY)
            ours, _ = s.accept()
            with ours:
                self.assertEqual(self.read_frame(ours)[0], HELLO)
                ours.sendall(frame(CHALLENGE, text('LCI tcp 1') + text(b'r' * 32) + text(b'p' * 32)))
                self.assertEqual(ours.recv(1), b'')  # it closes the connection without sending its proof
        self.assertIn('another LCI_TCP_KEY', self.ends([rank], 9)[0])

    def test_a_proof_cannot_be_replayed(self):
        root = self.rank(0, 2, 'info', LCI_TCP_KEY=KEY)
        s = self.connect()
        s.sendall(hello(keyed=1))
        kind, body = self.read_frame(s)
        self.assertEqual(kind, CHALLENGE)
        s.sendall(frame(PROOF, body[-36:]))  # the root's own proof
        kind, body = self.read_frame(s)
        self.assertEqual((kind, self.read_frame(s)[0]), (REFUSED, None))
        self.ends([root, self.rank(1, 2, 'info', LCI_TCP_KEY=KEY)])

    def test_malformed_connections_are_closed_and_the_job_continues(self):
        rng = random.Random(7)
        size = 3
        root = self.rank(0, size, 'exchange', 1, timeout=60)
        messages = [b'GET / HTTP/1.0\r\n\r\n', b'\0' * 100, b'\xff' * 5, frame(99), frame(HELLO),
                    frame(HELLO, b'\xff' * 12), frame(FENCE, number(0)), frame(ABORT, number(3) + text('x')),
                    hello(magic='LCI tcp 0'), hello(nonce=b'short'), hello(rank=3, size=3), hello(size=9),
                    struct.pack('<IB', 1 << 30, HELLO), hello(size=3) + frame(PUT, text('k') + text('v')),
                    hello(size=3)[:-1], b'']
        messages += [rng.randbytes(rng.randrange(1, 600)) for _ in range(40)]
        good = hello(size=3)
        for _ in range(60):
            broken = bytearray(good)
            broken[rng.randrange(len(broken))] ^= 1 << rng.randrange(8)
            messages.append(bytes(broken[:rng.randrange(1, len(broken) + 1)]))
        for bytes_ in messages:
            s = self.connect()
            s.sendall(bytes_)
            s.close()
        self.ends([root] + [self.rank(r, size, 'exchange', 1, timeout=60) for r in (1, 2)])

    def test_idle_connections_of_others_keep_no_rank_out(self):
        root = self.rank(0, 2, 'exchange', 1, timeout=20)
        for _ in range(300):
            self.connect()  # open until the end of the test
        began = time.monotonic()
        self.ends([root, self.rank(1, 2, 'exchange', 1, timeout=20)])
        self.assertLess(time.monotonic() - began, 9)  # others are closed after 10 s

    def test_idle_connections_of_others_give_their_descriptors_to_ranks(self):
        root = self.rank(0, 2, 'exchange', 1, timeout=20, limit=32)
        for _ in range(40):
            self.connect()
        began = time.monotonic()
        self.ends([root, self.rank(1, 2, 'exchange', 1, timeout=20)])
        self.assertLess(time.monotonic() - began, 9)

    def test_a_rank_that_sends_malformed_data_after_joining_is_named(self):
        for bytes_ in (frame(99), frame(JOINED, text('x')), frame(PUT, b'xx'), frame(GET_ALL),
                       frame(FENCE), struct.pack('<IB', 1 << 21, PUT),
                       frame(PUT, text('k' * 49) + text('v'))):
            with self.subTest(bytes=bytes_[:20]):
                self.port = free_ports(1)[0]
                root = self.rank(0, 2, 'info')
                s = self.connect()
                s.sendall(hello())
                self.assertEqual(self.read_frame(s)[0], CHALLENGE)
                s.sendall(frame(PROOF, text(b'')))
                self.assertEqual(self.read_frame(s)[0], JOINED)
                s.sendall(bytes_)
                output = self.ends([root], 9)[0]
                self.assertIn('rank 1 (127.0.0.1', output)


class Roots(Tcp):
    """A rank whose root violates the protocol."""

    def answered(self, *answers):
        with socket.socket() as s:
            s.bind(('127.0.0.1', self.port))
            s.listen()
            rank = self.rank(1, 2, 'exchange', 1, timeout=2)
            ours, _ = s.accept()
            with ours:
                for answer in answers:
                    self.read_frame(ours)
                    ours.sendall(answer)
                return self.ends([rank], 9)[0]

    def test_malformed_answers_of_the_root_are_errors(self):
        challenge = frame(CHALLENGE, text('LCI tcp 1') + text(b'r' * 32) + text(b''))
        welcome = frame(JOINED, text('job'))
        for answers in ((b'HTTP/1.0 400 Bad Request\r\n\r\n',), (frame(99),), (frame(VALUE),),
                        (frame(CHALLENGE),), (frame(CHALLENGE, b'\xff' * 40),),
                        (challenge, frame(JOINED)), (challenge, frame(FENCED)),
                        (challenge, welcome, frame(VALUES, number(7))),
                        (challenge, welcome, frame(FAILED, b'\xff\xff')),
                        (challenge, struct.pack('<IB', 1 << 28, JOINED))):
            with self.subTest(answers=[a[:20] for a in answers]):
                self.port = free_ports(1)[0]
                output = self.answered(*answers)
                self.assertIn('rank 1 of 2', output)
                self.assertTrue(output.replace('\n', '').isprintable())

    def test_a_root_that_does_not_answer_times_out(self):
        self.assertIn('no answer from the root', self.answered())


if __name__ == '__main__':
    unittest.main()
