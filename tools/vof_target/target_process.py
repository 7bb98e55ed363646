# SPDX-License-Identifier: Apache-2.0
"""A target program under test, and just enough of an initiator to see that it serves.

    with TargetProcess(program, ['--listen', 'tcp://127.0.0.1:0', '--blk', MEMORY]) as target:
        uri = target.uris[0]
        connect(uri).close()
"""

import os
import re
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import unittest
import urllib.parse

START_TIMEOUT_S = 60  # sanitizers on a busy machine
CONTROL_QUEUE = 0xffff
CONNECT_BYTES = 1024


class ScratchTestCase(unittest.TestCase):
    """A scratch directory for each test."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = scratch.name

    def path(self, name, content=None):
        """A file of the scratch directory, written if there is something to write."""
        path = os.path.join(self.scratch, name)
        if content is not None:
            with open(path, 'wb') as file:
                file.write(content)
        return path


class TargetProcess:
    """Starts the program and waits for the URIs on its stdout."""

    def __init__(self, program, arguments, expected_uris=1, **popen_options):
        self._process = subprocess.Popen([program] + arguments, stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE, text=True, **popen_options)
        self.pid = self._process.pid
        self.log = ''
        self.rest = ''
        self._log_reader = threading.Thread(target=self._read_log, daemon=True)
        self._log_reader.start()
        killer = threading.Timer(START_TIMEOUT_S, self._process.kill)
        killer.start()
        self.uris = [self._process.stdout.readline().strip() for _ in range(expected_uris)]
        killer.cancel()
        if not all(self.uris):
            self.stop()
            raise RuntimeError(f'no URI on stdout; log:\n{self.log}')

    def _read_log(self):
        for line in self._process.stderr:
            self.log += line

    def signal(self, number):
        """Sends a signal and returns at once."""
        self._process.send_signal(number)

    def wait(self, timeout_s):
        """The exit status; the rest of stdout and the log are then in `rest` and `log`."""
        status = self._process.wait(timeout_s)
        if not self._process.stdout.closed:
            self.rest = self._process.stdout.read()
            self._process.stdout.close()
        self._log_reader.join(timeout_s)
        return status

    def stop(self, timeout_s=START_TIMEOUT_S):
        """Drains it as an administrator would."""
        if self._process.poll() is None:
            self.signal(signal.SIGTERM)
        try:
            return self.wait(timeout_s)
        finally:
            if self._process.poll() is None:
                self._process.kill()
                self._process.wait()
            self._process.stdout.close()
            self._log_reader.join()
            self._process.stderr.close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.stop()


def heed_hang_ups():
    """For a child: SIGHUP is not ignored, whatever this was started under."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def address_of(uri):
    """Host, port and device name of a printed URI."""
    parts = urllib.parse.urlsplit(uri)
    return parts.hostname, parts.port, urllib.parse.unquote(parts.path[1:])


def connect_command(name, token=b'\1' * 16):
    """A native Connect of a control queue, command and body."""
    command = struct.pack('<HHHHIHH', 0, 0x77, CONTROL_QUEUE, 0, CONNECT_BYTES, 0, 0)
    body = b'test-initiator'.ljust(256, b'\0') + name.encode().ljust(256, b'\0') + token
    return command + body.ljust(CONNECT_BYTES, b'\0')


def receive_exactly(sock, count):
    """All bytes or an EOFError."""
    data = b''
    while len(data) < count:
        piece = sock.recv(count - len(data))
        if not piece:
            raise EOFError(f'closed after {len(data)} of {count} bytes')
        data += piece
    return data


def connect_status(sock, name, token=b'\1' * 16):
    """Opens a control queue on a connected socket; the wire status of the answer."""
    sock.sendall(connect_command(name, token))
    status, command_id = struct.unpack('<HH', receive_exactly(sock, 16)[:4])
    if command_id != 0x77:
        raise RuntimeError(f'answer to command {command_id:#x}')
    return status


def dial(uri, timeout_s=30):
    """A socket to the host and port of a URI."""
    host, port, _ = address_of(uri)
    return socket.create_connection((host, port), timeout=timeout_s)


def connect(uri, token=b'\1' * 16):
    """A control queue of the device of a URI; the open socket."""
    sock = dial(uri)
    try:
        status = connect_status(sock, address_of(uri)[2], token)
        if status != 0:
            raise RuntimeError(f'Connect to {uri} answered {status:#x}')
    except BaseException:
        sock.close()
        raise
    return sock


def run(program, arguments, timeout_s=START_TIMEOUT_S, **options):
    """Runs the program to its end; status, stdout, stderr."""
    done = subprocess.run([program] + arguments, capture_output=True, text=True, timeout=timeout_s,
                          check=False, **options)
    return done.returncode, done.stdout, done.stderr


def looks_like_uri(text):
    """tcp://HOST:PORT/NAME with a real port."""
    return re.fullmatch(r'tcp://[^/]+:[1-9][0-9]*/[^/]+', text) is not None
