"""What the launcher's tests share: running lcirun, and finding processes that were left running.

The paths of lcirun and of the helper program are in the environment (LCIRUN, BOOT_HELPER).
"""

import fcntl
import os
import random
import signal
import socket
import subprocess
import sys
import termios
import time
import unittest
import uuid

LCIRUN = os.environ['LCIRUN']
HELPER = os.environ['BOOT_HELPER']
PYTHON = sys.executable

# Longer than any job here may take, also on a busy machine with sanitizers.
PATIENCE = 120

_DROPPED = ('PMI', 'PMIX_', 'OMPI_', 'SLURM_', 'MPI_LOCAL', 'HYDI', 'LCI_ATTR_BOOTSTRAP', 'LCI_TCP_',
            'LCT_', 'LCI_MASTER_',
            'MASTER_', 'RANK', 'WORLD_SIZE', 'LOCAL_RANK', 'LOCAL_WORLD_SIZE',
            'PYTHONUNBUFFERED')  # with it Python writes a line in two parts


def clean_environment(**more):
    """This process's environment without variables of launchers, with `more` added."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(_DROPPED)}
    env.update({k: str(v) for k, v in more.items()})
    return env


def run(*words, input=None, **env):
    """Runs a command to its end. Standard input is empty unless given."""
    return subprocess.run([str(w) for w in words], env=clean_environment(**env), text=True,
                          input=input if input is not None else '', capture_output=True,
                          timeout=PATIENCE)


def lcirun(*words, **kwargs):
    return run(LCIRUN, *words, **kwargs)


def marked(mark):
    """The processes that have `mark` in their environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/environ', 'rb') as f:
                if mark.encode() in f.read():
                    found.append(int(pid))
        except OSError:
            pass
    return found


def wait_until(condition, seconds=30):
    """Waits until `condition()` is true; False after the time limit."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def free_ports(count):
    """Free ports below the range from which the kernel assigns ports: it could assign one of that range to another
    socket before the test listens there."""
    with open('/proc/sys/net/ipv4/ip_local_port_range') as f:
        first_given = int(f.read().split()[0])
    found = []
    for port in random.sample(range(10000, first_given), first_given - 10000):
        with socket.socket() as s:
            try:
                s.bind(('127.0.0.1', port))
            except OSError:
                continue
        found.append(port)
        if len(found) == count:
            return found
    raise OSError(f'{count} ports below {first_given} are not free')


def children(pid):
    try:
        with open(f'/proc/{pid}/task/{pid}/children') as f:
            return [int(word) for word in f.read().split()]
    except OSError:
        return []


def default_signals():
    """Children of a shell's background job, or of nohup, would inherit that signals are ignored."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


# A rank that prints how many interrupts it got; after the first it waits for more.
COUNT_INTERRUPTS = '''
import signal, sys, time
count = []
signal.signal(signal.SIGINT, lambda *_: count.append(1))
print("up", flush=True)
end = time.monotonic() + 60
while not count and time.monotonic() < end:
    time.sleep(0.02)
time.sleep(1)
print("interrupts", len(count), flush=True)
'''


class LaunchTest(unittest.TestCase):
    """All processes of a test have a variable of its own in their environment; none of them may be left at its end."""

    def setUp(self):
        self.mark = 'LCI_TEST_MARK_' + uuid.uuid4().hex
        self.files = set(os.listdir('/dev/shm')) if os.path.isdir('/dev/shm') else set()

    def tearDown(self):
        left = []
        if not wait_until(lambda: not marked(self.mark), 5):
            left = marked(self.mark)
            for pid in left:
                os.kill(pid, signal.SIGKILL)
        self.assertEqual(left, [], 'processes were left')
        if os.path.isdir('/dev/shm'):
            # Sweeps have files of their own there, and may run at the same time.
            ours = {f for f in os.listdir('/dev/shm') if 'lci' in f.lower() and not f.startswith('lci-sweep-')}
            new = ours - self.files
            self.assertEqual(new, set(), 'files were left in /dev/shm')
        with open('/proc/net/unix') as f:
            self.assertNotIn('lcirun', f.read(), 'a named socket was left')

    def job(self, *words, **kwargs):
        """Runs a job to its end."""
        return lcirun(*words, **{self.mark: 1}, **kwargs)

    def start(self, *words, stdin=subprocess.DEVNULL, new_group=False, **env):
        """Starts a job and returns at once."""
        process = subprocess.Popen([LCIRUN] + [str(w) for w in words], text=True, errors='replace', stdin=stdin,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=clean_environment(**{self.mark: 1}, **env),
                                   preexec_fn=default_signals, start_new_session=new_group)
        self.addCleanup(self._close, process)
        return process

    def start_on_terminal(self, *words):
        """Starts a job whose standard input is a terminal. Returns the process and the other end of the terminal."""
        main, other = os.openpty()
        self.addCleanup(os.close, main)

        def take_terminal():
            default_signals()
            os.setsid()
            fcntl.ioctl(other, termios.TIOCSCTTY, 0)

        process = subprocess.Popen([LCIRUN] + [str(w) for w in words], text=True, stdin=other,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=clean_environment(**{self.mark: 1}), preexec_fn=take_terminal)
        os.close(other)
        self.addCleanup(self._close, process)
        return process, main

    @staticmethod
    def _close(process):
        if process.poll() is None:
            process.kill()
            process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream and not stream.closed:
                stream.close()

    def finish(self, process):
        out, err = process.communicate(timeout=PATIENCE)
        return out, err

    def ranks_of(self, process, count):
        """The ranks' process ids, once all of them run."""
        def ready():
            below = children(process.pid)
            return len(below) == 1 and len(children(below[0])) >= count
        self.assertTrue(wait_until(ready), 'the ranks did not start')
        return children(children(process.pid)[0])
