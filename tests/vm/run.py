"""Runs a command in one guest, or in the first of two, for debugging by hand.

    python3 tests/vm/run.py -- ibv_devinfo
    python3 tests/vm/run.py --guests 2 --netem 'loss 1%' -- ping -c 3 10.0.0.2

The guest has the host's files, read-only except for /run, /var/tmp and /dev/shm, and a device rxe0.
The exit status is the command's; 124: it took too long, 125: the guest ended without an exit status.
"""

import argparse
import pathlib
import shlex
import sys

import kernel
import machine
import several

BUILD = pathlib.Path(__file__).resolve().parents[2] / 'build' / 'release'


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', type=pathlib.Path, default=BUILD, help='default: build/release')
    parser.add_argument('--guests', type=int, default=1, choices=(1, 2))
    parser.add_argument('--netem', default='', help="faults of the link, such as 'delay 1ms loss 1%%'")
    parser.add_argument('--processors', type=int, default=2)
    parser.add_argument('--timeout', type=float, default=300, metavar='SECONDS')
    parser.add_argument('command', nargs='+', help='words; one word is a shell command')
    args = parser.parse_args()
    command = args.command[0] if len(args.command) == 1 else shlex.join(args.command)
    folder = args.build.resolve() / 'tests' / 'vm'
    system = kernel.Kernel(folder / 'kernel')
    system.prepare()
    return machine.run(system, folder / 'runs' / 'by hand', several.commands(command, args.guests),
                       args.timeout, args.netem, args.processors)


if __name__ == '__main__':
    sys.exit(main())
