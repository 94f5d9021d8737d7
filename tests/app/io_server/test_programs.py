"""Programs that know nothing of the server: what they do to its files is what they do to local ones."""

import os
import subprocess
import unittest

from support import CALLS, PATIENCE, ServedTest, needs


class Calls(ServedTest):
    def test_each_call_gives_what_it_gives_in_a_local_folder(self):
        local = self.folder / 'local'
        local.mkdir()
        expected = subprocess.run([CALLS, str(local)], capture_output=True, text=True, timeout=PATIENCE, check=True)
        self.assertGreater(expected.stdout.count('\n'), 200)
        self.assertEqual(self.run_remotely(CALLS, '/remote').splitlines(), expected.stdout.splitlines())
        self.assert_same_files(local, self.root)


class CallsWithoutOpenat2(Calls):
    options = ('--walk',)


class Settings(ServedTest):
    def said_by_ls(self, folder, expected, **environment):
        done = self.start('ls', folder, environment=environment)
        _, err = done.communicate(timeout=PATIENCE)
        self.assertEqual(done.returncode, expected, err)
        return err.decode()

    def test_a_setting_that_can_not_be_used_is_reported(self):
        for text in ('soon', '5s', '-1', 'nan'):
            self.assertEqual(self.said_by_ls('/remote', 0, IOD_TIMEOUT=text), f'liblci_io_shim: IOD_TIMEOUT={text}: must '
                             'be a number of seconds above 0; 60 is used\n')
        self.assertIn('liblci_io_shim: IOD_PREFIX=/: must name a folder; no path is remote\n',
                      self.said_by_ls('/remote', 2, IOD_PREFIX='/'))
        self.assertEqual(self.said_by_ls('/remote', 0, IOD_TIMEOUT='5.5'), '')
        self.assertEqual(self.said_by_ls('/remote', 0, IOD_TIMEOUT=''), '')


class Programs(ServedTest):
    def test_dd_copies_to_the_server_and_back(self):
        for size, block in ((0, '512'), (100_000, '7'), (5_000_001, '4k'), (30_000_003, '1M'), (40_000_000, '20M')):
            with self.subTest(size=size, block=block):
                source = self.some_bytes('source', size, seed=size % 251)
                self.run_remotely('dd', f'if={source}', 'of=/remote/there', f'bs={block}', 'status=none')
                self.assertEqual((self.root / 'there').read_bytes(), source.read_bytes())
                self.run_remotely('dd', 'if=/remote/there', f'of={self.folder}/back', f'bs={block}', 'status=none')
                self.assertEqual((self.folder / 'back').read_bytes(), source.read_bytes())
        self.run_remotely('dd', f'if={source}', 'of=/remote/there', 'bs=1M', 'seek=3', 'conv=notrunc,fsync',
                          'status=none')
        self.assertEqual((self.root / 'there').read_bytes(), source.read_bytes()[:3 << 20] + source.read_bytes())

    def test_cp_copies_folders_to_the_server_and_back(self):
        top = self.some_folder('top')
        self.run_remotely('cp', '-r', top, '/remote/copy')
        self.assert_same_files(top, self.root / 'copy')
        self.run_remotely('cp', '-r', '/remote/copy', self.folder / 'back')
        self.assert_same_files(top, self.folder / 'back')
        self.run_remotely('cp', '-a', '/remote/copy', '/remote/again')
        self.assert_same_files(top, self.root / 'again')
        self.run_remotely('rm', '-r', '/remote/again')
        self.assertFalse((self.root / 'again').exists())
        self.run_remotely('mv', '/remote/copy', '/remote/moved')
        self.run_remotely('mv', '/remote/moved', self.folder / 'moved')  # not by rename()
        self.assert_same_files(top, self.folder / 'moved')

    def test_tar_packs_and_unpacks_with_modes_and_times(self):
        top = self.some_folder('top')
        self.run_remotely('tar', '-cf', '/remote/all.tar', '-C', self.folder, 'top')
        os.mkdir(self.root / 'out')
        self.run_remotely('tar', '-xpf', '/remote/all.tar', '-C', '/remote/out')
        self.assert_same_files(top, self.root / 'out' / 'top')
        for path in top.rglob('file-*'):
            there = (self.root / 'out' / path.relative_to(self.folder)).stat()
            self.assertEqual((there.st_mode, there.st_mtime), (path.stat().st_mode, float(int(path.stat().st_mtime))))
        self.run_remotely('tar', '-cf', self.folder / 'back.tar', '-C', '/remote/out', 'top')
        names = subprocess.run(['tar', '-tf', str(self.folder / 'back.tar')], capture_output=True, text=True, check=True)
        expected = subprocess.run(['tar', '-tf', str(self.root / 'all.tar')], capture_output=True, text=True, check=True)
        self.assertEqual(sorted(names.stdout.splitlines()), sorted(expected.stdout.splitlines()))

    def test_programs_read_what_is_there(self):
        source = self.some_bytes('source', 3_000_000)
        (self.root / 'there').write_bytes(source.read_bytes())
        self.run_remotely('cmp', source, '/remote/there')
        expected = subprocess.run(['md5sum', str(source)], capture_output=True, text=True, check=True).stdout.split()[0]
        self.assertEqual(self.run_remotely('md5sum', '/remote/there').split()[0], expected)
        with open(self.root / 'there', 'r+b') as f:
            f.seek(2_999_999)
            f.write(b'!')
        self.assertIn('differ', self.run_remotely('cmp', source, '/remote/there', expected=1))
        listed = self.run_remotely('ls', '-l', '--time-style=+%s', '/remote')
        self.assertIn(' 3000000 ', listed)

    def test_descriptors_are_inherited_by_children_and_by_programs_that_are_executed(self):
        script = '''
            exec 3> /remote/out
            echo shell >&3
            (echo subshell >&3)
            sh -c "echo another >&3"
            ls /remote >&3
            exec 3>&-
            while read line; do echo "<$line>"; done < /remote/out
            md5sum < /remote/out
            cd /remote && mkdir d && cd d && pwd && echo inner > file && cat ../d/file && /bin/pwd
            cat 4< file <&4
            echo more >> file
            wc -l < file
            cd /tmp && pwd'''
        for shell in ('bash', 'dash'):
            with self.subTest(shell=shell):
                self.run_remotely('rm', '-rf', '/remote/d', '/remote/out')
                out = self.run_remotely(shell, '-c', script).splitlines()
                self.assertEqual((self.root / 'out').read_text(), 'shell\nsubshell\nanother\nout\n')
                self.assertEqual(out[:4], ['<shell>', '<subshell>', '<another>', '<out>'])
                self.assertEqual(out[5:], ['/remote/d', 'inner', '/remote/d', 'inner', '2', '/tmp'])

    def test_programs_that_close_their_streams_end_as_they_do_with_local_ones(self):
        (self.root / 'in').write_text('b\na\n')
        for redirected in ('>out 2>&1', '<in 2>error', '<in >out', '<in >out 2>error'):
            for program in ('/bin/echo text', 'sort in', 'cat in', 'grep a in', 'ls nothing'):
                with self.subTest(program=program, redirected=redirected):
                    done = subprocess.run(['sh', '-c', f'{program} {redirected}'], cwd=self.root, capture_output=True)
                    expected = {path.name: path.read_bytes() for path in self.root.iterdir()}
                    for name in ('out', 'error'):
                        (self.root / name).unlink(missing_ok=True)
                    self.run_remotely('sh', '-c', f'cd /remote && {program} {redirected}', expected=done.returncode)
                    self.assertEqual({path.name: path.read_bytes() for path in self.root.iterdir()}, expected)
                    for name in ('out', 'error'):
                        (self.root / name).unlink(missing_ok=True)

    @needs('git')
    def test_git_clones_to_and_from_the_server(self):
        top = self.some_folder('top')
        git = ['git', '-c', 'user.name=n', '-c', 'user.email=e', '-c', 'core.quotePath=false', '-C', str(top)]
        for arguments in (['init', '-q'], ['add', '-A'], ['commit', '-qm', 'one'], ['rm', '-qr', 'folder 1'],
                          ['commit', '-qm', 'two']):
            subprocess.run(git + arguments, check=True, timeout=PATIENCE)
        self.run_remotely('git', 'clone', '-q', f'file://{top}', '/remote/clone')
        self.run_remotely('git', 'clone', '-q', '/remote/clone', '/remote/again')
        self.run_remotely('git', 'clone', '-q', 'file:///remote/again', self.folder / 'back')
        self.assertEqual(self.run_remotely('git', '-C', '/remote/clone', 'status', '--short'), '')
        for clone in (self.root / 'clone', self.root / 'again', self.folder / 'back'):
            subprocess.run(['git', '-C', str(clone), 'fsck', '--strict'], check=True, timeout=PATIENCE,
                           capture_output=True)
            done = subprocess.run(['diff', '-r', '--no-dereference', '-x', '.git', str(top), str(clone)])
            self.assertEqual(done.returncode, 0)
        self.run_remotely('git', '-C', '/remote/clone', '-c', 'user.name=n', '-c', 'user.email=e', 'commit', '-q',
                          '--allow-empty', '-m', 'three')
        self.assertEqual(self.run_remotely('git', '-C', '/remote/clone', 'log', '--format=%s').split(),
                         ['three', 'two', 'one'])

    @needs('sqlite3')
    def test_sqlite_keeps_a_database(self):
        out = self.run_remotely('sqlite3', '/remote/db', '''
            create table t(a integer primary key, b);
            begin; insert into t(b) select randomblob(300) from generate_series(1, 2000); commit;
            begin; delete from t; rollback;
            update t set b = randomblob(5000) where a % 7 = 0;
            create index i on t(b); vacuum;
            pragma integrity_check; select count(*) from t;''')
        self.assertEqual(out.split(), ['ok', '2000'])
        local = subprocess.run(['sqlite3', str(self.root / 'db'), 'pragma integrity_check'], capture_output=True,
                               text=True)
        self.assertEqual(local.stdout.strip(), 'ok')


if __name__ == '__main__':
    unittest.main()
