# SPDX-License-Identifier: Apache-2.0
"""A target that answers as it should until it is told to misbehave.

    with FakeTarget(on_request=lambda queue: queue.answer(command_id=77)) as target:
        run(['vof', 'read', target.uri])
"""

import socket
import struct
import threading

from testing.hostile import wire

CAPACITY_SECTORS = 2048
FEATURES = wire.VERSION_1 | 1 << 1 | 1 << 2 | 1 << 6


def configuration():
    """A block device of 1 MiB."""
    space = bytearray(96)
    struct.pack_into('<QII', space, 0, CAPACITY_SECTORS, 1 << 20, 126)
    struct.pack_into('<I', space, 20, 512)
    struct.pack_into('<H', space, 34, 1)
    return bytes(space)


class Exchange:
    """One command, and how to answer it."""

    def __init__(self, peer, opcode, command_id, in_length=0):
        self.socket = peer
        self.opcode = opcode
        self.command_id = command_id
        self.in_length = in_length

    def reply(self, rest=b'', status=0, command_id=None):
        """A completion of 16 bytes."""
        ident = self.command_id if command_id is None else command_id
        self.socket.sendall((struct.pack('<HH', status, ident) + rest).ljust(16, b'\0'))

    def answer(self, length=None, data=None, **completion):
        """A virtqueue completion and its data."""
        length = self.in_length if length is None else length
        self.reply(struct.pack('<HHII', 1, 0, length, length), **completion)
        self.socket.sendall(bytes(length) if data is None else data)


class FakeTarget:
    """Listens on a free port; `on_request` and `on_control` may take an exchange over."""

    def __init__(self, on_request=None, on_control=None):
        self._on_request = on_request or (lambda exchange: exchange.answer())
        self._on_control = on_control or (lambda exchange: False)
        self._status = 0
        self._listener = socket.create_server(('127.0.0.1', 0))
        self.uri = f'tcp://127.0.0.1:{self._listener.getsockname()[1]}/mem0'
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._listener.close()

    def _accept(self):
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    def _serve(self, peer):
        try:
            while True:
                self._handle(peer)
        except (OSError, EOFError):
            pass
        finally:
            peer.close()

    def _receive(self, peer, size):
        data = b''
        while len(data) < size:
            more = peer.recv(size - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def _handle(self, peer):
        header = self._receive(peer, wire.HEADER_BYTES)
        opcode, command_id = struct.unpack('<HH', header[:4])
        rest = header[4:]
        exchange = Exchange(peer, opcode, command_id)
        if opcode == 0x0fff:
            out_length, exchange.in_length = struct.unpack('<II', rest[4:12])
            self._receive(peer, out_length)
            self._on_request(exchange)
            return
        if opcode == 0:
            self._receive(peer, struct.unpack('<I', rest[4:8])[0])
        if not self._on_control(exchange):
            exchange.reply(self._control_answer(opcode, rest))

    def _control_answer(self, opcode, rest):
        page = struct.unpack('<I', rest[:4])[0]
        if opcode == 0x1005:
            self._status = page
        request_bytes = (4 << 20) + 4096
        sizes = struct.pack('<III', 0, request_bytes, request_bytes)
        offset, count = struct.unpack('<HB', rest[:3])
        answers = {
            0x0000: struct.pack('<HHQ', 5, 0, 77),
            0x0004: struct.pack('<IQ', 0, 1 << 35) if page == 0 else sizes,
            0x0200: struct.pack('<H', 1),
            0x1000: struct.pack('<I', 0x00464f56),
            0x1001: struct.pack('<I', 2),
            0x1004: struct.pack('<I', self._status),
            0x1006: struct.pack('<IQ', 0, FEATURES if page == 0 else 0),
            0x100a: struct.pack('<H', 64),
            0x100c: struct.pack('<I', 1) + configuration()[offset:offset + count].ljust(8, b'\0'),
        }
        return answers.get(opcode, b'')
