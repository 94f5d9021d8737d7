"""Runs one or two guests under QEMU on emulated processors, so no access to hardware virtualization is needed.

Each guest has a folder on the host, which is /mnt in the guest: it reads settings and command from it, and writes
log and exit status to it. Two guests are connected by a virtual Ethernet link.
"""

import pathlib
import shutil
import socket
import subprocess
import time

import kernel

HERE = pathlib.Path(__file__).resolve().parent

# no_timer_check: on a busy host an emulated timer may seem broken. The other options save time.
KERNEL_OPTIONS = ('console=ttyS0 quiet panic=-1 no_timer_check mitigations=off nokaslr tsc=reliable '
                  'random.trust_cpu=on cryptomgr.notests audit=0')
TIMED_OUT = 124  # as in timeout(1)
NO_STATUS = 125


def address_of(node):
    return f'10.0.0.{node + 1}'


class Guest:
    """One virtual machine; it runs from start() to stop()."""

    def __init__(self, system, folder, node, command, netem):
        self.system, self.folder, self.node = system, folder, node
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        shutil.copy(HERE / 'guest.sh', folder)
        (folder / 'command.sh').write_text(command)
        (folder / 'settings').write_text(f"node={node} address={address_of(node)} netem='{netem}'\n")

    def start(self, processors, megabytes, link):
        """`link`: the socket of this guest's end of the link to the other guest, or None."""
        words = [kernel.program('qemu-system-x86_64'), '-machine', 'q35', '-cpu', 'max',
                 '-accel', 'tcg,thread=multi', '-smp', str(processors), '-m', str(megabytes),
                 '-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot',
                 '-serial', 'file:console',
                 '-kernel', self.system.image, '-initrd', self.system.first_files,
                 '-append', KERNEL_OPTIONS,
                 # Inode numbers of several file systems of the host must remain distinct.
                 '-fsdev', 'local,id=host,path=/,security_model=none,readonly=on,multidevs=remap',
                 '-device', 'virtio-9p-pci,fsdev=host,mount_tag=host',
                 '-fsdev', 'local,id=run,path=.,security_model=none',
                 '-device', 'virtio-9p-pci,fsdev=run,mount_tag=run']
        if link is not None:
            words += ['-netdev', f'socket,id=link,fd={link.fileno()}',
                      '-device', f'virtio-net-pci,netdev=link,mac=52:54:00:00:00:{self.node + 1:02x}']
        with open(self.folder / 'qemu', 'wb') as output:
            self.process = subprocess.Popen(words, cwd=self.folder, stdin=subprocess.DEVNULL,
                                            stdout=output, stderr=output,
                                            pass_fds=[link.fileno()] if link else [])

    def stop(self):
        self.process.kill()
        self.process.wait()

    def text(self, name):
        try:
            return (self.folder / name).read_text(errors='replace')
        except OSError:
            return ''

    def status(self):
        text = self.text('status').strip()
        return int(text) if text else None


def run(system, folder, commands, seconds, netem='', processors=2, megabytes=3072):
    """Runs one guest for each command (a shell script's text) until the first guest's command has ended.
    Prints its log and returns its exit status, or TIMED_OUT or NO_STATUS. After a failure it prints the ends of all
    logs."""
    begin = time.monotonic()
    guests = [Guest(system, pathlib.Path(folder) / f'guest{node}', node, command, netem)
              for node, command in enumerate(commands)]
    links = socket.socketpair() if len(guests) == 2 else [None]
    started = []
    late = False
    try:
        for guest, link in zip(guests, links):
            guest.start(processors, megabytes, link)
            started.append(guest)
            if link is not None:
                link.close()
        # The second guest runs until it is stopped. If it ends earlier, the run ends, too.
        while not late and all(guest.process.poll() is None for guest in guests):
            time.sleep(0.05)
            late = time.monotonic() - begin > seconds
    finally:
        for guest in started:
            guest.stop()
    took = f'{time.monotonic() - begin:.0f} s'
    print(guests[0].text('log'), end='')
    status = guests[0].status()
    if status is not None:
        print(f'guest: exit status {status} after {took}')
    else:
        status = TIMED_OUT if late else NO_STATUS
        print(f'guest: {"still running" if late else "ended without an exit status"} after {took}')
    if status != 0:
        for guest in guests:
            explain(guest)
        print(f'guest: files are in {folder}')
    return status


def explain(guest):
    """Prints the ends of the logs of a guest that has failed."""
    for name in ('qemu', 'console', 'dmesg') + (('log',) if guest.node > 0 else ()):
        lines = guest.text(name).splitlines()[-25:]
        if lines:
            print(f'-- guest {guest.node}: end of {name}')
            print('\n'.join(lines))
