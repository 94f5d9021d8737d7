"""A private Slurm for tests: controller, nodes and munge in a temporary directory, all on this machine.

Nothing in /etc is read or written. Each node has mounts and a name of its own, so only root can make
one; all that runs in it ends with the test, and so does the directory.
"""

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from support import clean_environment, free_ports, marked, wait_until

_TOOLS = ('slurmctld', 'slurmd', 'srun', 'sinfo', 'scancel', 'munged', 'unshare')
_CONF = '''\
ClusterName=lci
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={top}/munge.socket
CredType=cred/munge
SlurmctldPort={ports[0]}
StateSaveLocation={top}/state
SlurmdSpoolDir={top}/spool/%n
SlurmctldPidFile={top}/slurmctld.pid
SlurmdPidFile={top}/slurmd.%n.pid
SlurmctldLogFile={top}/slurmctld.log
SlurmdLogFile={top}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
KillWait=2
UnkillableStepTimeout=5
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
'''


def missing():
    """The reason why Slurm can't run here; empty if it can."""
    if os.geteuid() != 0:
        return 'only root can start nodes of Slurm'
    for tool in _TOOLS:
        if shutil.which(tool) is None:
            return f'no {tool} (Debian: slurmctld, slurmd, slurm-client, munge)'
    tried = subprocess.run(['unshare', '--mount', '--uts', 'true'], capture_output=True, text=True)
    return 'no namespaces: ' + tried.stderr.strip() if tried.returncode != 0 else ''


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def name_of(pid):
    try:
        with open(f'/proc/{pid}/comm') as name:
            return name.read().strip()
    except OSError:
        return 'gone'


class Slurm:
    """The caller calls close(). `env`: variables that Slurm's commands need."""

    def __init__(self, n_nodes=2, cpus=4):
        self.top = tempfile.mkdtemp(prefix='lci-slurm-')
        os.chmod(self.top, 0o755)  # munge's clients need access
        self.nodes = [f'n{i + 1}' for i in range(n_nodes)]
        self.env = {'SLURM_CONF': f'{self.top}/slurm.conf'}
        self.daemons = []
        self.resident = set()  # processes that run without any job
        try:
            self._configure(cpus)
            self._start()
        except BaseException:
            self.close()
            raise

    def _configure(self, cpus):
        # The PMIx plug-in has its sockets in `pmix`, which is a different directory for each node.
        for folder in ('state', 'pmix', *(f'{kind}/{n}' for n in self.nodes for kind in ('spool', 'tmp'))):
            os.makedirs(f'{self.top}/{folder}', mode=0o755)
        host, ports = socket.gethostname().split('.')[0], free_ports(1 + len(self.nodes))
        nodes = '\n'.join(f'NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} '
                          f'CPUs={cpus} State=UNKNOWN' for name, port in zip(self.nodes, ports[1:]))
        for name, text in {'slurm.conf': _CONF.format(top=self.top, host=host, ports=ports, nodes=nodes),
                           'cgroup.conf': 'CgroupPlugin=cgroup/v1\nCgroupAutomount=no\nConstrainCores=no\n',
                           'mpi.conf': f'PMIxCliTmpDirBase={self.top}/pmix\n'}.items():
            with open(f'{self.top}/{name}', 'w') as f:
                f.write(text)
        with open(f'{self.top}/munge.key', 'wb') as f:
            os.fchmod(f.fileno(), 0o400)
            f.write(os.urandom(128))

    def _start(self):
        top = self.top
        self._daemon('munge', 'munged', '--force', '--foreground', f'--key-file={top}/munge.key',
                     f'--socket={top}/munge.socket', f'--pid-file={top}/munge.pid',
                     f'--log-file={top}/munge.log', f'--seed-file={top}/munge.seed')
        self._await(lambda: os.path.exists(f'{top}/munge.socket'), 'munge')
        self._daemon('slurmctld', 'slurmctld', '-D', '-i')
        for name in self.nodes:
            script = (f'hostname {name} && mount --bind {top}/tmp/{name} {top}/pmix && '
                      f'exec slurmd -D -N {name}')
            self._daemon(name, 'unshare', '--mount', '--uts', '--propagation', 'private', 'sh', '-c', script)
        self._await(lambda: self.command('sinfo', '-h', '-N', '-o', '%T').stdout.split()
                    == ['idle'] * len(self.nodes), 'idle nodes')
        self.resident = self.processes()

    def _daemon(self, name, *words):
        with open(f'{self.top}/{name}.out', 'w') as out:
            self.daemons.append(subprocess.Popen(
                words, env=clean_environment(**self.env), stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                preexec_fn=die_with_parent, start_new_session=True))

    def _await(self, condition, what):
        if wait_until(lambda: condition() or any(d.poll() is not None for d in self.daemons), 60) \
                and all(d.poll() is None for d in self.daemons):
            return
        raise RuntimeError(f'Slurm has no {what}:\n{self.said()}')

    def command(self, *words):
        return subprocess.run(words, env=clean_environment(**self.env), capture_output=True, text=True,
                              timeout=60)

    def processes(self):
        """Those of jobs and daemons: their environment has this configuration, or they have the mounts of a node."""
        return (set(marked(self.top)) | set(self._of_nodes())) - {os.getpid()}

    def _of_nodes(self):
        own = os.readlink('/proc/self/ns/mnt')
        homes = set()
        for d in self.daemons:
            try:
                homes.add(os.readlink(f'/proc/{d.pid}/ns/mnt'))
            except OSError:
                pass
        homes.discard(own)
        found = []
        for pid in filter(str.isdigit, os.listdir('/proc')):
            try:
                if os.readlink(f'/proc/{pid}/ns/mnt') in homes:
                    found.append(int(pid))
            except OSError:
                pass
        return found

    def job_processes(self):
        """Those of jobs, without the daemons."""
        return self.processes() - self.resident

    def end_leftovers(self):
        """Kills processes of Slurm that remain after the ranks have ended, and prints them: Debian 12's slurmstepd
        sometimes hangs or crashes while it finalizes PMIx."""
        left = []
        for pid in self.job_processes():
            name = name_of(pid)
            try:
                os.kill(pid, signal.SIGKILL)
                left.append((pid, name))
            except OSError:
                pass
        if left:
            print(f'processes of Slurm did not end by themselves: {left}', file=sys.stderr)

    def said(self, lines=15):
        """The last output of the daemons."""
        said = ''
        for name in sorted(os.listdir(self.top)):
            if name.endswith(('.out', '.log')):
                with open(f'{self.top}/{name}', errors='replace') as f:
                    said += f'--- {name}\n' + ''.join(f.readlines()[-lines:])
        return said

    def close(self):
        if len(self.daemons) > 1:
            self.command('scancel', '--full', '--user=root')
            wait_until(lambda: not self.job_processes(), 5)
        left = self.processes()
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in reversed(self.daemons):
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        end = time.monotonic() + 5
        while os.path.exists(self.top) and time.monotonic() < end:
            shutil.rmtree(self.top, ignore_errors=True)
