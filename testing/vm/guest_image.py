# SPDX-License-Identifier: Apache-2.0
"""The kernel and the initramfs of a guest, made from what Debian's packages installed.

    kernel = guest_image.find_kernel()
    guest_image.boot_file(kernel)               # what QEMU gets as -kernel
    guest_image.write_initramfs(kernel, path)   # what it gets as -initrd
"""

import dataclasses
import lzma
import os
import pathlib
import stat
import struct
import tempfile

MODULES = ('virtio_pci', 'virtio_console', 'virtio_net', '9p', '9pnet_virtio', 'overlay', 'dummy',
            'rdma_rxe', 'ib_uverbs', 'rdma_ucm')
_APPLETS = ('cat', 'chroot', 'env', 'insmod', 'ip', 'kill', 'ln', 'mkdir', 'mkfifo', 'mount', 'sh',
            'sleep', 'sync')
_HERE = pathlib.Path(__file__).resolve().parent


class GuestError(Exception):
    """The guest cannot be made or did not do its work; the text says why, and what to do."""


def missing(what, package):
    """The error for something that a Debian package brings."""
    return GuestError(f'{what}. It comes with Debian\'s {package}; install it with\n'
                      f'    apt-get install --no-install-recommends {package}')


@dataclasses.dataclass(frozen=True)
class Kernel:
    """An installed kernel: its image, and its modules in the order in which they load."""
    version: str
    image: pathlib.Path
    modules: tuple


def find_kernel(boot=pathlib.Path('/boot'), modules=pathlib.Path('/lib/modules')):
    """The newest kernel that has every module; GuestError when there is none."""
    images = sorted(boot.glob('vmlinuz-*'), key=lambda path: path.stat().st_mtime, reverse=True)
    if not images:
        raise missing(f'no kernel for the guest: {boot}/vmlinuz-* does not exist',
                      'linux-image-amd64')
    lacking = []
    for image in images:
        version = image.name.removeprefix('vmlinuz-')
        try:
            return Kernel(version, image, _module_files(modules / version))
        except LookupError as error:
            lacking.append(f'{version} has no module {error.args[0]}')
    raise missing('no kernel for the guest: ' + ', '.join(lacking) + ' (a "cloud" kernel lacks '
                  'soft-RoCE)', 'linux-image-amd64')


def _module_files(directory):
    """Files of MODULES and what they depend on, that first. LookupError names what is lacking."""
    dependencies = {}
    try:
        text = (directory / 'modules.dep').read_text()
        built_in = (directory / 'modules.builtin').read_text()
    except OSError:
        raise LookupError(f'list in {directory}') from None
    for line in text.splitlines():
        file, _, needed = line.partition(':')
        dependencies[pathlib.PurePath(file).name.split('.')[0].replace('-', '_')] = (file, needed)
    files = []
    for name in MODULES:
        if name not in dependencies:
            if f'/{name}.ko' in built_in:
                continue
            raise LookupError(name)
        file, needed = dependencies[name]
        files += [*reversed(needed.split()), file]
    return tuple(directory / file for file in dict.fromkeys(files))


def boot_file(kernel):
    """The unpacked kernel where we can unpack it, which saves the guest several seconds.

    Unpacking takes a second or two as well, so the file is kept; nobody else can have written it.
    """
    cache = pathlib.Path(f'/tmp/vof-guest-{os.getuid()}')
    cache.mkdir(mode=0o700, exist_ok=True)
    status = cache.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise GuestError(f'{cache} must be a directory that only you can write to; remove it')
    unpacked = cache / f'vmlinux-{kernel.version}-{kernel.image.stat().st_mtime_ns}'
    if not unpacked.exists():
        elf = _unpack(kernel.image)
        if elf is None:
            return kernel.image
        with tempfile.NamedTemporaryFile(dir=cache, delete=False) as file:
            file.write(elf)
        os.rename(file.name, unpacked)  # Others may do the same at the same time.
    return unpacked


def _unpack(image):
    """The ELF file in a bzImage (Documentation/x86/boot.rst), or None if it is packed otherwise."""
    try:
        data = image.read_bytes()
    except PermissionError:
        raise GuestError(f'{image} is not readable; chmod a+r {image}') from None
    setup_sectors = data[0x1F1] or 4
    offset, size = struct.unpack_from('<II', data, 0x248)
    start = (setup_sectors + 1) * 512 + offset
    try:
        elf = lzma.LZMADecompressor().decompress(data[start:start + size])
    except lzma.LZMAError:
        return None
    return elf if elf.startswith(b'\x7fELF') else None


def write_initramfs(kernel, path, busybox='/bin/busybox'):
    """Writes the cpio archive with which the guest starts."""
    try:
        shell = pathlib.Path(busybox).read_bytes()
    except OSError:
        raise missing(f'no {busybox} for the guest', 'busybox-static') from None
    if b'/ld-linux' in shell:
        raise missing(f'{busybox} is dynamically linked', 'busybox-static')
    with open(path, 'wb') as file:
        archive = _Cpio(file)
        for directory in ('bin', 'guest', 'modules', 'proc', 'sys', 'dev', 'lower', 'upper',
                          'root'):
            archive.add(directory, stat.S_IFDIR | 0o755)
        archive.add('guest/busybox', stat.S_IFREG | 0o755, shell)
        archive.add('bin/busybox', stat.S_IFLNK | 0o777, b'/guest/busybox')
        for applet in _APPLETS:
            archive.add(f'guest/{applet}', stat.S_IFLNK | 0o777, b'busybox')
        archive.add('init', stat.S_IFREG | 0o755, (_HERE / 'guest_init.sh').read_bytes())
        archive.add('guest/main', stat.S_IFREG | 0o644, (_HERE / 'guest_main.sh').read_bytes())
        order = ''
        for module in kernel.modules:
            data = module.read_bytes()
            name = module.name.removesuffix('.xz')
            archive.add(f'modules/{name}', stat.S_IFREG | 0o644,
                        lzma.decompress(data) if module.suffix == '.xz' else data)
            order += name + '\n'
        archive.add('modules/order', stat.S_IFREG | 0o644, order.encode())
        archive.add('TRAILER!!!', 0)


class _Cpio:
    """Writes the "newc" format (Documentation/driver-api/early-userspace/buffer-format.rst)."""

    def __init__(self, file):
        self._file = file
        self._inode = 0

    def add(self, name, mode, data=b''):
        """Adds a file, a directory or a symbolic link (whose target is the data)."""
        self._inode += 1
        encoded = name.encode() + b'\0'
        # Magic; inode, mode, user, group, links, time, size, four device numbers, name, checksum.
        fields = (self._inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(encoded), 0)
        header = b'070701' + b''.join(b'%08X' % field for field in fields) + encoded
        self._file.write(header + b'\0' * (-len(header) % 4) + data + b'\0' * (-len(data) % 4))
