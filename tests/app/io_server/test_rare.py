"""Calls that few programs make: they work as in a local folder, or fail without touching local files."""

import os
import subprocess
import unittest

from support import PATIENCE, ServedTest, needs

RARER_CALLS = os.environ['IOD_RARER_CALLS']
REFUSED_CALLS = os.environ['IOD_REFUSED_CALLS']
THREADS = os.environ['IOD_THREADS']
OWN_MALLOC = os.environ['IOD_OWN_MALLOC']

REFUSED = '''
execve EACCES, execve-none ENOENT, execv EACCES, execvp EACCES, execvpe EACCES, execl EACCES, execlp EACCES,
execle EACCES, fexecve EACCES, execveat EACCES, posix_spawn EACCES, posix_spawnp-none ENOENT, bind EPERM,
bind-file EADDRINUSE, connect ECONNREFUSED, connect-none ENOENT, sendto ECONNREFUSED, inotify_add_watch EOPNOTSUPP,
inotify_add_watch-none ENOENT, name_to_handle_at EOPNOTSUPP, chroot EPERM, chroot-none ENOENT, mkfifo EPERM,
getxattr EOPNOTSUPP, listxattr done, listxattr-none ENOENT, FICLONE EOPNOTSUPP, FIEMAP EOPNOTSUPP, FIGETBSZ ENOTTY, F_SETLEASE EINVAL, aio_read ENOSYS,
aio_write ENOSYS, aio_fsync ENOSYS, lio_listio ENOSYS, fopen-ccs EINVAL,
wordexp EOPNOTSUPP, wordexp-absolute EOPNOTSUPP, wordexp-variable EOPNOTSUPP,
wordexp-none done, __xmknod EPERM, dlopen none, dlopen none'''


class Calls(ServedTest):
    def test_forwarded_ones_give_what_they_give_in_a_local_folder(self):
        local = self.folder / 'local'
        local.mkdir()
        expected = subprocess.run([RARER_CALLS, str(local)], capture_output=True, text=True, timeout=PATIENCE, check=True)
        self.assertGreater(expected.stdout.count('\n'), 60)
        self.assertEqual(self.run_remotely(RARER_CALLS, '/remote').splitlines(), expected.stdout.splitlines())
        self.assert_same_files(local, self.root)

    def test_threads_end_and_lock_as_in_a_local_folder(self):
        local = self.folder / 'local'
        local.mkdir()
        expected = subprocess.run([THREADS, str(local)], capture_output=True, text=True, timeout=PATIENCE, check=True)
        self.assertEqual(self.run_remotely(THREADS, '/remote').splitlines(), expected.stdout.splitlines())
        self.assert_same_files(local, self.root)

    def test_refused_ones_fail_and_leave_local_files_of_the_same_names_alone(self):
        prefix = self.folder / 'prefix'  # exists here, too
        prefix.mkdir()
        for folder in (prefix, self.root):
            (folder / 'file').write_text('#!/bin/sh\nexit 1\n')
            (folder / 'file').chmod(0o755)
        out = self.run_remotely(REFUSED_CALLS, prefix, environment={'IOD_PREFIX': str(prefix)}, cwd=prefix)
        self.assertEqual(out.split('\n')[:-1], [case.strip() for case in REFUSED.split(',')])
        self.assertEqual(os.listdir(prefix), ['file'])
        self.assert_same_files(prefix, self.root)


class Programs(ServedTest):
    def test_shells_say_that_remote_programs_can_not_be_executed(self):
        (self.root / 'program').write_text('#!/bin/sh\necho ran\n')
        (self.root / 'program').chmod(0o755)
        (self.folder / 'program').write_text('#!/bin/sh\necho wrong\n')
        (self.folder / 'program').chmod(0o755)
        for shell in ('bash', 'dash'):
            done = self.run_remotely(shell, '-c', 'cd /remote; ./program 2>&1; echo $?; ./none; echo $?; sh ./program')
            self.assertIn('Permission denied\n126\n127\nran\n', done)

    def test_tail_follows_a_file(self):
        path = self.root / 'log'
        path.write_text('one\n')
        tail = self.start('tail', '-f', '-s', '0.1', '/remote/log')
        self.assertEqual(tail.stdout.readline(), b'one\n')
        for line in (b'two\n', b'three\n'):
            with open(path, 'ab') as f:
                f.write(line)
            self.assertEqual(tail.stdout.readline(), line)
        tail.terminate()
        self.assertEqual(tail.communicate(timeout=PATIENCE)[1], b'')

    def test_the_prefix_is_reached_from_its_parent(self):
        (self.root / 'file').write_text('text\n')
        script = '''if 1:
            import os
            os.chdir('/')
            print(open('remote/file').read(), end='')
            parent = os.open('/', os.O_PATH | os.O_DIRECTORY)
            top = os.open('remote', os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
            print(os.stat('file', dir_fd=top).st_size, os.path.exists('remote_file'))
            os.chdir('usr')
            print(os.listdir('../remote'))'''
        self.assertEqual(self.run_remotely('python3', '-c', script).splitlines(), ['text', '5 False', "['file']"])

    def test_cp_keeps_holes(self):
        with open(self.root / 'sparse', 'wb') as f:
            f.seek(4_096_000)
            f.write(os.urandom(4096))
            f.truncate(20 << 20)
        self.run_remotely('cp', '/remote/sparse', '/remote/copy')
        self.assert_same_files(self.root / 'sparse', self.root / 'copy')
        self.assertEqual((self.root / 'copy').stat().st_blocks, (self.root / 'sparse').stat().st_blocks)

    def test_a_malloc_of_the_program_may_make_system_calls_when_it_begins(self):
        self.run_remotely(OWN_MALLOC, '/remote/file')
        self.assertEqual((self.root / 'file').read_text(), 'word')

    @needs('node')
    def test_node_reads_what_it_has_written(self):
        script = """const fs = require("fs"); process.chdir("/remote")
            fs.writeFileSync("a", Buffer.alloc(300000, "abc")); fs.copyFileSync("a", "b"); fs.truncateSync("a", 5)
            console.log(fs.readFileSync("b").length, fs.statSync("a").size, fs.readdirSync(".").join())"""
        self.assertEqual(self.run_remotely('node', '-e', script).split(), ['300000', '5', 'a,b'])

    @needs('tclsh')
    def test_tcl_copies_and_removes_folders(self):
        script = 'cd /remote; file mkdir a/b; close [open a/b/c w]; file copy a d; file delete -force a; puts [glob -- * */*]'
        (self.folder / 'script').write_text(script)
        self.assertEqual(self.run_remotely('tclsh', self.folder / 'script'), 'd d/b\n')

    @needs('g++')
    def test_streams_of_cxx_that_a_library_has_initialized_before(self):
        (self.folder / 'lib.cpp').write_text('#include <iostream>\nvoid say() { std::cout << "library\\n"; }\n')
        (self.folder / 'main.cpp').write_text('#include <iostream>\n#include <string>\n#include <fcntl.h>\n'
                                              '#include <unistd.h>\nvoid say();\nint main() {\n'
                                              '  std::string word;\n  std::cin >> word;\n  say();\n'
                                              '  std::cout << word << std::endl;\n  std::cerr << "error\\n";\n'
                                              '  std::wcout << L"wide" << std::endl;\n  dup2(2, 1);\n'
                                              '  std::cout << "other" << std::endl;\n  dup2(open("/dev/null", O_WRONLY), 1);\n'
                                              '  std::cout << "nowhere" << std::endl;\n}\n')
        subprocess.run(['g++', '-shared', '-fPIC', '-o', 'libsay.so', 'lib.cpp'], cwd=self.folder, check=True)
        subprocess.run(['g++', '-o', 'says', 'main.cpp', '-L.', '-lsay', f'-Wl,-rpath,{self.folder}'], cwd=self.folder,
                       check=True)
        (self.root / 'in').write_text('word\n')
        self.run_remotely('sh', '-c', './says < /remote/in > /remote/out 2> /remote/err')
        self.assertEqual((self.root / 'out').read_text(), 'library\nword\nwide\n')
        self.assertEqual((self.root / 'err').read_text(), 'error\nother\n')

    @needs('g++')
    def test_streams_of_cxx_with_own_buffers_are_written_when_the_process_exits(self):
        (self.folder / 'main.cpp').write_text('#include <fcntl.h>\n#include <iostream>\nint main() {\n'
                                              '  open("/remote/out", O_RDONLY);\n  std::ios::sync_with_stdio(false);\n'
                                              '  std::cout << "text\\n";\n  std::clog << "log\\n";\n}\n')
        subprocess.run(['g++', '-o', 'says', 'main.cpp'], cwd=self.folder, check=True)
        self.run_remotely('sh', '-c', './says > /remote/out 2> /remote/err; ./says >> /remote/both 2>&1')
        self.assertEqual((self.root / 'out').read_text(), 'text\n')
        self.assertEqual((self.root / 'err').read_text(), 'log\n')
        self.assertEqual(sorted((self.root / 'both').read_text().split()), ['log', 'text'])

    @needs('ed')
    @needs('make')
    @needs('gcc')
    def test_editors_and_make(self):
        (self.root / 'm.c').write_text('int f(void);\nint main(void) { return f(); }\n')
        (self.root / 'f.c').write_text('#include "h.h"\nint f(void) { return K; }\n')
        (self.root / 'h.h').write_text('#define K 7\n')
        (self.root / 'Makefile').write_text('p: m.o f.o\n\tgcc -o $@ $^\n%.o: %.c\n\tgcc -MMD -c -o $@ $<\n-include f.d m.d\n')
        self.run_remotely('make', '-s', '-C', '/remote')
        self.run_remotely('sh', '-c', "sleep 1.1; printf '1s/7/8/\\nw\\nq\\n' | ed -s /remote/h.h")
        self.assertEqual(self.run_remotely('make', '-C', '/remote').count('gcc'), 2)
        self.assertEqual(subprocess.run([self.root / 'p'], timeout=PATIENCE).returncode, 8)


if __name__ == '__main__':
    unittest.main()
