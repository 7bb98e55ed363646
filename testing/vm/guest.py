# SPDX-License-Identifier: Apache-2.0
"""One guest: a QEMU process, the directory it shares with us, and the output of its command.

    with Guest(1, settings, job, image, command, sys.stdout.buffer, sys.stderr.buffer) as guest:
        while not guest.is_ready(): ...
        guest.go()
        while guest.is_running(): ...
        print(guest.exit_code())

guest_main.sh is the other side of the job directory.
"""

import dataclasses
import os
import pathlib
import shlex
import shutil
import signal
import socket
import subprocess
import threading

from guest_image import GuestError, missing

_CONSOLE_LINES = 25


@dataclasses.dataclass(frozen=True)
class Settings:
    """What the guest is like and what its command may do."""
    cpus: int = 2
    memory_mib: int = 1024
    drop_caps: tuple = ()
    memlock_bytes: int = None
    outputs: tuple = ()  # Directories of the host that the command can write to.


@dataclasses.dataclass(frozen=True)
class Image:
    """What QEMU boots."""
    kernel: pathlib.Path
    initramfs: pathlib.Path


def check_host():
    """GuestError when a program that every guest needs is not installed."""
    for program, package in (('qemu-system-x86_64', 'qemu-system-x86'), ('rdma', 'iproute2'),
                             ('setpriv', 'util-linux'), ('prlimit', 'util-linux')):
        if not shutil.which(program, path='/usr/bin'):
            raise missing(f'no program /usr/bin/{program}', package)


class Guest:
    """Starts with the object, ends with the `with` block at the latest."""

    def __init__(self, number, settings, job, image, command, stdout, stderr, link=None):
        """Starts QEMU. `command` is a list of arguments, `link` a socket that carries packets."""
        self._job = pathlib.Path(job)
        self._job.mkdir()
        self._console = self._job / 'console'
        shares = ''.join(
            f'  mkdir -p {shlex.quote(path)}\n  mount -t 9p -o trans=virtio,version=9p2000.L,'
            f'msize=262144,cache=mmap output{index} {shlex.quote(path)}\n'
            for index, path in enumerate(settings.outputs))
        self._write('settings', f'GUEST_NUMBER={number}\nLINK={"eth0" if link else ""}\n'
                    f'mount_shares() {{\n  :\n{shares}}}\n')
        self._write('command', _shell_command(command, settings, number))
        ends, ports = [], []
        for _ in range(2):
            end, port = socket.socketpair()
            ends.append(end)
            ports.append(port)
        inherited = [port.fileno() for port in ports] + ([link.fileno()] if link else [])
        # The kernel ends QEMU when we are killed and cannot do it.
        arguments = ['setpriv', '--pdeathsig', 'KILL', '--']
        arguments += _qemu_arguments(number, settings, self._job, image, inherited)
        self._qemu = subprocess.Popen(arguments, pass_fds=inherited, stdin=subprocess.DEVNULL,
                                      stdout=self._console.open('ab'), stderr=subprocess.STDOUT,
                                      start_new_session=True)
        for port in ports:
            port.close()
        self._pumps = [threading.Thread(target=_pump, args=pair, daemon=True)
                       for pair in zip(ends, (stdout, stderr))]
        for pump in self._pumps:
            pump.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._qemu.kill()
        self._qemu.wait()
        for pump in self._pumps:
            pump.join()

    def is_running(self):
        """Whether QEMU has not ended yet."""
        return self._qemu.poll() is None

    def is_ready(self):
        """Whether the command can start; GuestError when it never will."""
        if not self.is_running():
            raise self.failure('the guest did not start')
        return (self._job / 'ready').exists()

    def go(self):
        """Lets the command start."""
        self._write('go', '')

    def exit_code(self):
        """The exit code of the command after the guest has ended, 128 + N if signal N killed it."""
        try:
            text = (self._job / 'exit_code').read_text()
        except FileNotFoundError:
            text = ''
        if not text:
            raise self.failure('the guest ended without an exit code')
        for pump in self._pumps:
            pump.join()
        return int(text)

    def failure(self, what):
        """An error that shows the end of the console."""
        lines = self._console.read_text(errors='replace').splitlines()[-_CONSOLE_LINES:]
        return GuestError(f'{what}; the end of its console:\n' + '\n'.join(lines))

    def _write(self, name, text):
        (self._job / name).write_bytes(os.fsencode(text))


def _shell_command(command, settings, number):
    """Shell text that becomes the command, with our environment and working directory."""
    environment = dict(os.environ, VOF_GUEST=str(number))
    words = ['exec', 'env', '-i'] + [f'{name}={value}' for name, value in environment.items()]
    if settings.memlock_bytes is not None:
        limit = settings.memlock_bytes
        words += ['/usr/bin/prlimit', f'--memlock={limit}:{limit}']
    if settings.drop_caps:
        dropped = ','.join('-' + cap for cap in settings.drop_caps)
        words += ['/usr/bin/setpriv', f'--bounding-set={dropped}', f'--inh-caps={dropped}', '--']
    return f'cd {shlex.quote(os.getcwd())} || exit 125\n' + shlex.join(words + command) + '\n'


def _qemu_arguments(number, settings, job, image, descriptors):
    """The command line of QEMU; descriptors are those of stdout, stderr and perhaps the link."""
    arguments = [
        '/usr/bin/qemu-system-x86_64', '-M', 'pc,hpet=off', '-accel', 'tcg,thread=multi',
        '-cpu', 'max,la57=off', '-smp', str(settings.cpus), '-m', f'{settings.memory_mib}M',
        '-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot',
        '-kernel', str(image.kernel), '-initrd', str(image.initramfs), '-append',
        'console=ttyS0 quiet loglevel=4 panic=-1 mitigations=off nokaslr audit=0 '
        'random.trust_cpu=on tsc=reliable', '-serial', 'stdio', '-device', 'virtio-serial',
    ]
    for index, descriptor in enumerate(descriptors[:2], 1):
        arguments += ['-chardev', f'socket,id=port{index},fd={descriptor}',
                      '-device', f'virtserialport,chardev=port{index},nr={index}']
    shares = {'root': '/', 'job': str(job)}
    shares.update((f'output{index}', path) for index, path in enumerate(settings.outputs))
    for tag, path in shares.items():
        arguments += ['-virtfs', f'local,path={path.replace(",", ",,")},mount_tag={tag},'
                      'security_model=none,multidevs=remap' +
                      (',readonly=on' if tag == 'root' else '')]
    for descriptor in descriptors[2:]:
        arguments += ['-netdev', f'dgram,id=link,local.type=fd,local.str={descriptor}', '-device',
                      f'virtio-net-pci,netdev=link,mac=52:54:00:77:00:0{number},host_mtu=4200']
    return arguments


def _pump(source, sink):
    """Copies until the guest has closed its end; then goes on for nobody if our reader has gone."""
    with source:
        while data := _receive(source):
            try:
                sink.write(data)
                sink.flush()
            except BrokenPipeError:
                signal.raise_signal(signal.SIGTERM)
                return


def _receive(source):
    try:
        return source.recv(65536)
    except ConnectionResetError:
        return b''
