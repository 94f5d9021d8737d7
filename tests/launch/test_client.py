"""The PMI-1 client with invalid environments and with launchers that violate the protocol."""

import os
import random
import socket
import subprocess
import threading
import time
import unittest

from support import HELPER, PATIENCE, clean_environment, run


class Environment(unittest.TestCase):
    def refused(self, *texts, **env):
        result = run(HELPER, 'info', **env)
        self.assertEqual(result.returncode, 9, result.stdout)
        for text in texts + ('lcirun',):  # the remedy
            self.assertIn(text, result.stderr)

    def test_a_missing_variable_is_named(self):
        self.refused('PMI_FD', PMI_RANK=0)
        self.refused('PMI_FD', PMI_SIZE=2)
        self.refused('PMI_FD', 'PMI_RANK', 'PMI_SIZE', PMI_RANK=0, PMI_SIZE=1)
        self.refused('PMI_RANK', PMI_FD=0)
        self.refused('PMI_SIZE', PMI_FD=0, PMI_RANK=0)
        self.refused('PMI_ID', PMI_PORT='localhost:1')
        self.refused('PMI_PORT', PMI_ID=0)

    def test_invalid_ranks_and_sizes_are_refused(self):
        for rank, size in ((2, 2), (-1, 2), (0, 0), ('x', 2), (0, '2x'), (0, 99999999999)):
            self.refused('PMI_', PMI_FD=0, PMI_RANK=rank, PMI_SIZE=size)
        self.refused('PMI_FD=x', PMI_FD='x', PMI_RANK=0, PMI_SIZE=1)
        self.refused('PMI_FD=-3', PMI_FD=-3, PMI_RANK=0, PMI_SIZE=1)

    def test_a_descriptor_that_is_not_a_socket_is_refused(self):
        self.refused('PMI_FD=77', 'not an open', PMI_FD=77, PMI_RANK=0, PMI_SIZE=1)
        self.refused('PMI_FD=1', 'not a socket', PMI_FD=1, PMI_RANK=0, PMI_SIZE=1)

    def test_invalid_ports_are_refused(self):
        for port in ('nocolon', ':1', 'host:'):
            result = run(HELPER, 'info', PMI_PORT=port, PMI_ID=0)
            self.assertEqual(result.returncode, 9)
            self.assertIn('PMI_PORT', result.stderr)
            self.assertIn('lcirun -n N', result.stderr)
        with socket.socket() as s:  # a port without a listener
            s.bind(('127.0.0.1', 0))
            port = s.getsockname()[1]
            result = run(HELPER, 'info', PMI_PORT=f'127.0.0.1:{port}', PMI_ID=0)
        self.assertEqual(result.returncode, 9)
        self.assertRegex(result.stderr, f'PMI_PORT=127.0.0.1:{port}: .*refused.*unset PMI_PORT')

    def test_ranks_of_an_unsupported_launcher_do_not_become_jobs_of_one_rank(self):
        self.refused('OMPI_COMM_WORLD_SIZE=4', OMPI_COMM_WORLD_SIZE=4)
        self.refused('PMIX_NAMESPACE is not set', OMPI_COMM_WORLD_SIZE=4, PMIX_RANK=1)
        self.refused('SLURM_STEP_NUM_TASKS', SLURM_STEP_NUM_TASKS=4, SLURM_PROCID=1)
        self.refused('PMIX_NAMESPACE', PMIX_RANK=0)
        self.refused('PMIX_RANK', PMIX_NAMESPACE='x')
        for env in ({'OMPI_COMM_WORLD_SIZE': 1}, {'SLURM_JOB_ID': 5, 'SLURM_NTASKS': 4},
                    {'SLURM_STEP_NUM_TASKS': 1}, {'RANK': 3}, {'MASTER_ADDR': 'x', 'MASTER_PORT': 1},
                    {'OMPI_COMM_WORLD_SIZE': 4, 'LCI_ATTR_BOOTSTRAP': 'local'},
                    {'WORLD_SIZE': 4, 'LCI_ATTR_BOOTSTRAP': 'none'},
                    {'PMI_RANK': 1, 'LCI_ATTR_BOOTSTRAP': 'local'}):
            result = run(HELPER, 'info', **env)
            self.assertEqual(result.returncode, 0, (env, result.stderr))
            self.assertIn('size=1', result.stdout)

    def test_an_invalid_option_is_reported_with_its_variable_and_choices(self):
        result = run(HELPER, 'info', LCI_ATTR_BOOTSTRAP='pmi')
        self.assertEqual(result.returncode, 9)
        for text in ('LCI_ATTR_BOOTSTRAP=pmi', 'pmi1', 'local'):
            self.assertIn(text, result.stderr)
        for value in ('soon', '-1', '3s', 'inf', 'nan'):
            result = run(HELPER, 'info', LCI_ATTR_BOOTSTRAP_TIMEOUT=value)
            self.assertEqual(result.returncode, 9)
            self.assertIn(f'LCI_ATTR_BOOTSTRAP_TIMEOUT={value}', result.stderr)
        result = run(HELPER, 'info', LCI_ATTR_BOOTSTRAP='pmi1')
        self.assertEqual(result.returncode, 9)
        self.assertIn('PMI_FD', result.stderr)
        self.assertEqual(run(HELPER, 'info', LCI_ATTR_BOOTSTRAP='').returncode, 0)


GOOD = {
    'init': 'cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1\n',
    'get_maxes': 'cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024\n',
    'get_my_kvsname': 'cmd=my_kvsname rc=0 kvsname=kvs_1\n',
    'barrier_in': 'cmd=barrier_out rc=0\n',
    'put': 'cmd=put_result rc=0\n',
    'finalize': 'cmd=finalize_ack rc=0\n',
}


class Server(threading.Thread):
    """A launcher for one rank. It sends the given answers, and correct ones to all other requests. None: no answer;
    b'': it closes the connection; a list: several answers, one after the other."""

    def __init__(self, sock, answers):
        super().__init__(daemon=True)
        self.sock, self.answers, self.asked = sock, {**GOOD, **answers}, []

    def run(self):
        try:
            for line in self.sock.makefile('r', encoding='latin-1'):
                fields = dict(f.split('=', 1) for f in line.split())
                self.asked.append(fields)
                answer = self.answers.get(fields['cmd'], 'cmd=error rc=-1\n')
                if callable(answer):
                    answer = answer(fields)
                for part in answer if isinstance(answer, list) else [answer]:
                    if part == b'':
                        raise ConnectionAbortedError
                    if part is not None:
                        self.sock.sendall(part.encode() if isinstance(part, str) else part)
        except OSError:
            pass
        self.sock.close()


class Launcher(unittest.TestCase):
    def talk(self, what, timeout=20, rank=0, size=2, **answers):
        """Runs the helper against a server; returns exit code, text, seconds, the server."""
        ours, theirs = socket.socketpair()
        server = Server(ours, answers)
        server.start()
        env = clean_environment(PMI_FD=theirs.fileno(), PMI_RANK=rank, PMI_SIZE=size,
                                LCI_ATTR_BOOTSTRAP_TIMEOUT=timeout)
        began = time.monotonic()
        process = subprocess.Popen([HELPER, *what.split()], env=env, pass_fds=[theirs.fileno()],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   errors='replace')
        theirs.close()
        out, err = process.communicate(timeout=PATIENCE)
        seconds = time.monotonic() - began
        server.join(10)
        self.assertFalse(server.is_alive())
        return process.returncode, out + err, seconds, server

    def refused(self, what, *texts, **answers):
        code, text, _, _ = self.talk(what, **answers)
        self.assertEqual(code, 9, text)
        for wanted in texts + ('rank 0 of 2', 'PMI_FD='):
            self.assertIn(wanted, text)
        self.assertTrue(text.isprintable() or text.replace('\n', '').isprintable(), repr(text))

    def test_a_correct_launcher_gets_finalize_at_the_end(self):
        code, text, _, server = self.talk('fence')
        self.assertEqual(code, 0, text)
        self.assertIn('rank=0 size=2 ', text)
        self.assertIn('job=kvs_1', text)
        self.assertEqual([f['cmd'] for f in server.asked],
                         ['init', 'get_maxes', 'get_my_kvsname', 'barrier_in', 'finalize'])

    def test_fields_may_come_in_any_order_and_unknown_ones_are_ignored(self):
        code, text, _, _ = self.talk(
            'fence', init='pmi_subversion=1 extra=7 pmi_version=1 rc=0 cmd=response_to_init\n',
            get_maxes='vallen_max=1024  keylen_max=64 kvsname_max=256 cmd=maxes \n',
            barrier_in='cmd=barrier_out\n')
        self.assertEqual(code, 0, text)

    def test_an_answer_may_arrive_byte_by_byte(self):
        ours, theirs = socket.socketpair()
        env = clean_environment(PMI_FD=theirs.fileno(), PMI_RANK=0, PMI_SIZE=1)
        process = subprocess.Popen([HELPER, 'fence'], env=env, pass_fds=[theirs.fileno()],
                                   stdout=subprocess.PIPE, text=True)
        theirs.close()
        for line in ours.makefile('r'):
            fields = dict(f.split('=', 1) for f in line.split())
            for byte in GOOD[fields['cmd']].encode():
                ours.sendall(bytes([byte]))
                time.sleep(0.0005)
        process.communicate(timeout=PATIENCE)
        ours.close()
        self.assertEqual(process.returncode, 0)

    def test_malformed_answers_are_errors(self):
        for garbage in ('hello\n', '\n', 'rc=0\n', 'cmd=\n', 'cmd response_to_init\n',
                        'cmd=response_to_init rc=0 rc=0\n', b'\xff\xfe\x01\x00\n',
                        b'cmd=response_to_init\0rc=0\n', '=\n', 'cmd=a ' + 'x=' * 5 + '\n',
                        'cmd=a ' + ' '.join(f'f{i}=1' for i in range(40)) + '\n'):
            with self.subTest(garbage=garbage):
                self.refused('info', 'init', init=garbage)

    def test_an_answer_to_another_request_is_an_error(self):
        self.refused('fence', 'cmd=barrier_out', 'fence', barrier_in='cmd=put_result rc=0\n')
        self.refused('info', 'cmd=maxes', get_maxes=GOOD['init'])

    def test_a_refusal_is_reported_with_its_message(self):
        self.refused('info', 'too_old', init='cmd=response_to_init rc=-1 msg=too_old\n')
        self.refused('exchange 1', 'put', 'full', put='cmd=put_result rc=-1 msg=full\n')
        self.refused('fence', 'lost', barrier_in='cmd=barrier_out rc=-1 msg=lost\n')
        self.refused('info', 'init', init='cmd=response_to_init rc=zero\n')

    def test_limits_that_are_too_small_or_invalid_are_errors(self):
        for maxes in ('keylen_max=8 vallen_max=1024', 'keylen_max=64 vallen_max=16',
                      'keylen_max=64', 'keylen_max=64 vallen_max=99999999999999',
                      'keylen_max=-1 vallen_max=-1', 'keylen_max=x vallen_max=y'):
            self.refused('info', 'bytes', get_maxes=f'cmd=maxes {maxes}\n')
        self.refused('info', 'name', get_my_kvsname='cmd=my_kvsname kvsname=\n')
        self.refused('info', 'name', get_my_kvsname='cmd=my_kvsname kvsname=' + 'k' * 256 + '\n')

    def test_a_closed_connection_is_an_error(self):
        self.refused('info', 'closed', init=b'')
        self.refused('fence', 'closed', 'fence', barrier_in=b'')

    def test_a_truncated_line_is_an_error(self):
        self.refused('fence', 'within 0.5 s', timeout=0.5, barrier_in='cmd=barri')
        half = [b'cmd=barri', b'']
        self.refused('fence', 'closed', "unfinished line: 'cmd=barri'", barrier_in=half)

    def test_a_line_that_is_too_long_is_an_error(self):
        self.refused('info', 'longer than', init='cmd=' + 'x' * 9000 + '\n')
        self.refused('info', 'longer than', init='x' * 100000)

    def test_a_launcher_that_does_not_answer_times_out(self):
        for cmd in ('init', 'get_maxes', 'barrier_in', 'put'):
            code, text, seconds, _ = self.talk('exchange 1', timeout=0.5, **{cmd: None})
            self.assertEqual(code, 9, text)
            self.assertIn('within 0.5 s', text)
            self.assertIn('LCI_ATTR_BOOTSTRAP_TIMEOUT', text)
            self.assertGreaterEqual(seconds, 0.5)
            self.assertLess(seconds, 20)

    def test_a_missing_answer_to_finalize_is_no_error(self):
        code, text, seconds, _ = self.talk('info', timeout=0.5, finalize=None)
        self.assertEqual(code, 0, text)
        self.assertLess(seconds, 20)
        code, text, _, _ = self.talk('info', finalize=b'')
        self.assertEqual(code, 0, text)

    def test_malformed_values_are_errors(self):
        for value in ('', 'x', '1.4.', '1.4', '.4.AAAA', '1.-4.AAAAAA', '0.4.AAAAAA', '1.4.AAAAA*',
                      '1.5.AAAAAA', '1.3.AAAAAA', '99999.4.AAAAAA', '1.99999999.AAAA',
                      '2.4.AAAAAA'):
            with self.subTest(value=value):
                self.refused('exchange 1', 'get', 'garbled',
                             get=f'cmd=get_result rc=0 value={value}\n')

    def test_a_missing_piece_of_a_value_is_an_error(self):
        def get(fields):
            if '+' in fields['key']:
                return 'cmd=get_result rc=-1 msg=key_not_found\n'
            return 'cmd=get_result rc=0 value=2.0.\n'
        self.refused('exchange 1', 'lost a part', get=get)

    def test_each_put_is_within_the_launcher_s_limits(self):
        code, text, _, server = self.talk('exchange 1',
                                          get='cmd=get_result rc=-1 msg=key_not_found\n')
        self.assertEqual(code, 9)
        puts = [f for f in server.asked if f['cmd'] == 'put']
        self.assertGreater(len(puts), 14)
        for fields in puts:
            self.assertLess(len(fields['key']), 64)
            self.assertLess(len(' '.join(f'{k}={v}' for k, v in fields.items())), 1024)
            self.assertTrue(set(fields['value']) <= set(
                'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.'))

    def test_small_limits_split_values_into_more_pieces(self):
        store = {}

        def put(fields):
            self.assertLess(len(fields['value']), 128)
            store[fields['key']] = fields['value']
            return GOOD['put']

        def get(fields):
            return f'cmd=get_result rc=0 value={store[fields["key"]]}\n'
        code, text, _, _ = self.talk(
            'exchange 1', size=1, put=put, get=get,
            get_maxes='cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=128\n')
        self.assertEqual(code, 0, text)

    def test_lines_are_short_however_long_keys_may_be(self):
        for longest in (120, 900, 960, 1000, 100000):
            store = {}

            def put(fields):
                self.assertLess(len(' '.join(f'{k}={v}' for k, v in fields.items())), 1000, longest)
                store[fields['key']] = fields['value']
                return GOOD['put']

            def get(fields):
                return f'cmd=get_result rc=0 value={store[fields["key"]]}\n'
            code, text, _, _ = self.talk('exchange 1', size=1, put=put, get=get,
                                         get_maxes=f'cmd=maxes kvsname_max=256 keylen_max={longest} vallen_max=9999\n')
            self.assertEqual(code, 0, (longest, text))

    def test_random_damage_to_answers_never_causes_a_crash_or_a_hang(self):
        refused = 0
        for seed in range(1, 151):
            chance = random.Random(seed)

            def damage(fields):
                line = bytearray(GOOD[fields['cmd']].encode())
                if chance.random() < 0.3:
                    for _ in range(chance.randint(1, 3)):
                        at = chance.randrange(len(line))
                        line[at:at + chance.choice((0, 0, 1, 3))] = chance.choice(
                            (b'', b' ', b'=', b'\n', b'\0', b'-', b'9' * 20, b'\xff', b'cmd=',
                             bytes(chance.randrange(256) for _ in range(5))))
                return bytes(line) or b'\n'
            code, text, seconds, _ = self.talk('fence', timeout=0.3,
                                               **{cmd: damage for cmd in GOOD})
            self.assertIn(code, (0, 9), f'seed {seed}: {text}')
            self.assertLess(seconds, 30, f'seed {seed}')
            refused += code == 9
        self.assertGreater(refused, 20)
        self.assertLess(refused, 150)

    def test_abort_reaches_the_launcher(self):
        code, text, _, server = self.talk('abort 0 42')
        self.assertEqual(code, 42, text)
        self.assertEqual(server.asked[-1], {'cmd': 'abort', 'exitcode': '42'})

    def test_an_abort_waits_until_its_reason_is_read_or_a_timeout(self):
        # A launcher that gets an abort ends the job at once, and drops output that it has not read yet.
        ends = socket.socketpair()
        for reader, writer in (os.pipe(), (ends[0].detach(), ends[1].detach())):
            ours, theirs = socket.socketpair()
            told = []
            server = Server(ours, {'abort': lambda _, told=told: told.append(time.monotonic())})
            server.start()
            began = time.monotonic()
            process = subprocess.Popen([HELPER, 'abort', '0', '42'], pass_fds=[theirs.fileno()], stderr=writer,
                                       env=clean_environment(PMI_FD=theirs.fileno(), PMI_RANK=0, PMI_SIZE=2))
            theirs.close()
            os.close(writer)
            self.assertEqual(process.wait(PATIENCE), 42)
            server.join(10)
            self.assertGreater(told[0] - began, 0.2)  # the output is not read
            self.assertIn(b'rank 0: abort with code 42', os.read(reader, 4096))
            os.close(reader)


class Port(unittest.TestCase):
    """With PMI_PORT the rank connects, and the launcher sends its number."""

    def talk(self, hello, what='fence'):
        with socket.create_server(('127.0.0.1', 0)) as listener:
            env = clean_environment(PMI_PORT=f'127.0.0.1:{listener.getsockname()[1]}', PMI_ID=3,
                                    LCI_ATTR_BOOTSTRAP_TIMEOUT=2)
            process = subprocess.Popen([HELPER, what], env=env, text=True, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE)
            sock, _ = listener.accept()
            server = Server(sock, {'initack': hello})
            server.start()
            out, err = process.communicate(timeout=PATIENCE)
            server.join(10)
            return process.returncode, out + err, server

    def test_a_rank_learns_rank_and_size_through_the_port(self):
        code, text, server = self.talk(
            'cmd=initack rc=0\ncmd=set size=4\ncmd=set rank=3\ncmd=set debug=0\n')
        self.assertEqual(code, 0, text)
        self.assertIn('rank=3 size=4', text)
        self.assertEqual(server.asked[0], {'cmd': 'initack', 'pmiid': '3'})

    def test_malformed_first_answers_are_errors(self):
        for hello in ('cmd=initack rc=-1\n', 'cmd=set size=4\n', b'', None,
                      'cmd=initack\ncmd=set size=x\n', 'cmd=initack\ncmd=set rank=1\n',
                      'cmd=initack\ncmd=set size=2\ncmd=set rank=2\ncmd=set debug=0\n',
                      'cmd=initack\ncmd=set size=-2\ncmd=set rank=0\ncmd=set debug=0\n'):
            code, text, _ = self.talk(hello)
            self.assertEqual(code, 9, (hello, text))
            self.assertIn('PMI_PORT', text)


if __name__ == '__main__':
    unittest.main()
