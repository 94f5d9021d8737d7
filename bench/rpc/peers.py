#!/usr/bin/env python3
"""Typed calls beside gRPC and Cap'n Proto: a struct of 64 bytes in both directions over TCP on the loopback.

    python3 bench/rpc/peers.py [--build build/release] [--seconds 2] [--repeat 5]

The programs of the others are compiled here, from bench/rpc/peers, if they are installed (Debian: capnproto libcapnp-dev,
libgrpc++-dev libprotobuf-dev protobuf-compiler-grpc). Prints medians; ratios are LCI's to theirs.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

HERE = pathlib.Path(__file__).parent / 'peers'
PEERS = {
    'capnp': {'generate': ['capnp', 'compile', '-oc++:{out}', '--src-prefix={here}', '{here}/echo.capnp'],
              'sources': ['echo.capnp.c++'], 'package': ['capnp-rpc']},
    'grpc': {'generate': ['protoc', '-I{here}', '--cpp_out={out}', '--grpc_out={out}',
                          '--plugin=protoc-gen-grpc=/usr/bin/grpc_cpp_plugin', '{here}/echo.proto'],
             'sources': ['echo.pb.cc', 'echo.grpc.pb.cc'], 'package': ['grpc++', 'protobuf']},
}


def build(name, folder):
    """The program, or the reason why there is none."""
    peer = PEERS[name]
    out = folder / name
    out.mkdir()
    try:
        subprocess.run([part.format(out=out, here=HERE) for part in peer['generate']], check=True, capture_output=True)
        flags = subprocess.run(['pkg-config', '--cflags', '--libs', *peer['package']], check=True, capture_output=True,
                               text=True).stdout.split()
        program = out / 'calls'
        subprocess.run(['c++', '-std=c++17', '-O2', '-DNDEBUG', '-I', str(out), '-I', str(HERE),
                        str(HERE / f'{name}_calls.cpp'), *(str(out / s) for s in peer['sources']), '-o', str(program),
                        *flags, '-pthread'], check=True, capture_output=True)
        return program, ''
    except FileNotFoundError as e:
        return None, f'{e.filename} is not installed'
    except subprocess.CalledProcessError as e:
        return None, e.stderr.decode(errors='replace') if isinstance(e.stderr, bytes) else e.stderr


def run(command, environment=None):
    done = subprocess.run([str(c) for c in command], env=environment, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout.splitlines()[-1])
    return found['bytes64_ns'], found['bytes64_rate']


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', type=pathlib.Path, default=pathlib.Path('build/release'))
    parser.add_argument('--seconds', default='2')
    parser.add_argument('--repeat', type=int, default=5)
    o = parser.parse_args()
    over_tcp = dict(os.environ, LCI_ATTR_BACKEND='tcp')
    with tempfile.TemporaryDirectory(prefix='rpc_peers_') as folder:
        runs = {'lci': lambda: run([o.build / 'bench/rpc_calls', 'tcp://127.0.0.1:0', o.seconds], over_tcp)}
        for name in PEERS:
            program, why = build(name, pathlib.Path(folder))
            if program is None:
                print(f'{name}: left out: {why[:2000]}')
            else:
                runs[name] = lambda program=program: run([program, o.seconds])
        figures = {}
        for _ in range(o.repeat):  # by turns, so that all see the same machine
            for name, measure in runs.items():
                figures.setdefault(name, []).append(measure())
        medians = {name: [statistics.median(values) for values in zip(*all_of)] for name, all_of in figures.items()}
        own = medians['lci']
        for name, (ns, rate) in medians.items():
            ratio = '' if name == 'lci' else f'   LCI: {own[0] / ns:.2f} x the latency, {own[1] / rate:.1f} x the rate'
            print(f'{name:6} {ns / 1000:8.1f} us {rate / 1000:9.1f} thousand a second{ratio}')


if __name__ == '__main__':
    main()
