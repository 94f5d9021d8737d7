"""Jobs across two guests, by MPICH's launcher: the first guest runs it, and the second what it is told
by elsewhere.sh, which the launcher takes for ssh."""

import pathlib

import machine

HERE = pathlib.Path(__file__).resolve().parent
PORT = 2222

# One shell for each connection; busybox serves on until the guest is stopped.
LISTEN = f'exec busybox nc -ll -p {PORT} -e /bin/sh\n'


def commands(command, guests):
    """What each guest is to do if the first runs `command`."""
    return [command + '\n'] + [LISTEN] * (guests - 1)


def launcher(ranks):
    """Words that start `ranks` ranks of the program behind them, the first half in the first guest."""
    hosts = [machine.address_of(node) for node in range(2)]
    return ['mpiexec.hydra', '-launcher', 'ssh', '-launcher-exec', str(HERE / 'elsewhere.sh'),
            '-localhost', hosts[0], '-hosts', ','.join(hosts), '-ppn', str(ranks // 2), '-n', str(ranks)]
