"""Large writes, which are transferred in pieces."""

import errno
import resource
import sys

from support import ServedTest

COMMON = '''
import errno, os, sys
SIZE = (20 << 20) + 77
data = bytes((i * 7 + i // 256) % 256 for i in range(65536 + 13)) * 330
assert len(data) > SIZE
'''


class Writes(ServedTest):
    def python(self, script):
        return self.run_remotely(sys.executable, '-c', COMMON + script)

    def test_parts_of_any_size_are_written_where_they_belong(self):
        out = self.python('''
f = os.open('/remote/file', os.O_RDWR | os.O_CREAT)
expected = bytearray()
for size in (1, 4097, 131072, 262143, 262144, 262145, 524288, 524289, 1 << 20, (2 << 20) + 5, (8 << 20) + 3, SIZE):
    for at in (0, 1, 4095, 777_777):
        part = data[size % 251:][:size]
        assert os.pwrite(f, part, at) == size
        expected[len(expected):] = bytes(max(at + size - len(expected), 0))
        expected[at:at + size] = part
    with open('/remote/file', 'rb') as check:
        assert check.read() == expected, size
print(len(expected))''')
        self.assertEqual(int(out), (self.root / 'file').stat().st_size)

    def test_appended_parts_follow_each_other(self):
        self.python('''
f = os.open('/remote/file', os.O_WRONLY | os.O_CREAT | os.O_APPEND)
for size in (100, 300_000, 1 << 20, 3_000_000):
    assert os.write(f, data[:size]) == size
whole = open('/remote/file', 'rb').read()
assert whole == data[:100] + data[:300_000] + data[:1 << 20] + data[:3_000_000]''')

    def test_what_clients_append_in_one_call_stays_together(self):
        size, times, clients = 300_000, 30, (b'a', b'b', b'c')
        appending = [self.start(sys.executable, '-c', f'''
import os
f = os.open('/remote/file', os.O_WRONLY | os.O_CREAT | os.O_APPEND)
for i in range({times}):
    if i % 2:
        assert os.write(f, {letter!r} * {size}) == {size}
    else:
        pieces = [{letter!r} * n for n in (10, 90, 3_900, 96_000, 200_000)]
        assert os.writev(f, pieces) == {size}
''') for letter in clients]
        for one in appending:
            self.finish(one)
        whole = (self.root / 'file').read_bytes()
        self.assertEqual(len(whole), size * times * len(clients))
        for at in range(0, len(whole), size):
            self.assertIn(whole[at:at + size], [letter * size for letter in clients])

    def test_a_write_ends_where_the_server_may_write_no_more(self):
        limit = (3 << 20) + 100_000
        resource.prlimit(self.server.process.pid, resource.RLIMIT_FSIZE, (limit, limit))
        out = self.python('''
f = os.open('/remote/file', os.O_RDWR | os.O_CREAT)
for at in (0, 1 << 20):
    print(os.pwrite(f, data[:8 << 20], at))
    assert os.pread(f, 8 << 20, at) == data[:8 << 20][:os.fstat(f).st_size - at]
try:
    os.pwrite(f, data[:8 << 20], 4 << 20)
except OSError as e:
    print(e.errno)
assert os.pwrite(f, b'x', 0) == 1''')
        self.assertEqual([int(word) for word in out.split()], [limit, limit - (1 << 20), errno.EFBIG])
        self.assertEqual((self.root / 'file').stat().st_size, limit)

    def test_transfers_go_on_where_the_server_can_start_no_thread(self):
        # Over TCP a second thread reads and writes the file meanwhile. Here it gets no stack.
        out = self.run_remotely(sys.executable, '-c', COMMON + '''
import resource
server = int(sys.argv[1])
def threads():
    return len(os.listdir(f'/proc/{server}/task'))
f = os.open('/remote/file', os.O_RDWR | os.O_CREAT)
assert os.pwrite(f, data[:1000], 0) == 1000 and os.pread(f, 2000, 0) == data[:1000]
before = threads()
size = int(open(f'/proc/{server}/statm').read().split()[0]) * os.sysconf('SC_PAGESIZE')
limits = resource.prlimit(server, resource.RLIMIT_AS, (size + (4 << 20), resource.RLIM_INFINITY))  # less than a stack
assert os.pwrite(f, data[:SIZE], 0) == SIZE
assert os.pread(f, SIZE + 1, 0) == data[:SIZE]
assert threads() == before
resource.prlimit(server, resource.RLIMIT_AS, limits)
assert os.pread(f, SIZE + 1, 0) == data[:SIZE]
print(threads() - before)''', str(self.server.process.pid))
        # Each of the server's two threads starts one when it makes its first such transfer.
        self.assertIn(int(out), (1, 2) if self.server.network == 'tcp' else (0,))
