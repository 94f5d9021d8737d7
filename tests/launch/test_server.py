"""lcirun's PMI server with ranks that violate the protocol."""

import os
import unittest

from support import PYTHON, LaunchTest

RAW = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'raw_rank.py')
INIT = ['cmd=init pmi_version=1 pmi_subversion=1\\n', '@read']
NAME = ['cmd=get_my_kvsname\\n', '@read']


def ask(*requests):
    words = []
    for request in requests:
        words += [request + '\\n', '@read']
    return words


class Server(LaunchTest):
    def talk(self, *words, n=1):
        return self.job('-n', n, '--timeout', 60, PYTHON, RAW, *words)

    def test_the_published_requests_are_answered(self):
        result = self.talk(*INIT, *ask('cmd=get_maxes', 'cmd=get_appnum', 'cmd=get_universe_size',
                                       'cmd=barrier_in', 'cmd=lookup_name service=x',
                                       'cmd=finalize'))
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = [dict(f.split('=', 1) for f in line.split()) for line in result.stdout.splitlines()]
        self.assertEqual([line['cmd'] for line in lines],
                         ['response_to_init', 'maxes', 'appnum', 'universe_size', 'barrier_out',
                          'lookup_result', 'finalize_ack'])
        self.assertEqual((lines[0]['rc'], lines[0]['pmi_version']), ('0', '1'))
        self.assertEqual((lines[1]['kvsname_max'], lines[1]['keylen_max'], lines[1]['vallen_max']),
                         ('256', '64', '1024'))
        self.assertEqual(lines[3]['size'], '1')
        self.assertEqual(lines[5]['rc'], '-1')

    def test_put_get_and_getbyidx_are_answered(self):
        script = f'''
import os, socket, sys
s = socket.socket(fileno=int(os.environ["PMI_FD"])); f = s.makefile("rw")
def ask(line):
    f.write(line + "\\n"); f.flush()
    return dict(x.split("=", 1) for x in f.readline().split())
ask("cmd=init pmi_version=1 pmi_subversion=1")
k = ask("cmd=get_my_kvsname")["kvsname"]
assert k == os.environ["PMI_JOBID"]
assert ask(f"cmd=get kvsname={{k}} key=PMI_process_mapping")["value"] == "(vector,(0,1,1))"
assert ask(f"cmd=get kvsname={{k}} key=a")["rc"] == "-1"
assert ask(f"cmd=put kvsname={{k}} key=a value=1=2=3")["rc"] == "0"
assert ask(f"cmd=get kvsname={{k}} key=a")["value"] == "1=2=3"
assert ask(f"cmd=put kvsname={{k}} key=a value=")["rc"] == "0"
assert ask(f"cmd=get kvsname={{k}} key=a")["value"] == ""
assert ask(f"value={{'v' * 1023}} key={{'k' * 63}} kvsname={{k}} cmd=put")["rc"] == "0"
assert ask(f"cmd=get kvsname={{k}} key={{'k' * 63}}")["value"] == "v" * 1023
for bad in (f"cmd=put kvsname={{k}} key={{'k' * 64}} value=1",
            f"cmd=put kvsname={{k}} key= value=1", f"cmd=put kvsname={{k}} value=1",
            f"cmd=put kvsname={{k}} key=b value={{'v' * 1024}}", f"cmd=put kvsname={{k}} key=b",
            f"cmd=put kvsname=other key=b value=1", f"cmd=put key=b value=1", "cmd=put",
            f"cmd=get kvsname=other key=a", f"cmd=get kvsname={{k}}", "cmd=get"):
    reply = ask(bad)
    assert reply["rc"] == "-1" and reply["msg"], (bad, reply)
found, i = {{}}, 0
while True:
    reply = ask(f"cmd=getbyidx kvsname={{k}} idx={{i}}")
    if reply["rc"] != "0":
        break
    found[reply["key"]] = reply["val"]
    i = int(reply["nextidx"])
assert reply["rc"] == "-2", reply
assert set(found) == {{"PMI_process_mapping", "a", "k" * 63}}, found
for idx in ("-1", "x", "99999999999999999999", ""):
    assert ask(f"cmd=getbyidx kvsname={{k}} idx={{idx}}")["rc"] == "-1"
print("good")
'''
        result = self.job('-n', 1, PYTHON, '-c', script)
        self.assertEqual((result.returncode, result.stdout), (0, 'good\n'), result.stderr)

    def test_requests_may_arrive_in_any_pieces(self):
        result = self.talk('cmd=in', 'it pmi_ver', 'sion=1 pmi_subversion=1', '\\n', '@read',
                           'cmd=get_appnum\\ncmd=get_universe_size\\ncmd=get_m', '@read', '@read',
                           'axes\\n', '@read')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual([line.split()[0] for line in result.stdout.splitlines()],
                         ['cmd=response_to_init', 'cmd=appnum', 'cmd=universe_size', 'cmd=maxes'])

    def test_a_wrong_version_is_refused(self):
        result = self.talk('cmd=init pmi_version=2 pmi_subversion=0\\n', '@read')
        self.assertIn('rc=-1', result.stdout)

    def test_malformed_requests_end_the_job_and_name_the_rank(self):
        for words in (['\\n'],
                      ['hello world\\n'],
                      ['rc=0\\n'],
                      ['cmd=\\n'],
                      ['=x cmd=init\\n'],
                      ['cmd=init cmd=init\\n'],
                      ['cmd=init\\0 pmi_version=1\\n'],
                      ['cmd=init\\tpmi_version=1\\n'],
                      ['\\xff\\xfe\\x00\\x01\\n'],
                      ['cmd=init ' + ' '.join(f'f{i}=1' for i in range(40)) + '\\n'],
                      ['cmd=init x=' + 'y' * 8200 + '\\n'],
                      ['x' * 20000],
                      ['cmd=get_maxes\\n'],                    # before init
                      INIT + ['cmd=unheard_of\\n'],
                      INIT + ['mcmd=spawn\\n', 'nprocs=1\\n', 'endcmd\\n'],
                      ['@flood']):
            with self.subTest(words=[word[:60] for word in words]):
                result = self.talk(*words, '@drain', '@sleep')
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertRegex(result.stderr, r'rank 0 \(pid \d+\) sen(t|ds) .*PMI request')
                self.assertTrue(result.stderr.isascii() and '\0' not in result.stderr)

    def test_requests_during_a_barrier_end_the_job(self):
        script = f'[ $PMI_RANK = 0 ] || exec sleep 600; exec {PYTHON} {RAW} "$@"'
        for second in ('cmd=barrier_in', 'cmd=get_appnum'):
            result = self.job('-n', 2, 'bash', '-c', script, 'sh', *INIT, 'cmd=barrier_in\\n',
                              second + '\\n', '@drain', '@sleep')
            self.assertEqual(result.returncode, 1)
            self.assertIn('within a barrier', result.stderr)

    def test_many_requests_without_reading_the_answers_end_the_job(self):
        result = self.talk(*INIT, '@flood')
        self.assertEqual(result.returncode, 1)
        self.assertIn('without reading the answers', result.stderr)

    def test_aborts_with_invalid_codes_end_the_job(self):
        for words, code in ((['cmd=abort exitcode=7\\n'], 7), (['cmd=abort\\n'], 1),
                            (['cmd=abort exitcode=x\\n'], 1), (['cmd=abort exitcode=256\\n'], 1),
                            (['cmd=abort exitcode=-1\\n'], 255)):
            result = self.talk(*words, '@sleep')
            self.assertEqual(result.returncode, code, words)

    def test_an_incomplete_last_line_is_ignored(self):
        result = self.talk(*INIT, 'cmd=barri')
        self.assertEqual((result.returncode, result.stderr), (0, ''))


if __name__ == '__main__':
    unittest.main()
