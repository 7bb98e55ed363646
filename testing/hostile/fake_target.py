# SPDX-License-Identifier: Apache-2.0
"""A target that answers as it should until it is told to misbehave, in either dialect.

    with FakeTarget(on_request=lambda exchange: exchange.answer(command_id=77)) as target:
        run(['vof', 'read', target.uri])
    with FakeTarget(dialect=Ref, on_request=lambda exchange: exchange.answer(descriptors=[])): ...
"""

import socket
import struct
import threading

from testing.hostile import wire

CAPACITY_SECTORS = 2048
FEATURES = wire.VERSION_1 | 1 << 1 | 1 << 2 | 1 << 6
INSTANCE = 77
QUEUE_SIZE = 64
VENDOR, BLOCK_DEVICE = 0x00464f56, 2
GET_ID_IN_BYTES = 20 + 1  # no other request has an answer of this length


def configuration(offset, count, capacity_sectors=CAPACITY_SECTORS, block_bytes=512):
    """A block device, of 1 MiB: `count` bytes of its configuration space, as 8."""
    space = bytearray(96)
    struct.pack_into('<QII', space, 0, capacity_sectors, 1 << 20, 126)
    struct.pack_into('<I', space, 20, block_bytes)
    struct.pack_into('<H', space, 34, 1)
    return bytes(space)[offset:offset + count].ljust(8, b'\0')


def receive(peer, size):
    """Exactly so many bytes, or EOFError."""
    data = b''
    while len(data) < size:
        more = peer.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def with_serial(serial):
    """For `on_request`: zeros, and this (20 bytes) as what the device is called."""
    def answer(exchange):
        is_get_id = exchange.in_length == GET_ID_IN_BYTES
        exchange.answer(data=serial + b'\0' if is_get_id else None)
    return answer


class Exchange:
    """One command, and how to answer it."""

    def __init__(self, peer, opcode, command_id):
        self.socket = peer
        self.opcode = opcode
        self.command_id = command_id
        self.in_length = 0

    def reset(self):
        """Ends the connection with a RST."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        self.socket.close()


class V5(Exchange):
    """The native dialect."""

    NAME = 'v5'
    GET_FEATURE = 0x0004
    BRING_UP = (0x0000, 0x0004, 0x0200, 0x1001, 0x1006, 0x100a, 0x100c)

    def reply(self, rest=b'', status=0, command_id=None):
        """A completion of 16 bytes."""
        ident = self.command_id if command_id is None else command_id
        self.socket.sendall((struct.pack('<HH', status, ident) + rest).ljust(16, b'\0'))

    def answer(self, length=None, data=None, **completion):
        """A virtqueue completion and its data."""
        length = self.in_length if length is None else length
        self.reply(struct.pack('<HHII', 1, 0, length, length), **completion)
        self.socket.sendall(bytes(length) if data is None else data)

    def receive_rest(self, rest):
        """What follows the header; whether this is a request."""
        if self.opcode == 0x0fff:
            out_length, self.in_length = struct.unpack('<II', rest[4:12])
            receive(self.socket, out_length)
        if self.opcode == 0:
            receive(self.socket, struct.unpack('<I', rest[4:8])[0])
        return self.opcode == 0x0fff

    def control_answer(self, rest, device):
        """What a completion says of a command."""
        page = struct.unpack('<I', rest[:4])[0]
        if self.opcode == 0x1005:
            device.status = page
        request_bytes = (4 << 20) + 4096
        sizes = struct.pack('<III', 0, request_bytes, request_bytes)
        answers = {
            0x0000: struct.pack('<HHQ', 5, 0, INSTANCE),
            0x0004: struct.pack('<IQ', 0, 1 << 35) if page == 0 else sizes,
            0x0200: struct.pack('<H', 1),
            0x1000: struct.pack('<I', VENDOR),
            0x1001: struct.pack('<I', BLOCK_DEVICE),
            0x1004: struct.pack('<I', device.status),
            0x1006: struct.pack('<IQ', 0, FEATURES if page == 0 else 0),
            0x100a: struct.pack('<H', QUEUE_SIZE),
            0x100c: struct.pack('<I', 1) + device.configuration(rest),
        }
        return answers.get(self.opcode, b'')


class Ref(Exchange):
    """The reference dialect."""

    NAME = 'ref'
    GET_FEATURE = 0x0003
    BRING_UP = (0x0000, 0x0003, 0x1001, 0x1003, 0x1005, 0x1007, 0x1008, 0x100a)

    def __init__(self, peer, opcode, command_id):
        super().__init__(peer, opcode, command_id)
        self.descriptors = []  # of what the target writes, as they came

    def reply(self, rest=b'', status=0, command_id=None, ndesc=0):
        """A completion of 16 bytes; `rest` is its value."""
        ident = self.command_id if command_id is None else command_id
        head = struct.pack('<HHHxx', status, ident, ndesc)
        self.socket.sendall((head + rest).ljust(16, b'\0'))

    def answer(self, length=None, data=None, descriptors=None, ndesc=None, **completion):
        """A vring completion, descriptors, and data."""
        length = self.in_length if length is None else length
        descriptors = self.descriptors if descriptors is None else descriptors
        self.reply(struct.pack('<Q', length),
                   ndesc=len(descriptors) if ndesc is None else ndesc, **completion)
        self.socket.sendall(b''.join(descriptors))
        self.socket.sendall(bytes(self.in_length) if data is None else data)

    def with_length(self, length):
        """The descriptors, the last of another length."""
        last = self.descriptors[-1]
        return self.descriptors[:-1] + [last[:8] + struct.pack('<I', length) + last[12:]]

    def receive_rest(self, rest):
        """What follows the header; whether this is a request."""
        ndesc = 0
        if self.opcode in (0, 0x2000):
            ndesc = struct.unpack('<H', rest[4:6])[0]
        out_length = 0
        for _ in range(ndesc):
            descriptor = receive(self.socket, 24)
            length, _, flags = struct.unpack('<IHH', descriptor[8:16])
            if flags & 2:
                self.descriptors.append(descriptor)
                self.in_length += length
            else:
                out_length += length
        receive(self.socket, out_length)
        return self.opcode == 0x2000

    def control_answer(self, rest, device):
        """The value of a command's completion."""
        page = struct.unpack('<I', rest[:4])[0]
        if self.opcode == 0x1004:
            device.status = page
        answers = {
            0x0000: INSTANCE,
            0x0003: 126,
            0x1000: VENDOR,
            0x1001: BLOCK_DEVICE,
            0x1002: 1,
            0x1003: device.status,
            0x1005: FEATURES if page == 0 else 0,
            0x1007: 1,
            0x1008: QUEUE_SIZE,
        }
        if self.opcode == 0x100a:
            return device.configuration(rest)
        return struct.pack('<Q', answers.get(self.opcode, 0))


class FakeTarget:
    """Listens on a free port; `on_request` and `on_control` may take an exchange over.

    `disk` is what `configuration` takes by name.
    """

    def __init__(self, dialect=V5, on_request=None, on_control=None, disk=None):
        self._dialect = dialect
        self._on_request = on_request or (lambda exchange: exchange.answer())
        self._on_control = on_control or (lambda exchange: False)
        self._disk = disk or {}
        self.status = 0
        self._listener = socket.create_server(('127.0.0.1', 0))
        port = self._listener.getsockname()[1]
        self.uri = f'tcp://127.0.0.1:{port}/mem0?dialect={dialect.NAME}'
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._listener.close()

    def configuration(self, rest):
        """What a command asks of the configuration space."""
        return configuration(*struct.unpack('<HB', rest[:3]), **self._disk)

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

    def _handle(self, peer):
        header = receive(peer, wire.HEADER_BYTES)
        exchange = self._dialect(peer, *struct.unpack('<HH', header[:4]))
        if exchange.receive_rest(header[4:]):
            self._on_request(exchange)
        elif not self._on_control(exchange):
            exchange.reply(exchange.control_answer(header[4:], self))
