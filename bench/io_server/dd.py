#!/usr/bin/env python3
"""dd through the I/O server, over shared memory and TCP, beside the core's bandwidth, dd on local files, and sshfs.

    python3 bench/io_server/dd.py [--build build/release] [--repeat 5] [--megabytes 512]

All files are in memory (/dev/shm). Prints medians. Ratios are those to the core's bandwidth of 1 MiB between two such
processes over the same network: the better of puts and gets, between buffers that stay in the caches, and between
such a buffer and memory of the file's size, which does not (a read gets from it, a write puts to it).
"""

import argparse
import contextlib
import getpass
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile
import time


def start_server(build, folder, network):
    address = folder / f'address.{network}'
    environment = dict(os.environ, **({'LCI_ATTR_BACKEND': 'tcp'} if network == 'tcp' else {}))
    command = [str(build / 'examples/io_server/lci_iod'), str(folder), '--address-file', str(address)]
    if network == 'tcp':
        command += ['--listen', 'tcp://127.0.0.1:0']
    server = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    while not address.exists():
        if server.poll() is not None:
            raise SystemExit('lci_iod has ended')
        time.sleep(0.01)
    environment.update(IOD_SERVER=address.read_text().strip(),
                       LD_PRELOAD=str(build / 'examples/io_server/liblci_io_shim.so'))
    return server, environment


def dd(source, target, megabytes, environment=None):
    done = subprocess.run(['dd', f'if={source}', f'of={target}', 'bs=1M', f'count={megabytes}', 'conv=notrunc'],
                          env=environment, capture_output=True, text=True, check=True)
    size, seconds = re.search(r'(\d+) bytes.*, ([0-9.e-]+) s,', done.stderr).groups()
    return int(size) / float(seconds) / 1e9


def core(build, network, megabytes):
    """What the core's puts and gets of 1 MiB reach between two such peers, to and from so much memory."""
    environment = dict(os.environ, **({'LCI_ATTR_BACKEND': 'tcp'} if network == 'tcp' else {}))
    done = subprocess.run([str(build / 'bench/io_peers'), str(megabytes)], env=environment, capture_output=True,
                          text=True, check=True)
    return [float(number) for number in done.stdout.split()]


SSHD = '/usr/sbin/sshd'


@contextlib.contextmanager
def sshfs(folder):
    """The folder as sshfs shows it, over an sshd on the loopback; None if that can't be set up."""
    missing = [what for what, found in (('sshfs', shutil.which('sshfs')), ('sshd', shutil.which(SSHD)),
                                        ('/dev/fuse', os.access('/dev/fuse', os.R_OK | os.W_OK))) if not found]
    if missing:
        print(f'sshfs is left out; missing: {", ".join(missing)}')
        yield None
        return
    with tempfile.TemporaryDirectory(prefix='io_server_ssh_') as name:
        here = pathlib.Path(name)
        mount = here / 'mount'
        mount.mkdir()
        subprocess.run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', str(here / 'key')], check=True)
        shutil.copy(here / 'key.pub', here / 'authorized')
        pathlib.Path('/run/sshd').mkdir(exist_ok=True)
        options = {'Port': 22022, 'ListenAddress': '127.0.0.1', 'HostKey': here / 'key', 'PidFile': here / 'pid',
                   'AuthorizedKeysFile': here / 'authorized', 'StrictModes': 'no', 'UsePAM': 'no',
                   'Subsystem': 'sftp internal-sftp', 'PermitRootLogin': 'yes'}
        words = [word for option, value in options.items() for word in ('-o', f'{option}={value}')]
        server = subprocess.Popen([SSHD, '-D', '-f', '/dev/null', *words], stderr=subprocess.DEVNULL)
        try:
            for attempt in range(50):
                done = subprocess.run(['sshfs', '-p', '22022', f'{getpass.getuser()}@127.0.0.1:{folder}', str(mount),
                                       '-o', f'IdentityFile={here / "key"},StrictHostKeyChecking=no,'
                                       'UserKnownHostsFile=/dev/null,LogLevel=ERROR'], capture_output=True, text=True)
                if done.returncode == 0:
                    break
                time.sleep(0.1)
            else:
                print(f'sshfs is left out: {done.stderr}')
                yield None
                return
            yield mount
            subprocess.run(['fusermount3', '-u', str(mount)], check=True)
        finally:
            server.terminate()
            server.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', type=pathlib.Path, default=pathlib.Path('build/release'))
    parser.add_argument('--repeat', type=int, default=5)
    parser.add_argument('--megabytes', type=int, default=512)
    o = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix='io_server_', dir='/dev/shm'))
    servers = []
    others = contextlib.ExitStack()
    try:
        file = folder / 'file'
        dd('/dev/zero', file, o.megabytes)
        setups = {'local': (None, str(file))}
        for network in ('shm', 'tcp'):
            server, environment = start_server(o.build, folder, network)
            servers.append(server)
            setups[network] = (environment, '/remote/file')
        mount = others.enter_context(sshfs(folder))
        if mount is not None:
            setups['sshfs'] = (None, str(mount / 'file'))
        figures = {}
        for _ in range(o.repeat):  # by turns, so that all see the same machine
            for name, (environment, path) in setups.items():
                figures.setdefault((name, 'read'), []).append(dd(path, '/dev/null', o.megabytes, environment))
                figures.setdefault((name, 'write'), []).append(dd('/dev/zero', path, o.megabytes, environment))
            for network in ('shm', 'tcp'):
                for where, size in (('cached', 4), ('memory', o.megabytes)):
                    put, get = core(o.build, network, size)
                    figures.setdefault((network, f'put, {where}'), []).append(put)
                    figures.setdefault((network, f'get, {where}'), []).append(get)
        medians = {key: statistics.median(values) for key, values in figures.items()}
        for (name, what), speed in sorted(medians.items()):
            ratio = ''
            if (name, 'put, memory') in medians and what in ('read', 'write'):
                cached = max(medians[name, 'put, cached'], medians[name, 'get, cached'])
                memory = medians[name, {'read': 'get, memory', 'write': 'put, memory'}[what]]
                ratio = f'  {speed / cached:.2f} of the core in the caches, {speed / memory:.2f} in as much memory'
            low, high = min(figures[name, what]), max(figures[name, what])
            print(f'{name:6} {what:11} {speed:6.2f} GB/s [{low:.2f} {high:.2f}]{ratio}')
    finally:
        others.close()
        for server in servers:
            server.terminate()
            server.wait()
        shutil.rmtree(folder)


if __name__ == '__main__':
    main()
