"""Several clients at once."""

import os
import pathlib
import re
import subprocess
import sys
import time
import unittest

from support import NETWORK, ServedTest, needs

FUZZ = os.environ['IOD_FUZZ']
BOUND = 20  # seconds for the end of a connection to be noticed, and a program to start, on a loaded machine

WAITER = '''
import fcntl
f = open('/remote/locked', 'r+')
print('waits', flush=True)
fcntl.lockf(f, fcntl.LOCK_EX)
print('locked', flush=True)
'''

LOCKER = '''
import fcntl, os, sys
f = open('/remote/locked', 'r+')
try:
    fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 5)
    print('locked', flush=True)
    sys.stdin.read()
except OSError as e:
    print(type(e).__name__, flush=True)
'''


class Sharing(ServedTest):
    def test_four_programs_copy_at_the_same_time(self):
        tops = [self.some_folder(f'top{i}') for i in range(4)]
        for command in (lambda top: ('cp', '-r', top, f'/remote/{top.name}'),
                        lambda top: ('cp', '-r', f'/remote/{top.name}', f'{top}.back')):
            for program in [self.start(*command(top)) for top in tops]:
                self.finish(program)
        for top in tops:
            self.assert_same_files(top, self.root / top.name)
            self.assert_same_files(top, f'{top}.back')

    @needs('flock')
    def test_a_lock_of_flock_outlives_the_process_that_took_it_with_an_inherited_descriptor(self):
        script = '''
            for i in 1 2 3 4 5; do
                (flock -x 9; n=$(cat /remote/count 2>/dev/null || echo 0); sleep 0.1; echo $((n + 1)) >/remote/count) \
                    9>>/remote/lock &
            done
            wait
            exec 8>/remote/lock
            flock 8 && ! flock -n /remote/lock true && flock -u 8 && flock -n /remote/lock echo free
            cat /remote/count'''
        self.assertEqual(self.run_remotely('bash', '-c', script).split(), ['free', '5'])

    def test_a_child_uses_an_inherited_file_that_has_been_renamed_or_removed(self):
        (self.root / 'text').write_text('one\ntwo\n')
        script = '''
            exec 3</remote/text 4>>/remote/out
            mv /remote/text /remote/other; echo new >/remote/text
            read line <&3; echo $line; sh -c 'read line; echo $line; echo more >&4' <&3
            rm /remote/other /remote/out
            sh -c 'cat; echo more >&4' <&3
            ls /remote'''
        self.assertEqual(self.run_remotely('bash', '-c', script).split(), ['one', 'two', 'text'])

    @needs('sqlite3')
    def test_two_clients_write_to_one_database_under_its_locks(self):
        self.run_remotely('sqlite3', '/remote/db', 'create table t(a integer primary key, who, b);')
        rounds = 15
        statement = '.timeout 100000\n' + ''.join(
            'begin immediate; insert into t(who, b) values({who}, randomblob(3000));'
            'insert into t(who, b) select {who}, randomblob(100) from generate_series(1, 9); commit;\n'
            'select count(*) % 10 from t;\n' for _ in range(rounds))
        clients = []
        for who in (1, 2):
            client = self.start('sqlite3', '-bail', '/remote/db', stdin=subprocess.PIPE)
            client.stdin.write(statement.format(who=who).encode())
            client.stdin.close()
            client.stdin = None
            clients.append(client)
        for client in clients:
            # Nobody sees half of a transaction.
            self.assertEqual(self.finish(client).split(), ['0'] * rounds)
        self.assertEqual(self.run_remotely('sqlite3', '/remote/db', 'pragma integrity_check;'
                                           'select who, count(*) from t group by who;').split(),
                         ['ok', f'1|{10 * rounds}', f'2|{10 * rounds}'])

    def test_a_lock_excludes_other_clients_until_its_process_ends(self):
        (self.root / 'locked').write_text('x' * 20)
        def another():
            return self.start(sys.executable, '-c', LOCKER, stdin=subprocess.PIPE)
        for end in ('normally', 'killed'):
            with self.subTest(end=end):
                first = another()
                self.assertEqual(first.stdout.readline(), b'locked\n')
                self.assertEqual(another().communicate()[0], b'BlockingIOError\n')
                if end == 'normally':
                    first.communicate()
                    self.assertEqual(another().communicate()[0], b'locked\n')
                else:
                    first.kill()
                    first.wait()
                    self.eventually('the lock of a client that was killed ends',
                                    lambda: another().communicate()[0] == b'locked\n')

    def test_a_connection_that_ends_without_the_session_releases_lock_and_descriptors_at_once(self):
        (self.root / 'locked').write_text('x' * 20)
        self.run_remotely('cat', '/remote/locked')
        base = self.server.descriptors()
        for end in ('disconnected', 'killed', 'killed while a client waits'):
            with self.subTest(end=end):
                holder = subprocess.Popen([FUZZ, self.server.address, 'hold', 'locked'], stdin=subprocess.PIPE,
                                          stdout=subprocess.PIPE, env=self.server.own_environment(), cwd=self.folder)
                self.addCleanup(lambda p=holder: (p.poll() is None and p.kill(), p.communicate()))
                self.assertEqual(holder.stdout.readline(), b'locked\n')
                waiter = None
                if end == 'killed while a client waits':
                    waiter = self.start(sys.executable, '-c', WAITER)
                    self.assertEqual(waiter.stdout.readline(), b'waits\n')
                if end == 'disconnected':
                    holder.stdin.write(b'\n')
                    holder.stdin.flush()
                    self.assertEqual(holder.stdout.readline(), b'disconnected\n')
                else:
                    holder.kill()
                begin = time.monotonic()
                waiter = waiter or self.start(sys.executable, '-c', WAITER)
                self.assertIn('locked', self.finish(waiter))
                self.assertLess(time.monotonic() - begin, BOUND, self.server.said()[-2000:])
                if end == 'disconnected':  # the process still exists, so only its disconnect can have ended the session
                    self.assertIsNone(holder.poll())
                self.eventually('descriptors are closed', lambda: self.server.descriptors() <= base)
                self.assertEqual(self.server.descriptors_below_root(), [])

    def test_a_process_that_forks_shares_the_position(self):
        self.run_remotely(sys.executable, '-c', '''
import os
import pathlib
import re
f = os.open('/remote/shared', os.O_CREAT | os.O_RDWR)
children = []
for i in range(4):
    pid = os.fork()
    if pid == 0:
        for n in range(50):
            os.write(f, b'%d%06d\\n' % (i, n))
        os._exit(0)
    children.append(pid)
for pid in children:
    assert os.waitpid(pid, 0)[1] == 0
''')
        lines = sorted((self.root / 'shared').read_text().split())
        self.assertEqual(lines, [f'{i}{n:06}' for i in range(4) for n in range(50)])

    def test_threads_of_one_process_read_and_write_at_once(self):
        self.run_remotely(sys.executable, '-c', '''
import os, threading
wrong = []
def work(i):
    f = os.open(f'/remote/t{i}', os.O_CREAT | os.O_RDWR)
    for n in range(30):
        b = bytes([i, n]) * (1 + n * 3000)
        os.pwrite(f, b, n)
        if os.pread(f, len(b), n) != b:
            wrong.append((i, n))
    os.close(f)
all = [threading.Thread(target=work, args=(i,)) for i in range(6)]
[t.start() for t in all]
[t.join() for t in all]
assert not wrong, wrong
''')


class Visitors(ServedTest):
    def test_clients_that_come_and_go_leave_nothing(self):
        n = 10000 if os.environ.get('IOD_MANY') else 300

        def used():
            status = pathlib.Path(f'/proc/{self.server.process.pid}/status').read_text()
            return self.server.descriptors(), int(re.search(r'VmRSS:\s*(\d+)', status)[1])

        def visit(times):
            subprocess.run([os.environ['IOD_VISITS'], self.server.address, str(times)],
                           env=self.server.own_environment(), check=True, timeout=1000)
            self.eventually('the file is closed', lambda: not self.server.descriptors_below_root())

        visit(n // 3)
        before = used()
        visit(n - n // 3)
        after = used()
        print(f'{n} clients: {before} to {after} descriptors and KiB', file=sys.stderr)
        self.assertLessEqual(after[0], before[0] + 2)
        self.assertLess(after[1], before[1] + 4096)


@unittest.skipUnless(os.environ.get('IOD_MANY'), 'many clients are of the suite long')
class Many(ServedTest):
    def test_200_clients_are_served(self):
        n = 200
        clients = [self.start(sys.executable, '-c', f'''
import os, sys
f = os.open('/remote/f{i}', os.O_CREAT | os.O_RDWR)
os.write(f, b'x' * {1000 * i})
print('ready', flush=True)
sys.stdin.read()
os.write(f, b'y')
''', stdin=subprocess.PIPE, environment={'IOD_TIMEOUT': '200'}) for i in range(n)]
        for client in clients:
            self.assertEqual(client.stdout.readline(), b'ready\n')
        self.assertEqual(len(self.server.descriptors_below_root()), n)
        for client in clients[::2]:
            client.kill()
        for client in clients[1::2]:
            self.finish(client)
        for i in range(n):
            self.assertEqual((self.root / f'f{i}').stat().st_size, 1000 * i + i % 2)
        self.eventually('all files are closed', lambda: not self.server.descriptors_below_root())


if __name__ == '__main__':
    unittest.main()
