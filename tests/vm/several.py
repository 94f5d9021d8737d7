"""Jobs across two guests, started by MPICH's launcher in the first guest. The launcher uses elsewhere.sh
instead of ssh, which sends commands to a shell in the second guest."""

import pathlib

import machine

HERE = pathlib.Path(__file__).resolve().parent
PORT = 2222

# Runs a shell for each connection until the guest is stopped.
LISTEN = f'exec busybox nc -ll -p {PORT} -e /bin/sh\n'


def commands(command, guests):
    """The command of each guest, if the first runs `command`."""
    return [command + '\n'] + [LISTEN] * (guests - 1)


def launcher(ranks):
    """The words before a program that start `ranks` ranks of it, the first half of them in the first guest."""
    hosts = [machine.address_of(node) for node in range(2)]
    return ['mpiexec.hydra', '-launcher', 'ssh', '-launcher-exec', str(HERE / 'elsewhere.sh'),
            '-localhost', hosts[0], '-hosts', ','.join(hosts), '-ppn', str(ranks // 2), '-n', str(ranks)]
