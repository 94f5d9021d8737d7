"""The guests' kernel and their initial file system, made once in a folder of the build.

The kernel is the one that Debian's package linux-image-amd64 depends on, downloaded and unpacked, but not
installed. Its compressed image is inflated here, to an ELF file that QEMU can start, since an emulated
processor inflates slowly. The initial file system has busybox, the modules that a guest needs, and
first_steps.sh. Everything else a guest reads from the host's file system.
"""

import fcntl
import lzma
import os
import pathlib
import shutil
import struct
import subprocess
import zlib

HERE = pathlib.Path(__file__).resolve().parent

# Modules for the host's files, the link between guests, and RDMA over Ethernet, with a checksum that rxe
# requests at a time when modules can't be loaded any more.
MODULES = ('virtio_pci', '9pnet_virtio', '9p', 'virtio_net', 'crc32_generic', 'ib_uverbs', 'rdma_ucm',
           'rdma_rxe', 'dummy', 'sch_netem')
# Programs and their Debian packages.
PROGRAMS = (('qemu-system-x86_64', 'qemu-system-x86'), ('busybox', 'busybox-static'), ('cpio', 'cpio'),
            ('depmod', 'kmod'), ('modprobe', 'kmod'), ('rdma', 'iproute2'), ('tc', 'iproute2'),
            ('apt-get', 'apt'), ('dpkg', 'dpkg'))
SEARCH_PATH = os.environ.get('PATH', '') + ':/usr/local/sbin:/usr/sbin:/sbin'


class Unavailable(Exception):
    """This machine can't start a guest; the text gives the reason."""


def program(name):
    return shutil.which(name, path=SEARCH_PATH)


def run(*words, **more):
    return subprocess.run([program(words[0])] + [str(w) for w in words[1:]], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more).stdout


class Kernel:
    """The files for QEMU: the kernel `image`, and `first_files`, the initial file system."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        self.image = self.folder / 'vmlinux'
        self.first_files = self.folder / 'initramfs.gz'

    def prepare(self):
        """Makes the files that are missing. Throws Unavailable."""
        for name, package in PROGRAMS:
            if program(name) is None:
                raise Unavailable(f'{name} (Debian package {package}) is not installed')
        if os.uname().machine != 'x86_64':
            raise Unavailable('this machine is not an x86_64 machine, whose kernel the guests run')
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.folder / 'lock', 'w') as lock:  # several tests may run at once
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self.image.exists():
                self._unpack(self._download())
            newest = max((HERE / f).stat().st_mtime for f in ('kernel.py', 'first_steps.sh'))
            if not self.first_files.exists() or self.first_files.stat().st_mtime < newest:
                self._pack_first_files()

    def _download(self):
        """Downloads the package; returns its file. If Debian's lists are missing or too old, root updates them."""
        try:
            return self._download_as_listed()
        except (Unavailable, subprocess.CalledProcessError) as error:
            reason = error
        if os.geteuid() == 0:
            try:
                run('apt-get', '-qq', 'update')
                return self._download_as_listed()
            except (Unavailable, subprocess.CalledProcessError) as error:
                reason = error
        output = (getattr(reason, 'stderr', '') or str(reason)).strip().splitlines()
        raise Unavailable(f"Debian's kernel package can't be downloaded: {output[-1] if output else reason}")

    def _download_as_listed(self):
        needed = [line.split()[1] for line in
                  run('apt-cache', 'depends', 'linux-image-amd64').splitlines() if 'Depends:' in line]
        if not needed:
            raise Unavailable("linux-image-amd64 is not in the machine's package lists")
        run('apt-get', '-qq', '-o', 'APT::Sandbox::User=root', 'download', needed[0], cwd=self.folder)
        return max(self.folder.glob(needed[0] + '_*.deb'), key=lambda f: f.stat().st_mtime)

    def _unpack(self, package):
        tree = self.folder / 'tree'
        shutil.rmtree(tree, ignore_errors=True)
        run('dpkg', '-x', package, tree)
        package.unlink()
        # The dependencies of modules, which a package's own scripts would compute.
        run('depmod', '-b', tree, self._version())
        inflated = inflate((tree / 'boot' / f'vmlinuz-{self._version()}').read_bytes())
        unfinished = self.image.with_suffix('.new')
        unfinished.write_bytes(inflated)
        unfinished.rename(self.image)

    def _version(self):
        return os.listdir(self.folder / 'tree' / 'lib' / 'modules')[0]

    def _pack_first_files(self):
        root = self.folder / 'initramfs'
        shutil.rmtree(root, ignore_errors=True)
        for name in ('bin', 'modules', 'proc', 'sys', 'dev', 'host'):
            (root / name).mkdir(parents=True)
        shutil.copy(program('busybox'), root / 'bin' / 'busybox')
        shutil.copy(HERE / 'first_steps.sh', root / 'init')
        (root / 'init').chmod(0o755)
        order = []
        for module in MODULES:
            for line in run('modprobe', '-d', self.folder / 'tree', '-S', self._version(),
                            '--show-depends', module).splitlines():
                kind, _, path = line.partition(' ')
                if kind != 'insmod':  # built into the kernel
                    continue
                path = pathlib.Path(path.split()[0])
                name = path.name[:-3] if path.suffix == '.xz' else path.name
                if name in order:
                    continue
                order.append(name)
                content = path.read_bytes()
                (root / 'modules' / name).write_bytes(
                    lzma.decompress(content) if path.suffix == '.xz' else content)
        (root / 'modules' / 'order').write_text('\n'.join(order) + '\n')
        names = '\n'.join(str(p.relative_to(root)) for p in sorted(root.rglob('*'))) + '\n'
        archive = subprocess.run([program('cpio'), '-o', '-H', 'newc', '--quiet'], input=names.encode(),
                                 cwd=root, check=True, stdout=subprocess.PIPE).stdout
        unfinished = self.first_files.with_suffix('.new')
        compress = zlib.compressobj(1, wbits=31)  # gzip
        unfinished.write_bytes(compress.compress(archive) + compress.flush())
        unfinished.rename(self.first_files)


def inflate(image):
    """The ELF kernel in a bootable image, whose header is described in the Linux documentation
    (x86/boot.rst)."""
    setup_sectors = image[0x1f1] or 4
    offset, length = struct.unpack_from('<II', image, 0x248)
    begin = (setup_sectors + 1) * 512 + offset
    payload = image[begin:begin + length]
    if payload[:6] == b'\xfd7zXZ\0':
        kernel = lzma.LZMADecompressor(lzma.FORMAT_XZ).decompress(payload)
    elif payload[:2] == b'\x1f\x8b':
        kernel = zlib.decompressobj(31).decompress(payload)
    else:
        raise Unavailable('the compression of the kernel is not supported')
    if kernel[:4] != b'\x7fELF':
        raise Unavailable('the kernel package has no kernel that can be started directly')
    return kernel
