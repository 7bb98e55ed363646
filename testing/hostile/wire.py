# SPDX-License-Identifier: Apache-2.0
"""Both dialects as raw bytes, for peers that misbehave (docs/protocol.md).

    control, queue = open_session(address, 'mem0')
    assert queue.block(READ, sector=0, in_bytes=512) == (OK, bytes(512))
    queue.send(v5_vq(7, out_length=0xffffffff, in_length=1))
"""

import os
import socket
import struct

CONTROL = 0xffff
READ, WRITE, FLUSH, GET_ID = 0, 1, 4, 8
OK, IO_ERROR, UNSUPPORTED = 0, 1, 2
VERSION_1 = 1 << 32
HEADER_BYTES = 16


class Closed(Exception):
    """The peer ended the connection."""


class Peer:
    """A connection that sends what it is told and waits for answers."""

    def __init__(self, address, timeout_s=10):
        self.socket = socket.create_connection(address, timeout_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._id = 0

    def next_id(self):
        """A command id that is not in flight."""
        self._id = self._id % 0xfe00 + 1
        return self._id

    def send(self, data):
        """All of it, or Closed."""
        try:
            self.socket.sendall(data)
        except OSError as error:
            raise Closed(str(error)) from error

    def receive(self, size):
        """Exactly so many bytes, or Closed."""
        data = b''
        while len(data) < size:
            try:
                more = self.socket.recv(size - len(data))
            except ConnectionError as error:
                raise Closed(str(error)) from error
            if not more:
                raise Closed('end of stream')
            data += more
        return data

    def is_closed(self, within_s=5):
        """Whether the peer closes, whatever it sends before."""
        self.socket.settimeout(within_s)
        try:
            while self.socket.recv(1 << 16):
                pass
        except ConnectionError:
            pass
        except TimeoutError:
            return False
        return True

    def close(self):
        """Orderly."""
        self.socket.close()

    def reset(self):
        """With a RST instead of a FIN."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        self.socket.close()


def name_field(name):
    """256 bytes; a name of 256 has no NUL."""
    data = name if isinstance(name, bytes) else name.encode()
    return data.ljust(256, b'\0')


def connect_body(initiator='vqn.hostile', target='mem0', token=bytes(16)):
    """The body of Connect."""
    return (name_field(initiator) + name_field(target) + token).ljust(1024, b'\0')


def v5_command(opcode, command_id, rest=b''):
    """A command header."""
    return (struct.pack('<HH', opcode, command_id) + rest).ljust(HEADER_BYTES, b'\0')[:HEADER_BYTES]


def v5_connect(command_id=1, instance=CONTROL, queue=0, length=1024, queue_size=0):
    """Connect without its body."""
    return struct.pack('<HHHHIHH', 0, command_id, instance, queue, length, queue_size, 0)


def v5_vq(command_id, out_length, in_length):
    """A virtqueue command without its bytes."""
    return struct.pack('<HHIII', 0x0fff, command_id, 0, out_length, in_length)


def ref_connect(command_id=1, instance=CONTROL, queue=0, ndesc=1, length=1024):
    """Connect and its descriptor, without its body."""
    return (struct.pack('<HHHHHB5x', 0, command_id, instance, queue, ndesc, 0) +
            ref_segment(length))


def ref_segment(length, writable=False, segment_id=0):
    """A segment descriptor."""
    return struct.pack('<QIHHII', 0, length, segment_id, 2 if writable else 0, 0, 0)


def ref_vring(command_id, ndesc):
    """A vring command without descriptors."""
    return struct.pack('<HHIHHI', 0x2000, command_id, 0, ndesc, 0, 0)


def block_header(request_type, sector):
    """The header of a virtio-blk request."""
    return struct.pack('<IIQ', request_type, 0, sector)


class V5Peer(Peer):
    """Speaks the native dialect, one command at a time."""

    def call(self, opcode, rest=b''):
        """Status and the 12 bytes behind it."""
        self.send(v5_command(opcode, self.next_id(), rest))
        answer = self.receive(HEADER_BYTES)
        return struct.unpack('<H', answer[:2])[0], answer[4:]

    def connect(self, instance=CONTROL, queue=0, body=None):
        """Status and instance id."""
        body = connect_body() if body is None else body
        self.send(v5_connect(self.next_id(), instance, queue, len(body)) + body)
        answer = self.receive(HEADER_BYTES)
        return struct.unpack('<HxxH', answer[:6])

    def request(self, out, in_bytes):
        """Transport status and data of one virtqueue request."""
        self.send(v5_vq(self.next_id(), len(out), in_bytes) + out)
        status, _, _, _, length, _ = struct.unpack('<HHHHII', self.receive(HEADER_BYTES))
        return status, self.receive(length)

    def block(self, request_type, sector, out=b'', in_bytes=0):
        """Block status and data."""
        status, data = self.request(block_header(request_type, sector) + out, in_bytes + 1)
        assert status == 0, hex(status)
        return data[-1], data[:-1]


def open_session(address, name, token=None):
    """Control queue and virtqueue 0, ready for requests."""
    token = token or os.urandom(16)
    body = connect_body(target=name, token=token)
    control = V5Peer(address)
    status, instance = control.connect(body=body)
    assert status == 0, hex(status)
    for value in (1, 3):
        control.call(0x1005, struct.pack('<I', value))
    control.call(0x1009, struct.pack('<IQ', 0, VERSION_1))
    control.call(0x1005, struct.pack('<I', 11))
    queue = V5Peer(address)
    status, _ = queue.connect(instance, 0, body)
    assert status == 0, hex(status)
    control.call(0x1005, struct.pack('<I', 15))
    control.instance, control.token = instance, token
    return control, queue
