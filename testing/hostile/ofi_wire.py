# SPDX-License-Identifier: Apache-2.0
"""A hostile initiator on libfabric's `tcp` provider: its wire (libfabric 1.17), and keyed `v5` on it.

    session = Session('127.0.0.1', port, 'disk')
    session.queue.expose(5, 0x100000, data)          # key, address, what the target may fetch
    session.queue.on_fetch = lambda data: b''        # answer with less than was asked for
    session.queue.command(request(1, 16 + 512, 1, descriptor(0x100000, 528, 5) + ...))

It does not go through libfabric, so it can break the provider's rules, too.
"""

import socket
import struct

CONNECT_BYTES = 1024
CONTROL = 0xffff
PROVIDER_HEADER = struct.Struct('<BBHBBBBQ')
PROVIDER_VERSION = 3
MESSAGE, FETCH, FETCHED = 0, 2, 3
HELLO = bytes([PROVIDER_VERSION]) + bytes(23) + struct.pack('<Q', 1)
IMMEDIATE = 0x1000
VIRTIO_VERSION_1 = 1 << 32


def provider_header(kind, size):
    """In front of everything that travels; `size` with itself."""
    return PROVIDER_HEADER.pack(PROVIDER_VERSION, kind, IMMEDIATE, 0, 0, PROVIDER_HEADER.size, 0, size)


def descriptor(address, length, key):
    """A segment of this side's memory."""
    return struct.pack('<QII', address, length, key)


def request(command_id, out_length, in_length, descriptors=b''):
    """A vq command."""
    count = len(descriptors) // 16
    return struct.pack('<HHBBHII', 0xfff, command_id, count, 0, 0, out_length, in_length) + descriptors


def connect(instance, queue):
    """A Connect whose body is at 0x10000, behind key 77."""
    command = struct.pack('<HHHHIHH', 0, 1, instance, queue, CONNECT_BYTES, 0, 0)
    return command + descriptor(0x10000, CONNECT_BYTES, 77)


def connect_body(name, initiator=b'hostile', token=bytes(16)):
    """Names and token."""
    body = initiator.ljust(256, b'\0') + name.encode().ljust(256, b'\0') + token
    return body.ljust(CONNECT_BYTES, b'\0')


class Refused(Exception):
    """A Connect that was answered with a failure."""


class Queue:
    """One connection of the provider."""

    def __init__(self, host, port, timeout_s=60):
        self._socket = socket.create_connection((host, port), timeout=timeout_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._memory = {}
        self._messages = []
        self.on_fetch = lambda data: data  # what a fetch is answered with; None: not at all
        self._socket.sendall(HELLO)
        self._receive_exactly(len(HELLO))

    def expose(self, key, address, data):
        """What the target may fetch and store with `key`."""
        self._memory[key] = (address, bytearray(data))

    def memory(self, key):
        """What is there now."""
        return bytes(self._memory[key][1])

    def send(self, message):
        """Sends a command; does not wait."""
        self._socket.sendall(provider_header(MESSAGE, PROVIDER_HEADER.size + len(message)) + message)

    def receive(self):
        """The next message, and serves the target's accesses until it comes."""
        while not self._messages:
            self._step()
        return self._messages.pop(0)

    def command(self, message):
        """Sends a command and returns its answer."""
        self.send(message)
        return self.receive()

    def is_closed(self, within_s):
        """Whether the target has closed it, or does so soon."""
        self._socket.settimeout(within_s)
        try:
            while True:
                self._step()
        except EOFError:
            return True
        except TimeoutError:
            return False
        except ConnectionError:
            return True

    def close(self):
        """Without a word."""
        self._socket.close()

    def connect(self, name, instance, queue, token=bytes(16)):
        """Becomes a queue; the instance."""
        self.expose(77, 0x10000, connect_body(name, token=token))
        status, _, instance = struct.unpack_from('<HHH', self.command(connect(instance, queue)))
        if status != 0:
            raise Refused(hex(status))
        return instance

    def _receive_exactly(self, size):
        data = b''
        while len(data) < size:
            piece = self._socket.recv(size - len(data))
            if not piece:
                raise EOFError
            data += piece
        return data

    def _step(self):
        header = self._receive_exactly(PROVIDER_HEADER.size)
        _, kind, _, _, count, header_size, _, size = PROVIDER_HEADER.unpack(header)
        extra = self._receive_exactly(header_size - PROVIDER_HEADER.size)
        places = [struct.unpack_from('<QQQ', extra, len(extra) - 24 * (count - i))
                  for i in range(count if extra else 0)]
        if kind == FETCH:
            return self._answer_fetch(*places[0])
        data = self._receive_exactly(size - header_size)
        if kind == MESSAGE:
            return self._messages.append(data)
        for address, length, key in places:
            base, memory = self._memory[key]
            memory[address - base:address - base + length] = data[:length]
            data = data[length:]
        return None

    def _answer_fetch(self, address, length, key):
        base, memory = self._memory.get(key, (address, bytearray(length)))
        data = self.on_fetch(bytes(memory[address - base:address - base + length]))
        if data is not None:
            self._socket.sendall(provider_header(FETCHED, PROVIDER_HEADER.size + len(data)) + data)


class Session:
    """A control queue, and a virtqueue whose driver is ready."""

    def __init__(self, host, port, name, token=bytes(16)):
        self.control = Queue(host, port)
        self.instance = self.control.connect(name, CONTROL, 0, token)
        for status in (1, 3):
            self._set_status(status)
        self.control.command(struct.pack('<HHIQ', 0x1009, 4, 0, VIRTIO_VERSION_1))
        self._set_status(11)
        self.queue = Queue(host, port)
        self.queue.connect(name, self.instance, 0, token)
        self._set_status(15)

    def _set_status(self, status):
        self.control.command(struct.pack('<HHIQ', 0x1005, 3, status, 0))

    def write(self, command_id, sector, data):
        """A write of virtio-blk; its status on the wire and its own."""
        self.queue.expose(5, 0x100000, struct.pack('<IIQ', 1, 0, sector) + data)
        self.queue.expose(6, 0x900000, b'\xff')
        size = 16 + len(data)
        answer = self.queue.command(request(command_id, size, 1, descriptor(0x100000, size, 5)
                                            + descriptor(0x900000, 1, 6)))
        return struct.unpack_from('<H', answer)[0], self.queue.memory(6)[0]

    def read(self, command_id, sector, size):
        """What a read of virtio-blk brings."""
        self.queue.expose(5, 0x100000, struct.pack('<IIQ', 0, 0, sector))
        self.queue.expose(6, 0x900000, bytes(size + 1))
        self.queue.command(request(command_id, 16, size + 1, descriptor(0x100000, 16, 5)
                                   + descriptor(0x900000, size + 1, 6)))
        return self.queue.memory(6)[:size]

    def close(self):
        """Both, without a word."""
        self.queue.close()
        self.control.close()
