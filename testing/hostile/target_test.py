# SPDX-License-Identifier: Apache-2.0
"""Raw bytes against a running target: it stays, others go on, and nothing is left behind."""

import os
import resource
import socket
import struct
import sys
import time
import unittest
import urllib.parse

from testing.hostile import wire
from tools.vof_target.target_process import TargetProcess

PROGRAM = os.path.abspath(sys.argv[1])
ROUNDS = int(os.environ.get('VOF_HOSTILE_ROUNDS', '1000'))
SETTLE_S = 5
IGNORE_RESIDENT_SIZE = '--ignore-resident-size' in sys.argv
# What the allocator may keep of a peak; a leak of the rounds below would be larger.
RESIDENT_SLACK_KIB = 24 << 10
HUGE = 0xffffffff


class HostileTargetTest(unittest.TestCase):
    def setUp(self):
        self.target = TargetProcess(PROGRAM, [
            '--listen', 'tcp://127.0.0.1:0', '--blk', 'name=mem0,store=memory,size=16M,shared'])
        self.addCleanup(self.target.stop)
        url = urllib.parse.urlsplit(self.target.uris[0])
        self.address = (url.hostname, url.port)
        self.control, self.queue = wire.open_session(self.address, 'mem0')
        self.addCleanup(self.control.close)
        self.addCleanup(self.queue.close)
        self.assertEqual(self.queue.block(wire.WRITE, 100, b'witness!' * 64), (wire.OK, b''))
        self.descriptors = self.count_descriptors()
        self.resident_kib = self.read_resident_kib()

    def count_descriptors(self):
        return len(os.listdir(f'/proc/{self.target.pid}/fd'))

    def read_resident_kib(self):
        with open(f'/proc/{self.target.pid}/status', encoding='ascii') as status:
            return next(int(line.split()[1]) for line in status if line.startswith('VmRSS'))

    def check_resident(self, limit_kib):
        if not IGNORE_RESIDENT_SIZE:
            self.assertLess(self.read_resident_kib(), limit_kib)

    def check_standing(self):
        """Alive, the other session works, descriptors and memory are back."""
        self.assertEqual(self.queue.block(wire.READ, 100, in_bytes=512),
                         (wire.OK, b'witness!' * 64))
        self.assertEqual(self.control.call(2)[0], 0)
        deadline = time.monotonic() + SETTLE_S
        while self.count_descriptors() > self.descriptors and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertLessEqual(self.count_descriptors(), self.descriptors)
        self.check_resident(self.resident_kib + RESIDENT_SLACK_KIB)

    def expect_closed(self, data, what):
        peer = wire.Peer(self.address)
        try:
            peer.send(data)
        except wire.Closed:
            pass
        self.assertTrue(peer.is_closed(), what)
        peer.close()

    def test_opens_that_lead_nowhere(self):  # field failure 1
        for _ in range(ROUNDS):
            for how in ('close', 'reset', 'seven'):
                peer = wire.Peer(self.address)
                if how == 'seven':
                    peer.send(bytes(7))
                if how == 'reset':
                    peer.reset()
                else:
                    peer.close()
        self.check_standing()

    def test_every_cut_of_a_connect(self):
        for connect in (wire.v5_connect(), wire.ref_connect()):
            full = connect + wire.connect_body()
            for cut in list(range(1, 48)) + [500, len(full) - 1]:
                peer = wire.Peer(self.address)
                peer.send(full[:cut])
                peer.socket.shutdown(socket.SHUT_WR)
                self.assertTrue(peer.is_closed(), f'{cut} bytes')
                peer.close()
        self.check_standing()

    def test_what_is_no_connect(self):  # field failure 2
        for opcode in (1, 2, 4, 0x102, 0x200, 0xfff, 0x1000, 0x2000, 0xffff):
            self.expect_closed(wire.v5_command(opcode, 1), hex(opcode))
        for length in (2, 1023, 1025, 1 << 31, HUGE):
            self.expect_closed(wire.v5_connect(length=length) + wire.connect_body(), hex(length))
        self.expect_closed(wire.ref_connect(length=HUGE) + wire.connect_body(), 'ref length')
        self.check_standing()

    def test_names_that_are_none(self):  # field failure 3
        bodies = (wire.name_field(b'a' * 256) + wire.name_field('mem0') + bytes(512),
                  wire.name_field('a') + wire.name_field(b'm' * 256) + bytes(512))
        for body in bodies:
            for connect in (wire.v5_connect(), wire.ref_connect()):
                self.expect_closed(connect + body, 'a name without NUL')
        self.check_standing()

    def test_a_second_connect(self):
        peer = wire.V5Peer(self.address)
        self.assertEqual(peer.connect()[0], 0)
        peer.send(wire.v5_connect() + wire.connect_body())
        self.assertTrue(peer.is_closed())
        peer.close()
        self.check_standing()

    def test_lengths_of_requests(self):  # field failures 3 and 4
        for out, into in ((HUGE, 1), (16, HUGE), (HUGE, HUGE), (1 << 31, 1 << 31),
                          ((4 << 20) + 4097, 1), (16, (4 << 20) + 4097)):
            control, queue = wire.open_session(self.address, 'mem0')
            before_kib = self.read_resident_kib()
            queue.send(wire.v5_vq(7, out, into) + bytes(64))
            answer = queue.receive(wire.HEADER_BYTES)
            self.assertIn(struct.unpack('<H', answer[:2])[0], (0x20f0, 0x20f1))
            self.assertTrue(queue.is_closed())
            self.check_resident(before_kib + 1024)
            self.assertEqual(control.call(2)[0], 0)
            queue.close()
            control.close()
        self.check_standing()

    def test_reserved_ids(self):
        for command_id in (0xff00, 0xfffd, 0xffff):
            control, queue = wire.open_session(self.address, 'mem0')
            queue.send(wire.v5_vq(command_id, 16, 1) + wire.block_header(wire.FLUSH, 0))
            self.assertTrue(queue.is_closed(), hex(command_id))
            self.assertEqual(control.call(2)[0], 0)
            queue.close()
            control.close()
        self.check_standing()

    def test_ref_descriptors(self):
        out = wire.ref_segment(16)
        status = wire.ref_segment(1, writable=True)
        cases = {
            'none': wire.ref_vring(1, 0),
            'too many': wire.ref_vring(1, 0xffff) + out * 64,
            'zero length': wire.ref_vring(1, 2) + wire.ref_segment(0) + status,
            'order': wire.ref_vring(1, 2) + status + out,
            'sum wraps': wire.ref_vring(1, 3) + wire.ref_segment(HUGE) * 2 + status,
        }
        for what, request in cases.items():
            control = wire.Peer(self.address)
            control.send(wire.ref_connect() + wire.connect_body())
            instance = struct.unpack('<H', control.receive(wire.HEADER_BYTES)[8:10])[0]
            queue = wire.Peer(self.address)
            queue.send(wire.ref_connect(instance=instance) + wire.connect_body())
            self.assertEqual(queue.receive(wire.HEADER_BYTES)[:2], b'\0\0')
            queue.send(request)
            self.assertTrue(queue.is_closed(), what)
            queue.close()
            control.close()
        self.check_standing()

    def test_a_strangers_virtqueue(self):  # field failure 22
        for token in (bytes(16), b'\x01' * 16):
            peer = wire.V5Peer(self.address)
            body = wire.connect_body(token=token)
            status, _ = peer.connect(self.control.instance, 1, body)
            self.assertNotEqual(status, 0)
            peer.close()
        self.expect_closed(bytes(16), 'a run of zeros')
        self.check_standing()

    def test_clients_that_never_read(self):
        peers = []
        for _ in range(8):
            control, queue = wire.open_session(self.address, 'mem0')
            request = wire.v5_vq(1, 16, (1 << 20) + 1) + wire.block_header(wire.READ, 0)
            queue.socket.settimeout(0.5)
            try:
                for n in range(64):
                    queue.send(struct.pack('<HH', 0x0fff, n) + request[4:])
            except (wire.Closed, TimeoutError):
                pass
            peers += [control, queue]
        self.assertEqual(self.queue.block(wire.READ, 100, in_bytes=512)[0], wire.OK)
        for peer in peers:
            peer.reset()
        self.check_standing()


if __name__ == '__main__':
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit[1], limit[1]))
    unittest.main(argv=sys.argv[:1])
