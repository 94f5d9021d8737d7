"""Jobs of several hosts that all run on this one: a script in place of ssh runs its command here.

Tests that need hosts with their own networks, processes and names use tests/net/hosts.py.
"""

import os
import shutil
import tempfile

from support import LaunchTest, children, wait_until

# Like sshd, it gives the command a session of its own; unlike ssh, it is a shell script.
SSH = '''#!/bin/sh
echo "$@" >> {log}
shift
exec setsid -w sh -c "$*"
'''


class RemoteTest(LaunchTest):
    """Has `ssh`, a command for lcirun --ssh, and `folder`, an empty one."""

    def setUp(self):
        super().setUp()
        self.folder = tempfile.mkdtemp(prefix='lcirun-test-')
        self.addCleanup(shutil.rmtree, self.folder)
        self.log = os.path.join(self.folder, 'ssh.log')
        self.ssh = self.script('ssh', SSH.format(log=self.log))

    def script(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, 'w') as f:
            f.write(text)
        os.chmod(path, 0o755)
        return path

    def on(self, hosts, *words):
        """lcirun's words for a job on these hosts."""
        return ['--hosts', hosts, '--ssh', self.ssh, *words]

    def remote_job(self, hosts, *words, **kwargs):
        return self.job(*self.on(hosts, *words), **kwargs)

    def proxies(self, process, hosts):
        """For each host (pid of its guard, pid of the process that runs its ranks), once all hosts have ranks.

        The child of lcirun is the job's process. Its children are an ssh for each host, whose child is the proxy.
        """
        found = []

        def ready():
            found.clear()
            for job in children(process.pid):
                for ssh in children(job):
                    for guard in [ssh] + children(ssh):
                        if command(guard)[1:] == ['--run-as-proxy']:
                            found.extend((guard, worker) for worker in children(guard))
                            break
            return len(found) == hosts and all(children(worker) for _, worker in found)
        self.assertTrue(wait_until(ready), 'the proxies did not start')
        return list(found)


def command(pid):
    try:
        with open(f'/proc/{pid}/cmdline') as f:
            return f.read().split('\0')[:-1]
    except OSError:
        return []
