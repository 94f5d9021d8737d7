"""The conformance suite and other tests over real verbs: runs one configuration in one or two guests.

    python3 tests/vm/suite.py --list
    python3 tests/vm/suite.py 'ofi verbs' [--build build/release]

Emulated processors are some 13 times slower than the host's, so each configuration runs the cases that
depend most on its network. With LCI_TEST_VM_ALL=1 in the environment it runs all cases about networks, for up
to an hour.
Exit status 77: this machine can't run it; the last line gives the reason.
"""

import argparse
import glob
import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys

import kernel
import machine
import several

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = SOURCE / 'build' / 'release'
ALL = os.environ.get('LCI_TEST_VM_ALL', '') not in ('', '0')
SKIPPED = 77

# Tags of the conformance suite.
PROTOCOLS = ('am', 'sendrecv', 'rma', 'signal', 'atomics', 'remote', 'stream', 'drain', 'ends', 'net')
SOME = ('am', 'sendrecv', 'rma', 'signal', 'remote')
FEW = ('am', 'sendrecv', 'rma')
LEAST = ('am', 'sendrecv')
# Cases that need connections between all pairs of ranks, and little else.
ALL_PAIRS = '"an active message reaches every rank*","tags of active messages*","messages of a burst*"'
EVERYTHING = PROTOCOLS + ('coll', 'layout', 'handlers', 'counters', 'cancel', 'threads')
# Cases that allocate many runtimes or threads.
LONG = ('[threads]', '"*through any object"', '"an active message of any size*"', '"*with signal tells the target*"',
        '"messages of one device all arrive*"', '"a device is freed with a flush*"')
THREADS = ('"raw operations of several threads*","active messages of several threads*",'
           '"threads share lanes*"')
# Cases that need more memory or time than a guest has.
BEYOND = ('[large]', '"more threads than there are*"', '"many devices one after the other*"',
          '"matching engines and packet pools*"')

VERBS = {'LCI_ATTR_BACKEND': 'ofi', 'LCI_ATTR_OFI_PROVIDER_NAME': 'verbs;ofi_rxm'}
TCP = {'LCI_ATTR_BACKEND': 'ofi', 'LCI_ATTR_OFI_PROVIDER_NAME': 'tcp'}
AUTOMATIC = {'LCI_ATTR_BACKEND': 'auto'}  # shared memory within a guest, the best network between guests
IBV = {'LCI_ATTR_BACKEND': 'ibv'}
# Each case begins with pinning memory, which is slow on an emulated processor: LCI's packets, and the buffers of
# ofi_rxm, whose default size is 16 KiB.
SMALL = {'LCI_ATTR_NPACKETS': '1024', 'FI_OFI_RXM_MSG_RX_SIZE': '256', 'FI_OFI_RXM_BUFFER_SIZE': '2048',
         'LCI_TEST_TIMEOUT': '150'}
LOSSY_LINK = 'delay 1ms loss 1%'  # lost packets are sent again, with ofi after half a second


def quick(tags):
    """The cases of these tags except for those that take long."""
    without = ''.join('~' + case for case in (BEYOND if ALL else LONG))
    return ','.join(f'[{tag}]{without}' for tag in (EVERYTHING if ALL else tags))


class Job:
    """A run of a program of the build."""

    def __init__(self, network, ranks, *words):
        self.network, self.ranks, self.words = network, ranks, words

    def command(self, build, guests):
        """A shell command."""
        settings = {**SMALL, **self.network}
        if guests == 1:
            launcher = [str(build / 'lib' / 'tools' / 'lcirun' / 'lcirun'), '-n', str(self.ranks)]
        else:
            launcher = several.launcher(self.ranks)
            settings['LCI_TEST_CONTROL'] = f'{machine.address_of(0)}:2223'
        title = ' '.join([f'{self.ranks} ranks:'] + [f'{k}={v}' for k, v in settings.items()])
        words = ['env'] + [f'{k}={v}' for k, v in settings.items()] + launcher + self.program(build)
        return f'echo {shlex.quote("== " + title)} "($(cut -d . -f 1 /proc/uptime) s)"\n' \
               f'{shlex.join(words)} || status=1\n'

    def program(self, build):
        return [str(build / 'tests' / self.words[0]), *self.words[1:]]


def conformance(network, ranks, cases):
    """`cases`: a test specification of Catch2."""
    return Job(network, ranks, 'conformance/conformance', cases)


class OneCard(Job):
    """All ranks but the first find no card, so all must choose another network, although the first has begun with the
    card's."""

    HIDE = 'mount -t tmpfs none /dev/infiniband && exec "$@"'

    def program(self, build):
        return ['sh', '-c', f"test $PMI_RANK = 0 || exec unshare -m sh -c '{self.HIDE}' sh \"$@\"; exec \"$@\"", 'sh',
                *super().program(build)]


class Apart(Job):
    """Ranks that see no other process, so that they reach each other's memory by the network only."""

    def program(self, build):
        return ['unshare', '--pid', '--fork', '--mount-proc', *super().program(build)]


class KilledRank(Job):
    """A rank is killed in the given situation, and the failure must be reported to the others."""

    def __init__(self, network, scene):
        super().__init__(network, 3, 'fault/peer_failure', scene)

    def program(self, build):
        return ['sh', str(SOURCE / 'tests' / 'fault' / 'survivors.sh')] + super().program(build)


def armci(network, operations, seed):
    """Random operations of ARMCI's against a model."""
    return Apart({**network, 'ARMCI_APPLIER': '1'}, 2, 'layers/armci/armci_fuzz', str(operations), str(seed))


def contention(strategy):
    """Threads contend for locks until the counters prove it."""
    return Job({**IBV, 'LCI_ATTR_IBV_TD_STRATEGY': strategy, 'LCI_TEST_BUSY': 'send,recv,poll'}, 2, 'stress/contention')


class Layer(Job):
    """A program of LCI v1.7, whose packets have a setting of their own."""

    def __init__(self, network, ranks, *words):
        super().__init__({**network, 'LCI_SERVER_NUM_PKTS': '512'}, ranks, *words)


# The card counts messages that found no receive buffer; with credits, there are none.
NO_RNR = '''
rnr=$(cat /sys/class/infiniband/rxe0/ports/1/hw_counters/send_rnr_err)
[ "$rnr" = 0 ] || { echo "receivers were not ready $rnr times"; status=1; }
'''


# Data of 10^5 operations has passed through the card, not through memory that both ranks have mapped.
MANY_PACKETS = '''
packets=$(cat /sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts)
echo "the card has sent $packets packets"
[ "$packets" -gt 100000 ] || status=1
[ $status = 0 ] || grep . /sys/class/infiniband/rxe0/ports/1/hw_counters/*
'''


class Configuration:
    def __init__(self, jobs, guests=1, netem='', seconds=240, at_end=''):
        self.jobs, self.guests, self.netem, self.seconds = jobs, guests, netem, seconds
        self.at_end = at_end  # shell commands after the jobs, which may set `status`

    def backend(self):
        return self.jobs[0].network['LCI_ATTR_BACKEND']

    def commands(self, build):
        jobs = ''.join(job.command(build, self.guests) for job in self.jobs)
        return several.commands('status=0\n' + jobs + self.at_end + 'exit $status', self.guests)


def within(network, *more, **settings):
    return Configuration([conformance(network, 2, quick(PROTOCOLS)), *more, conformance(network, 4, quick(FEW))],
                         **settings)


def across(network):
    return Configuration([conformance(network, 2, quick(SOME)), conformance(network, 4, quick(LEAST))], guests=2)


CONFIGURATIONS = {
    'ofi verbs': Configuration([conformance(VERBS, 2, quick(SOME)), conformance(VERBS, 4, ALL_PAIRS),
                                KilledRank(VERBS, 'putting')]),
    'ofi verbs two guests': Configuration([conformance(VERBS, 2, quick(LEAST)), conformance(VERBS, 4, ALL_PAIRS)],
                                          guests=2),
    'ofi verbs long': within(VERBS, conformance(VERBS, 2, THREADS),
                             *[KilledRank(VERBS, scene) for scene in ('waiting', 'getting')]),
    'ofi verbs two guests long': across(VERBS),
    'ofi tcp two guests': Configuration([conformance(TCP, 2, quick(LEAST))], guests=2),
    'automatic two guests': Configuration(
        [conformance(AUTOMATIC, 4, quick(LEAST)),
         conformance({**AUTOMATIC, 'LCI_ATTR_EAGER_ADDRESSES': '0'}, 4, ALL_PAIRS),
         OneCard({**AUTOMATIC, 'LCI_ATTR_OFI_PROVIDER_NAME': 'tcp'}, 4, 'conformance/conformance', ALL_PAIRS)],
        guests=2),
    'ofi verbs lossy link': Configuration([conformance(VERBS, 2, quick(LEAST))], guests=2, netem=LOSSY_LINK),
    'ibv': within(IBV, conformance({**IBV, 'LCI_ATTR_NPACKETS': '2048'}, 2, THREADS),
                  Layer(IBV, 2, 'layers/v1/v1_smoke'), seconds=360, at_end=NO_RNR),
    'ibv threads and peer failures': Configuration(
        [contention(strategy) for strategy in ('per_qp', 'all_qp', 'none')]
        + [KilledRank(IBV, scene) for scene in ('idle', 'sending', 'flooding', 'streaming', 'putting', 'getting',
                                           'waiting')], seconds=360),
    'ibv two guests': across(IBV),
    'ibv v1': Configuration([Layer(IBV, 2, 'layers/v1/spec/v1_spec')], seconds=360),
    'ibv armci': Configuration([armci(IBV, 300, 1)], seconds=360),
    'ibv armci long': Configuration([armci(IBV, 100000, 7)], seconds=3600, at_end=MANY_PACKETS),
    'ibv lossy link': Configuration([conformance(IBV, 2, quick(LEAST))], guests=2, netem=LOSSY_LINK),
}


def check_build(build, configuration):
    """Throws Unavailable if this build or the machine's packages can't run the configuration."""
    info = subprocess.run([build / 'lib' / 'tools' / 'lci_info', '--json'], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    backend = configuration.backend()
    notes = {f['name']: f['note'] for f in json.loads(info)['fabrics']}
    if backend == 'auto':
        backend = 'ofi'  # any build can include it
    if notes.get(backend, 'not part of this build') == 'not part of this build':
        raise kernel.Unavailable(f'the backend {backend} is not part of this build')
    if not glob.glob('/usr/lib/*/libibverbs/librxe-rdmav*.so'):
        raise kernel.Unavailable("libibverbs' rxe driver (Debian package ibverbs-providers) is not installed")
    if configuration.guests > 1 and kernel.program('mpiexec.hydra') is None:
        raise kernel.Unavailable('mpiexec.hydra (Debian package mpich) is not installed')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', type=pathlib.Path, default=BUILD, help='default: build/release')
    parser.add_argument('--list', action='store_true', help='the configurations')
    parser.add_argument('name', nargs='?', choices=list(CONFIGURATIONS), metavar='CONFIGURATION')
    args = parser.parse_args()
    if args.list or args.name is None:
        print('\n'.join(CONFIGURATIONS))
        return 0
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # so that the guests are stopped, too
    configuration = CONFIGURATIONS[args.name]
    build = args.build.resolve()
    folder = build / 'tests' / 'vm'
    system = kernel.Kernel(folder / 'kernel')
    try:
        check_build(build, configuration)
        system.prepare()
    except kernel.Unavailable as reason:
        print(reason)
        return SKIPPED
    return machine.run(system, folder / 'runs' / args.name, configuration.commands(build),
                       3600 if ALL else configuration.seconds, configuration.netem,
                       processors=2 // configuration.guests)


if __name__ == '__main__':
    sys.exit(main())
