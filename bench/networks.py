#!/usr/bin/env python3
"""Compares LCI over libfabric's tcp provider with programs that also use TCP: libfabric's own ping-pong (latency and
bandwidth) and MPICH (message rate); and the memory cost of a peer with that of a program of libfabric alone. Each pair
of figures is measured one right after the other, several times; printed is the ratio of the medians.

    python3 bench/networks.py [--build build/release] [--repeat 5]

Needs fi_pingpong (Debian: libfabric-bin) and the program of MPICH in bench/peers (mpich, libmpich-dev); reports what is
missing.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
PROVIDER = 'tcp;ofi_rxm'
PORT = 47592


def lci(build, op, metric, size, *more):
    env = {**os.environ, 'LCI_ATTR_BACKEND': 'ofi', 'LCI_ATTR_OFI_PROVIDER_NAME': 'tcp'}
    out = subprocess.run([build / 'lib/tools/lcirun/lcirun', '-n', '2', build / 'bench/lci_perf', op, metric,
                          '--size', str(size), *more], env=env, check=True, capture_output=True, text=True,
                         timeout=120).stdout
    return float(out.split('\n')[-2].split()[2])


def pingpong(size, iterations):
    """Microseconds one way, and megabytes a second."""
    words = ['fi_pingpong', '-p', PROVIDER, '-e', 'rdm', '-S', str(size), '-I', str(iterations)]
    server = subprocess.Popen(['taskset', '-c', '0', *words, '-B', str(PORT)], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    time.sleep(0.5)
    try:
        out = subprocess.run(['taskset', '-c', '1', *words, '-P', str(PORT), '127.0.0.1'], check=True,
                             capture_output=True, text=True, timeout=120).stdout
        server.wait(timeout=30)
    finally:
        server.kill()
    fields = out.split('\n')[-2].split()
    return float(fields[6]), float(fields[5])


def mpich(program):
    env = {**os.environ, 'UCX_TLS': 'tcp,self'}
    out = subprocess.run(['mpiexec.mpich', '-n', '2', program, 'sendrecv', 'rate', '--json'], env=env, check=True,
                         capture_output=True, text=True, timeout=120).stdout
    return json.loads(out.split('\n')[-2])['median']


def bytes_a_peer(of):
    """Memory per peer. `of(n)`: heap memory of one of n processes that have exchanged messages with each other."""
    few, many = 2, 16
    return (of(many) - of(few)) / (many - few)


def memory(build):
    """The memory cost of a peer, in LCI and in a program of libfabric alone."""
    env = {**os.environ, 'LCI_ATTR_BACKEND': 'ofi', 'LCI_ATTR_OFI_PROVIDER_NAME': 'tcp', 'LCI_ATTR_NPACKETS': '1024'}

    def run(*words):
        return int(subprocess.run(words, env=env, check=True, capture_output=True, text=True, timeout=120).stdout)

    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / 'fi_memory'
        subprocess.run(['cc', '-O2', '-o', program, HERE / 'peers/fi_memory.c', '-lfabric'], check=True)
        ours = bytes_a_peer(lambda n: run(build / 'lib/tools/lcirun/lcirun', '-n', str(n), build / 'bench/peer_memory'))
        theirs = bytes_a_peer(lambda n: run(program, str(n)))
    print(f'{"memory of a peer that was met, libfabric alone":44} {ours / 1024:12.1f} {theirs / 1024:12.1f} {"KiB":6} '
          f'{(ours - theirs) / 1024:6.1f}   more: at most 8 KiB', flush=True)


def compare(what, unit, repeat, ours, theirs, wanted):
    mine, other = [], []
    for _ in range(repeat):
        mine.append(ours())
        other.append(theirs())
    a, b = statistics.median(mine), statistics.median(other)
    print(f'{what:44} {a:12.2f} {b:12.2f} {unit:6} {a / b:6.2f}   {wanted}', flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', type=pathlib.Path, default=HERE.parent / 'build/release')
    parser.add_argument('--repeat', type=int, default=5)
    options = parser.parse_args()
    build, repeat = options.build.resolve(), options.repeat
    print(f'{"two ranks over " + PROVIDER:44} {"LCI":>12} {"other":>12} {"":6} ratio   wanted')
    if shutil.which('fi_pingpong') is None:
        print('skipped: no fi_pingpong (Debian: libfabric-bin)')
    else:
        compare('latency of 8 bytes, fi_pingpong', 'us', repeat,
                lambda: lci(build, 'am', 'latency', 8, '--seconds', '0.3') / 1000,
                lambda: pingpong(8, 20000)[0], 'at most 1.15')
        compare('bandwidth at 1 MiB, fi_pingpong', 'MB/s', repeat,
                lambda: lci(build, 'sendrecv', 'bandwidth', 1 << 20, '--seconds', '0.3'),
                lambda: pingpong(1 << 20, 500)[1], 'at least 0.95')
    memory(build)
    program = build / 'bench/peers/peer_mpich'
    if not program.exists() or shutil.which('mpiexec.mpich') is None:
        print('skipped: no MPICH, or it came after the build (Debian: mpich, libmpich-dev)')
        return
    for bundle in ('0', '8192'):
        os.environ['LCI_ATTR_OFI_BUNDLE_SIZE'] = bundle
        compare(f'messages of 8 bytes, MPICH (UCX); bundles: {bundle}', 'M/s', repeat,
                lambda: lci(build, 'sendrecv', 'rate', 8, '--seconds', '0.1') / 1e6,
                lambda: mpich(program) / 1e6, 'at least 1.5')


if __name__ == '__main__':
    main()
