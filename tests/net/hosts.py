"""Hosts for tests: each has its own namespaces of network, processes, mounts and host name, and a bridge connects them.

They are namespaces of this machine, which only root can make; all are removed at the end.
"""

import json
import os
import shutil
import signal
import subprocess
import time


def missing():
    """Why such hosts can't be made here; empty if they can."""
    if os.geteuid() != 0:
        return 'only root can make network namespaces'
    for tool in ('ip', 'unshare', 'nsenter'):
        if shutil.which(tool) is None:
            return f'no {tool} (Debian: iproute2, util-linux)'
    name = f'lci-{os.getpid()}-try'
    made = subprocess.run(['ip', 'netns', 'add', name], capture_output=True, text=True)
    if made.returncode != 0:
        return 'no network namespaces: ' + made.stderr.strip()
    subprocess.run(['ip', 'netns', 'del', name], check=True)
    return ''


def ip(*words):
    return subprocess.run(['ip', *words], check=True, capture_output=True, text=True).stdout


class Host:
    def __init__(self, network, number):
        self.name = f'{network.name}h{number}'
        self.address = f'10.78.0.{number + 1}'
        self.port = f'p{number}'  # the host's port of the bridge
        ip('netns', 'add', self.name)
        # The init process of the host's process namespace: all its processes end with it.
        self.init = subprocess.Popen(
            ['ip', 'netns', 'exec', self.name, 'unshare', '--pid', '--fork', '--kill-child', '--mount-proc',
             '--uts', '--ipc', 'sh', '-c', f'hostname host{number}; exec sleep 100000'])
        ip('link', 'add', 'eth0', 'netns', self.name, 'type', 'veth', 'peer', 'name', self.port,
           'netns', network.name)
        ip('-n', self.name, 'addr', 'add', self.address + '/24', 'dev', 'eth0')
        for device in ('lo', 'eth0'):
            ip('-n', self.name, 'link', 'set', device, 'up')
        ip('-n', network.name, 'link', 'set', self.port, 'master', 'bridge', 'up')

    def first_process(self):
        """The id of the host's init process, in our namespace."""
        children = f'/proc/{self.init.pid}/task/{self.init.pid}/children'
        for _ in range(1000):
            try:
                with open(children) as f:
                    found = f.read().split()
                # It executes `sleep` after unshare and the shell have done their work.
                if found:
                    with open(f'/proc/{found[0]}/comm') as f:
                        if f.read().strip() == 'sleep':
                            return int(found[0])
            except OSError:
                pass
            time.sleep(0.01)
        raise RuntimeError(f'{self.name}: no first process')

    def wait_for_network(self, network):
        """Waits until the kernel has connected the device, which takes seconds on a busy machine. Packets sent before
        are lost."""
        for _ in range(1000):
            device, = json.loads(ip('-n', self.name, '-j', 'link', 'show', 'eth0'))
            port, = json.loads(ip('-n', network.name, '-j', '-d', 'link', 'show', self.port))
            if device['operstate'] == 'UP' and port['linkinfo']['info_slave_data']['state'] == 'forwarding':
                return
            time.sleep(0.01)
        raise RuntimeError(f'{self.name}: no network: {device}, {port}')

    def forget_neighbors(self):
        """Forgets neighbors that count as unreachable for some time, because their addresses could not be resolved."""
        ip('-n', self.name, 'neigh', 'flush', 'dev', 'eth0')

    def close(self):
        self.init.kill()
        self.init.wait()
        subprocess.run(['ip', 'netns', 'del', self.name], capture_output=True)


class Network:
    """A bridge and its hosts, as a context manager."""

    def __init__(self, n_hosts):
        self.name = f'lci{os.getpid()}'
        self.hosts = []
        ip('netns', 'add', self.name)
        try:
            ip('-n', self.name, 'link', 'add', 'bridge', 'type', 'bridge')
            ip('-n', self.name, 'link', 'set', 'bridge', 'up')
            for number in range(n_hosts):
                self.hosts.append(Host(self, number))
            for host in self.hosts:
                host.wait_for_network(self)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def close(self):
        for host in self.hosts:
            host.close()
        subprocess.run(['ip', 'netns', 'del', self.name], capture_output=True)

    def cut(self, host):
        """Cuts the link of a host, which is not notified."""
        ip('-n', self.name, 'link', 'set', self.hosts[host].port, 'down')

    def mend(self, host):
        """Restores the link; returns when packets get through again."""
        ip('-n', self.name, 'link', 'set', self.hosts[host].port, 'up')
        self.hosts[host].wait_for_network(self)
        for each in self.hosts:
            each.forget_neighbors()

    def filter(self, host, rule):
        """Sets an nftables rule for packets to that host; empty: removes it."""
        table = 'table inet faults'
        text = f'{table}\ndelete {table}\n'
        if rule:
            text += table + ' { chain in { type filter hook input priority 0; ' + rule + ';\n}\n}\n'
        subprocess.run(['ip', 'netns', 'exec', self.hosts[host].name, 'nft', '-f', '-'], input=text,
                       text=True, check=True, capture_output=True)

    def launch(self, lcirun, n_ranks, command, launcher_knows=False, **env):
        """Starts a job with the same number of ranks on each host. `launcher_knows`: whether the launcher's variables
        describe several hosts, or one."""
        per_host = n_ranks // len(self.hosts)
        place = ' '.join(f'{i}) host={h.first_process()};;' for i, h in enumerate(self.hosts))
        knows = (f'export MPI_LOCALRANKID=$((PMI_RANK % {per_host})) MPI_LOCALNRANKS={per_host}; '
                 if launcher_knows else '')
        script = (f'{knows}case $((PMI_RANK / {per_host})) in {place} esac; '
                  'exec nsenter --target $host --net --pid --mount --uts --ipc -- "$@"')
        full = {**os.environ, **{k: str(v) for k, v in env.items()}}
        return subprocess.Popen(
            [lcirun, '-n', str(n_ranks), 'sh', '-c', script, 'sh', *[str(w) for w in command]],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=full,
            start_new_session=True)

    def run(self, lcirun, n_ranks, command, timeout=120, **env):
        """Runs a job; returns its exit status (None: it was killed after the time-out) and its output."""
        return finish(self.launch(lcirun, n_ranks, command, **env), timeout)


def finish(job, timeout):
    try:
        out, _ = job.communicate(timeout=timeout)
        return job.returncode, out
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        return None, job.communicate()[0]
