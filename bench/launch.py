"""Measures how long jobs take to start, and what remains of jobs that are killed.

python3 bench/launch.py [BUILD] [--repeat N] [--json]

Launches lcirun's jobs and MPICH's in turns, and prints medians (smallest, largest) in milliseconds: 2 ranks
until the first message (MPICH: until the end of MPI_Init), and many ranks until all have left the first
barrier. Then kills launchers and ranks and counts the remaining processes and files.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import time
import uuid

LAUNCHERS_VARIABLES = ('PMI', 'LCI_', 'SLURM_', 'OMPI_', 'MASTER_')


def environment(**more):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(LAUNCHERS_VARIABLES)}
    return {**kept, **{k: str(v) for k, v in more.items()}}


def launch(command):
    """Runs a job and returns what its ranks print as JSON, one object per rank. Exits if the job fails."""
    env = environment(START_TIME_NS=time.clock_gettime_ns(time.CLOCK_MONOTONIC))
    done = subprocess.run([str(w) for w in command], env=env, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        sys.exit(f'{command}: exit status {done.returncode}\n{done.stderr}')
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{')]


def last(ranks, what):
    """The time, in ms since the launch, at which the last rank reached this point."""
    return max(r[what] for r in ranks)


def describe(samples):
    return {'median': statistics.median(samples), 'min': min(samples), 'max': max(samples), 'n': len(samples)}


def left_behind(mark):
    """Counts processes with this variable in their environment, LCI's files in /dev/shm, and lcirun's sockets."""
    found = 0
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/environ', 'rb') as f:
                found += mark.encode() in f.read()
        except OSError:
            pass
    shared = sum('lci' in name.lower() for name in os.listdir('/dev/shm'))
    with open('/proc/net/unix') as f:
        return found + shared + f.read().count('lcirun')


def kill_one(lcirun, program, whom):
    """Starts 16 ranks, kills the launcher or one of them, and counts what remains 2 seconds later."""
    mark = 'BENCH_MARK_' + uuid.uuid4().hex
    job = subprocess.Popen([str(lcirun), '-n', '16', 'sh', '-c', f'"{program}" >/dev/null; exec sleep 600'],
                           env=environment(**{mark: 1}), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1)
    victim = job.pid
    if whom == 'rank':  # job.pid is lcirun's guard; its child runs the job, and the ranks are children of that
        below = pathlib.Path(f'/proc/{job.pid}/task/{job.pid}/children').read_text().split()[0]
        victim = int(pathlib.Path(f'/proc/{below}/task/{below}/children').read_text().split()[3])
    os.kill(victim, signal.SIGKILL)
    job.wait(60)
    time.sleep(2)
    return left_behind(mark)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('build', nargs='?', default='build/release', type=pathlib.Path)
    parser.add_argument('--repeat', type=int, default=15)
    parser.add_argument('--ranks', type=int, default=64, help='of the large job')
    parser.add_argument('--json', action='store_true')
    args = parser.parse_args()
    lcirun = args.build / 'lib/tools/lcirun/lcirun'
    program, mpi_program = args.build / 'bench/start_time', args.build / 'bench/peers/peer_mpich'
    mpiexec = shutil.which('mpiexec.hydra') if mpi_program.exists() else None

    two, mpi, many = [], [], []
    for _ in range(args.repeat):
        two.append(last(launch([lcirun, '-n', 2, program]), 'message_ms'))
        if mpiexec:
            mpi.append(last(launch([mpiexec, '-n', 2, mpi_program, 'start']), 'init_ms'))
    for _ in range(max(3, args.repeat // 3)):
        many.append(last(launch([lcirun, '-n', args.ranks, program]), 'barrier_ms'))
    result = {'lcirun, 2 ranks, to the first message': describe(two),
              f'lcirun, {args.ranks} ranks, to the end of the first barrier': describe(many)}
    if mpi:
        result["MPICH's mpiexec, 2 ranks, to the end of MPI_Init"] = describe(mpi)
        result['ratio'] = statistics.median(two) / statistics.median(mpi)
    result['left after kills'] = sum(kill_one(lcirun, program, whom) for whom in ('launcher', 'rank') * 3)

    if args.json:
        print(json.dumps(result, indent=1))
        return
    for name, value in result.items():
        if isinstance(value, dict):
            print(f"{name}: {value['median']:.1f} ms ({value['min']:.1f}..{value['max']:.1f}, {value['n']} runs)")
        else:
            print(f'{name}: {value:.2f}' if isinstance(value, float) else f'{name}: {value}')


if __name__ == '__main__':
    main()
