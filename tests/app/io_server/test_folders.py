"""Paths of all forms, trees of folders, and children in the server's folders give what they give in local ones."""

import os
import pathlib
import shutil
import subprocess
import sys
import unittest

from support import PATIENCE, ServedTest, needs

PATHS = os.environ['IOD_PATHS']
TREES = os.environ['IOD_TREES']
NO_MEMORY = os.environ['IOD_NO_MEMORY']
MOVED_FOLDERS = os.environ['IOD_MOVED_FOLDERS']


class Folders(ServedTest):
    def compare(self, program, least=100):
        local = self.folder / 'local'
        local.mkdir()
        expected = subprocess.run([program, str(local)], capture_output=True, text=True, timeout=PATIENCE, check=True)
        got = self.run_remotely(program, '/remote').splitlines()
        self.assertGreater(len(got), least)
        self.assertEqual(got, expected.stdout.splitlines())
        return local

    def test_paths_that_end_with_dots_and_slashes(self):
        self.assert_same_files(self.compare(PATHS), self.root)

    def test_folders_that_are_moved_and_removed_while_they_are_used(self):
        self.assert_same_files(self.compare(MOVED_FOLDERS, least=90), self.root)

    def test_trees_and_children(self):
        self.compare(TREES)

    def test_lists_and_children_without_memory(self):
        self.assertEqual(self.run_remotely(NO_MEMORY, '/remote'), '0 checks have failed\n')

    def test_the_prefix_is_like_a_mount_point(self):
        script = '''if 1:
            import errno, os
            for call, expected in ((lambda: os.rmdir('/remote'), errno.EBUSY), (lambda: os.rmdir('/remote/'), errno.EBUSY),
                                   (lambda: os.rmdir('/remote/.'), errno.EINVAL), (lambda: os.unlink('/remote'), errno.EISDIR),
                                   (lambda: os.mkdir('/remote'), errno.EEXIST), (lambda: os.mkdir('/remote/.'), errno.EEXIST),
                                   (lambda: os.rename('/remote', '/remote/x'), errno.EBUSY)):
                try:
                    call()
                    print('no error')
                except OSError as e:
                    if e.errno != expected:
                        print(e)'''
        self.assertEqual(self.run_remotely(sys.executable, '-c', script), '')


class FoldersWithoutOpenat2(Folders):
    options = ('--walk',)
    test_trees_and_children = test_lists_and_children_without_memory = None
    test_the_prefix_is_like_a_mount_point = None  # they depend on the client only


class Python(ServedTest):
    def test_subprocesses_with_a_working_folder(self):
        (self.root / 'x' / 'y').mkdir(parents=True)
        (self.root / 'x' / 'file').write_text('text')
        script = '''if 1:
            import glob, os, pathlib, shutil, subprocess
            where = os.getcwd()
            def run(*command, **how):
                return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, **how).stdout.split()
            assert run('cat', 'file', cwd='/remote/x') == ['text']
            assert run('pwd', cwd='/remote/x/y') == ['/remote/x/y']
            assert run('pwd', cwd='/remote/x', close_fds=False) == ['/remote/x']
            assert run('pwd', cwd='/remote/x', start_new_session=True) == ['/remote/x']
            assert run('pwd', cwd='/remote/x', preexec_fn=lambda: None) == ['/remote/x']
            assert os.getcwd() == where  # so far only children have connected
            assert os.path.exists('/remote/x') and not os.path.exists('file')
            try:
                run('true', cwd='/remote/none')
                assert False
            except FileNotFoundError:
                pass
            os.chdir('/remote/x')
            assert sorted(os.listdir()) == ['file', 'y'] and os.getcwd() == '/remote/x'
            assert run('cat', 'file') == ['text']
            assert run('ls', '..') == ['x'] and run('pwd', cwd='y') == ['/remote/x/y'] and run('pwd', cwd='/') == ['/']
            assert os.getcwd() == '/remote/x' and open('file').read() == 'text'
            with open('out', 'w') as out:
                subprocess.run(['sh', '-c', 'pwd; cat file'], stdout=out, cwd='/remote/x', check=True)
            assert open('out').read() == '/remote/x\\ntext'
            fd = os.open('y', os.O_RDONLY)
            os.fchdir(fd)
            assert os.getcwd() == '/remote/x/y' and os.listdir(fd) == []
            os.chdir(where)
            assert run('pwd') == [where]
            assert sorted(glob.glob('/remote/x/*')) == ['/remote/x/file', '/remote/x/out', '/remote/x/y']
            assert sorted(glob.glob('/remote/**', recursive=True))[-1] == '/remote/x/y'
            assert [str(p) for p in pathlib.Path('/remote').rglob('fil*')] == ['/remote/x/file']
            shutil.copytree('/remote/x', '/remote/copy')
            shutil.rmtree('/remote/x')
            assert [len(names) + len(files) for _, names, files in os.walk('/remote')] == [1, 3, 0]
            print('all')'''
        self.assertEqual(self.run_remotely(sys.executable, '-c', script).split(), ['all'])


class Programs(ServedTest):
    def test_find_ls_and_du_list_what_is_there(self):
        top = self.some_folder('top')
        self.run_remotely('cp', '-a', top, '/remote/top')
        for command in (['find', 'top', '-printf', r'%p %y %s %m %l\n'], ['find', 'top', '-name', 'file-4*', '-size', '+1k'],
                        ['find', '-L', 'top', '-type', 'f', '-exec', 'cksum', '{}', ';'], ['find', 'top', '-depth'],
                        ['find', 'top', '-execdir', 'test', '-e', '{}', ';', '-print'],
                        ['ls', '-lR', '--time-style=+%s', 'top'], ['du', '-ab', '--apparent-size', 'top'],
                        ['grep', '-r', 'x', 'top', '--include', '*quoted*']):
            with self.subTest(command=command):
                expected = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=PATIENCE, check=True)
                # Sizes of folders depend on the file system.
                def lines(text):
                    return sorted(line for line in text.splitlines()
                                  if not line.startswith('total') and ' d ' not in line and not line.startswith('d'))
                got = self.run_remotely('sh', '-c', 'cd /remote && exec "$@"', 'sh', *command)
                self.assertEqual(lines(got), lines(expected.stdout))
        self.run_remotely('find', '/remote/top/folder 1', '-delete')
        self.assertFalse((self.root / 'top' / 'folder 1').exists())
        self.run_remotely('chmod', '-R', 'g-w,o-rwx', '/remote/top')
        self.assertEqual(subprocess.run(['find', str(self.root / 'top'), '-perm', '/o=rwx', '-not', '-type', 'l'],
                                        capture_output=True, text=True, check=True).stdout, '')
        self.run_remotely('rm', '-r', '/remote/top')
        self.assertFalse((self.root / 'top').exists())

    @needs('rsync')
    def test_rsync_copies_there_and_back(self):
        top = self.some_folder('top')
        self.run_remotely('rsync', '-a', f'{top}/', '/remote/copy')
        self.assert_same_files(top, self.root / 'copy')
        self.run_remotely('rsync', '-a', '/remote/copy/', self.folder / 'back')
        self.assert_same_files(top, self.folder / 'back')


if __name__ == '__main__':
    unittest.main()
