"""Large reads of clients on the server's host, which read a part themselves through the server's descriptor."""

import hashlib
import os
import subprocess
import sys
import unittest

from support import NETWORK, PATIENCE, ServedTest, needs

SIZE = 5_000_011  # neither a multiple of the pieces nor of a page

# What a client has of the server's files: the targets of its descriptors that are below the root.
COMMON = f'''
import os, sys
SIZE = {SIZE}
def lent(pid='self'):
    found = []
    for n in os.listdir(f'/proc/{{pid}}/fd'):
        try:
            target = os.readlink(f'/proc/{{pid}}/fd/{{n}}')
        except OSError:
            continue
        if target.endswith('/root/file'):
            found.append(int(n))
    return found
'''


class LargeReads(ServedTest):
    lent = 0  # descriptors that a client has of a file that it reads

    def setUp(self):
        super().setUp()
        self.data = self.some_bytes('root/file', SIZE).read_bytes()

    def python(self, program, *arguments, **how):
        return self.run_remotely(sys.executable, '-c', COMMON + program, *arguments, **how)

    def test_a_large_read_may_use_a_descriptor_that_close_gives_back(self):
        out = self.python('''
f = os.open('/remote/file', os.O_RDONLY)
os.read(f, 1000)
print(len(lent()))
whole = os.pread(f, SIZE, 0)
print(len(lent()))
os.close(f)
print(len(lent()))
import hashlib
print(hashlib.md5(whole).hexdigest())''')
        self.assertEqual(out.split(), ['0', str(self.lent), '0', hashlib.md5(self.data).hexdigest()])

    def test_any_part_of_the_file_is_read(self):
        self.python('''
expected = open(sys.argv[1], 'rb').read()
f = os.open('/remote/file', os.O_RDONLY)
for size in (196607, 196608, 200_001, 1 << 20, 3_000_000, SIZE, 20 << 20):
    for at in (0, 1, 4095, 777_777, SIZE - 300_000, SIZE - 65536, SIZE - 1, SIZE, SIZE + 1, SIZE + (1 << 20)):
        assert os.pread(f, size, at) == expected[at:at + size], (size, at)
at = 0
while part := os.read(f, 1_000_003):
    assert part == expected[at:at + len(part)]
    at += len(part)
assert at == SIZE''', self.root / 'file')

    def test_a_file_that_can_be_written_is_not_lent(self):
        out = self.python('''
f = os.open('/remote/file', os.O_RDWR)
assert len(os.pread(f, SIZE, 0)) == SIZE
print(len(lent()))''')
        self.assertEqual(out.split(), ['0'])

    def test_a_read_sees_what_another_client_has_written(self):
        reader = self.start(sys.executable, '-c', COMMON + '''
f = os.open('/remote/file', os.O_RDONLY)
for line in sys.stdin:
    whole = os.pread(f, 8 << 20, 0)
    print(len(whole), *sorted(set(whole)), flush=True)''', stdin=subprocess.PIPE)
        writer = self.start(sys.executable, '-c', COMMON + '''
f = os.open('/remote/file', os.O_RDWR)
for line in sys.stdin:
    value, size = map(int, line.split())
    os.ftruncate(f, size)
    os.pwrite(f, bytes([value]) * size, 0)
    print('written', flush=True)''', stdin=subprocess.PIPE)
        for i in range(30):
            size = SIZE - 40_000 * i if i % 2 else 1_000_000 + i
            writer.stdin.write(b'%d %d\n' % (i, size))
            writer.stdin.flush()
            self.assertEqual(writer.stdout.readline(), b'written\n')
            reader.stdin.write(b'\n')
            reader.stdin.flush()
            self.assertEqual(reader.stdout.readline().split(), [b'%d' % size, b'%d' % i])

    def test_shared_mappings_are_of_the_file_or_are_refused(self):
        out = self.python('''
import mmap
f = os.open('/remote/file', os.O_RDWR)
try:
    m = mmap.mmap(f, 0)
except OSError as e:
    print(e.errno)
    sys.exit()
m[1000:1004] = b'here'
assert os.pread(f, 4, 1000) == b'here'
os.pwrite(f, b'there', 4_000_000)
assert m[4_000_000:4_000_005] == b'there'
def by_mapping():
    m[5:9] = b'next'
for write in (lambda: os.write(os.open('/remote/file', os.O_WRONLY), b'begin'), by_mapping):
    child = os.fork()
    if child == 0:
        write()
        os._exit(0)
    os.waitpid(child, 0)
assert m[:9] == b'beginnext'
m.flush()
print(len(lent()))
os.close(f)
m[9:12] = b"end"''')
        self.assertEqual(out.split(), ['0' if self.lent else '19'])
        if self.lent:
            read = (self.root / 'file').read_bytes()
            self.assertEqual(read, b'beginnextend' + self.data[12:1000] + b'here' + self.data[1004:4_000_000] +
                             b'there' + self.data[4_000_005:])
        # What may be mapped depends on how the file is open, as locally.
        self.python('''
import mmap
for how, protection in ((os.O_RDONLY, mmap.PROT_WRITE), (os.O_WRONLY, mmap.PROT_READ)):
    try:
        mmap.mmap(os.open('/remote/file', how), 1000, mmap.MAP_SHARED, protection)
        print('no error')
    except OSError as e:
        assert e.errno == 13, e
mapped = mmap.mmap(os.open('/remote/file', os.O_RDONLY), 0, prot=mmap.PROT_READ)
assert mapped[:] == open(sys.argv[1], 'rb').read()
assert lent() == []''', self.root / 'file')

    @needs('sqlite3')
    def test_without_shared_mappings_sqlite_refuses_write_ahead_logs_that_others_use(self):
        if self.lent:
            return
        database = self.root / 'db'
        writer = subprocess.Popen(['sqlite3', str(database)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        writer.stdin.write('pragma journal_mode=wal; create table t(a); insert into t values(1); select 2;\n')
        writer.stdin.flush()
        self.assertEqual([writer.stdout.readline(), writer.stdout.readline()], ['wal\n', '2\n'])
        for begin, expected in (('', 10), ('pragma locking_mode=exclusive', 5)):  # SQLITE_IOERR, SQLITE_BUSY
            clients = [self.start('sqlite3', '-cmd', begin, '/remote/db', f'insert into t values({i});') for i in (3, 4)]
            for client in clients:
                self.finish(client, expected)
        out, _ = writer.communicate('insert into t values(5); select * from t; pragma integrity_check;\n', PATIENCE)
        self.assertEqual(out.split(), ['1', '5', 'ok'])
        out = self.run_remotely('sqlite3', '-cmd', 'pragma locking_mode=exclusive', '/remote/db',
                                'insert into t values(6); pragma journal_mode=delete; select count(*) from t;')
        self.assertEqual(out.split(), ['exclusive', 'delete', '3'])
        self.run_remotely('sqlite3', '/remote/db', 'insert into t values(7); pragma integrity_check;')

    @needs('sqlite3')
    def test_sqlite_never_reads_old_data_through_a_mapping_that_is_only_read(self):
        database = self.root / 'db'
        writer = subprocess.Popen(['sqlite3', str(database)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        def write(command):
            writer.stdin.write(command + ' select 0;\n')
            writer.stdin.flush()
            while writer.stdout.readline() != '0\n':
                pass
        write('pragma journal_mode=wal; create table t(a); insert into t values(1);')
        reader = self.start(sys.executable, '-c', '''
import sqlite3, sys
db = sqlite3.connect('file:/remote/db?readonly_shm=1', uri=True)
for line in sys.stdin:
    try:
        print(db.execute('select count(*) from t').fetchone()[0], flush=True)
    except sqlite3.OperationalError as e:
        print('error', flush=True)''', stdin=subprocess.PIPE)
        for n in (1, 2, 3):
            reader.stdin.write(b'\n')
            reader.stdin.flush()
            self.assertEqual(reader.stdout.readline(), b'%d\n' % n if self.lent else b'error\n')
            write(f'insert into t values({n + 1});')
        writer.communicate(timeout=PATIENCE)

    def test_a_private_mapping_of_a_large_file_takes_no_memory(self):
        if not self.lent:
            return
        with open(self.root / 'large', 'wb') as f:
            f.truncate(1 << 40)
        self.python('''
import mmap
f = os.open('/remote/large', os.O_RDWR)
os.pwrite(f, b'here', 1 << 39)
m = mmap.mmap(f, 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ)
assert m[1 << 39:(1 << 39) + 5] == b'here' + bytes(1)''')

    def test_without_a_free_descriptor_the_server_reads_all(self):
        out = self.python('''
import resource
f = os.open('/remote/file', os.O_RDONLY)
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (400, hard))
assert os.pread(f, SIZE, 0) == open(sys.argv[1], 'rb').read()
print(len(lent()))''', self.root / 'file')
        self.assertEqual(out.split(), ['0'])

    def test_a_read_whose_end_exceeds_the_largest_offset_returns_no_data(self):
        self.python('''
f = os.open('/remote/file', os.O_RDONLY)
for at in ((1 << 63) - 1, (1 << 63) - (1 << 18)):
    try:
        assert os.pread(f, 1 << 20, at) == b''
    except OSError:
        pass''')

    def test_an_error_of_the_server_ends_the_read(self):
        reader = self.start(sys.executable, '-c', COMMON + '''
f = os.open('/remote/file', os.O_RDONLY)
assert len(os.pread(f, SIZE, 0)) == SIZE
print(len(lent()), flush=True)
sys.stdin.readline()
try:
    os.pread(f, SIZE, 0)
except OSError as e:
    print(e.errno, flush=True)
os.close(f)
print(len(lent()))''', stdin=subprocess.PIPE, environment={'IOD_TIMEOUT': '20'})
        self.assertEqual(reader.stdout.readline().split(), [b'%d' % self.lent])
        self.server.process.kill()
        self.server.process.wait()
        reader.stdin.write(b'\n')
        reader.stdin.close()
        reader.stdin = None
        self.assertEqual(self.finish(reader).split(), ['5', '0'])


@unittest.skipUnless(NETWORK == 'shm', 'the server lends descriptors to clients in shared memory only')
class Lending(LargeReads):
    lent = 1

    def test_a_program_can_not_close_it_and_a_child_does_not_inherit_it(self):
        out = self.python('''
f = os.open('/remote/file', os.O_RDONLY)
first = os.pread(f, SIZE, 0)
[fd] = lent()
for close in (lambda: os.close(fd), lambda: os.dup2(0, fd)):
    try:
        close()
        print('no error')
    except OSError as e:
        print(e.errno == 9)
os.closerange(f + 1, 4096)
print(os.pread(f, SIZE, 0) == first, lent() == [fd])
child = os.fork()
if child == 0:
    inherited = lent()
    same = os.pread(f, SIZE, 0) == first
    os._exit(0 if inherited == [] and same and len(lent()) == 1 else 1)
print(os.waitpid(child, 0)[1])
import subprocess
executed = subprocess.run(['ls', '-l', '/proc/self/fd'], close_fds=False, env={}, capture_output=True, text=True)
print(executed.stdout.count('/root/file'))
''')
        self.assertEqual(out.split(), ['True', 'True', 'True', 'True', '0', '0'])


    @needs('sqlite3')
    def test_sqlite_with_write_ahead_logs(self):
        self.run_remotely('sqlite3', '/remote/db', 'pragma journal_mode=wal; create table t(a);')
        script = ''.join(f'insert into t values({i});' for i in range(50))
        writers = [self.start('sqlite3', '-cmd', '.timeout 60000', '/remote/db', script) for _ in range(3)]
        for writer in writers:
            self.finish(writer)
        out = self.run_remotely('sqlite3', '/remote/db',
                                'pragma journal_mode; pragma integrity_check; select count(*) from t;')
        self.assertEqual(out.split(), ['wal', 'ok', '150'])


@unittest.skipUnless(NETWORK == 'shm', 'the server lends descriptors to clients in shared memory only')
class NoLending(LargeReads):
    options = ('--no-lend',)


if NETWORK == 'shm':
    del LargeReads  # its tests run in the classes derived from it


if __name__ == '__main__':
    unittest.main()
