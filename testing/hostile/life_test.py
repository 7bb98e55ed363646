# SPDX-License-Identifier: Apache-2.0
"""Peers that come, go and die by the thousand, and a target that is told to stop meanwhile.

VOF_KILL_CYCLES and VOF_CONNECT_CYCLES say how often (1000 and 10000 by default).
"""

import os
import resource
import signal
import struct
import sys
import threading
import time
import unittest
import urllib.parse

from testing.hostile import wire
from tools.vof_target.target_process import TargetProcess

PROGRAM = os.path.abspath(sys.argv[1])
IGNORE_RESIDENT_SIZE = '--ignore-resident-size' in sys.argv
# Sanitizers are slow, and on a busy machine more so.
PATIENCE = 4 if IGNORE_RESIDENT_SIZE else 1
KILL_CYCLES = int(os.environ.get('VOF_KILL_CYCLES', '1000')) // (PATIENCE * 2 - 1)
CONNECT_CYCLES = int(os.environ.get('VOF_CONNECT_CYCLES', '10000')) // (PATIENCE * 2 - 1)
RESIDENT_SLACK_KIB = 24 << 10
SETTLE_S = 10
KIB, MIB = 1 << 10, 1 << 20
DISCONNECT = 1


class LifeTestCase(unittest.TestCase):
    """A target with a shared memory disk."""

    def start(self, *arguments, disk='name=mem0,store=memory,size=16M,shared'):
        self.target = TargetProcess(PROGRAM, [
            '--listen', 'tcp://127.0.0.1:0', '--blk', disk, *arguments])
        self.addCleanup(self.target.stop)
        url = urllib.parse.urlsplit(self.target.uris[0])
        self.address = (url.hostname, url.port)

    def open_session(self):
        control, queue = wire.open_session(self.address, 'mem0')
        self.addCleanup(control.close)
        self.addCleanup(queue.close)
        return control, queue

    def count_descriptors(self):
        return len(os.listdir(f'/proc/{self.target.pid}/fd'))

    def read_resident_kib(self):
        with open(f'/proc/{self.target.pid}/status', encoding='ascii') as status:
            return next(int(line.split()[1]) for line in status if line.startswith('VmRSS'))

    def wait_for_descriptors(self, most):
        deadline = time.monotonic() + SETTLE_S * PATIENCE
        while self.count_descriptors() > most and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertLessEqual(self.count_descriptors(), most)


def write_request(queue, sector, data):
    """A write command with its bytes."""
    out = wire.block_header(wire.WRITE, sector) + data
    return wire.v5_vq(queue.next_id(), len(out), 1) + out


def read_request(queue, sector, size):
    """A read command."""
    return wire.v5_vq(queue.next_id(), 16, size + 1) + wire.block_header(wire.READ, sector)


class StopTest(LifeTestCase):
    """SIGTERM, whoever is connected."""

    def stop(self, limit_s):
        begin = time.monotonic()
        self.target.signal(signal.SIGTERM)
        status = self.target.wait(60)
        self.assertEqual(status, 0, self.target.log)
        elapsed_s = time.monotonic() - begin
        self.assertLess(elapsed_s, limit_s * PATIENCE, self.target.log)

    def test_idle_sessions_do_not_delay_it(self):
        self.start()
        for _ in range(4):
            self.open_session()  # their sockets stay open: nobody reacts to the end
        self.stop(limit_s=1)
        self.assertIn('drained', self.target.log)

    def test_half_open_clients_and_requests_in_flight(self):  # field failure 6
        self.start('--drain-timeout', '20s', '--max-connections', '400')
        peers = []
        for i in range(100):
            peer = wire.Peer(self.address)
            self.addCleanup(peer.close)
            peer.send((wire.v5_connect() + wire.connect_body())[:[0, 7, 16, 1039][i % 4]])
            peers.append(peer)
        sessions = [self.open_session() for _ in range(4)]
        requests = [[] for _ in sessions]
        for (_, queue), sent in zip(sessions, requests):
            for i in range(50):
                sent.append(write_request(queue, i * 8, bytes([i]) * 4096))
            queue.send(b''.join(sent))
        waiter = threading.Thread(target=self.target.signal, args=(signal.SIGTERM,))
        waiter.start()
        for _, queue in sessions:
            ids = set()
            for _ in range(50):
                header = queue.receive(wire.HEADER_BYTES)
                status, command_id, _, _, length, _ = struct.unpack('<HHHHII', header)
                self.assertEqual((status, queue.receive(length)), (0, b'\0'))
                ids.add(command_id)
            self.assertEqual(len(ids), 50)
            self.assertTrue(queue.is_closed())
        waiter.join()
        self.assertEqual(self.target.wait(60), 0, self.target.log)
        self.assertIn('drained', self.target.log)

    def test_whoever_keeps_sending_gets_answers_until_the_end(self):
        self.start('--drain-timeout', '20s')
        _, queue = self.open_session()
        answered = threading.Event()
        wrong = []

        def hammer():
            try:
                while True:
                    if queue.block(wire.READ, 0, in_bytes=4096) != (wire.OK, bytes(4096)):
                        wrong.append('an answer is wrong')
                    answered.set()
            except wire.Closed:
                pass
            except Exception as error:  # pylint: disable=broad-except
                wrong.append(repr(error))

        worker = threading.Thread(target=hammer)
        worker.start()
        self.assertTrue(answered.wait(30))
        self.stop(limit_s=3)
        worker.join(30)
        self.assertFalse(worker.is_alive(), 'a request was lost in silence')
        self.assertEqual(wrong, [])

    def test_only_stalled_peers_are_cut_off(self):
        # Their halves of payloads hold all the memory that there is, so the last one has to wait.
        self.start('--drain-timeout', '4s', '--pool-size', '16M')
        for _ in range(4):
            _, queue = self.open_session()
            queue.send(write_request(queue, 0, bytes(4 * MIB))[:MIB])
        time.sleep(0.5)
        _, good = self.open_session()
        good.socket.settimeout(30)
        sender = threading.Thread(target=good.send, args=(write_request(good, 0, b'good' * MIB),))
        sender.start()
        time.sleep(0.5)
        begin = time.monotonic()
        self.target.signal(signal.SIGTERM)
        answer = good.receive(wire.HEADER_BYTES + 1)
        self.assertEqual((answer[:2], answer[-1:]), (b'\0\0', b'\0'))
        sender.join()
        self.assertTrue(good.is_closed())
        self.assertEqual(self.target.wait(60), 0, self.target.log)
        self.assertLess(time.monotonic() - begin, 4 * PATIENCE)
        self.assertIn('stopped sending a payload', self.target.log)


class KillTest(LifeTestCase):
    """Field failure 19: the peer dies in each state of a request, with others in flight."""

    def setUp(self):
        self.start()
        self.control, self.queue = self.open_session()
        self.assertEqual(self.queue.block(wire.WRITE, 30000, b'w' * 4096)[0], wire.OK)

    @staticmethod
    def states():
        """What a peer has sent when it dies, behind eight requests in flight."""
        big = bytes(64 * KIB)
        return {
            'idle': lambda queue: b'',
            'half a command': lambda queue: read_request(queue, 0, 512)[:9],
            'a command without its header bytes': lambda queue: write_request(queue, 0, b'')[:20],
            'half a payload': lambda queue: write_request(queue, 0, big)[:20000],
            'a whole request': lambda queue: write_request(queue, 0, big),
            'answers that nobody reads': lambda queue: b''.join(
                read_request(queue, 0, 256 * KIB) for _ in range(16)),
            'a flush': lambda queue: wire.v5_vq(queue.next_id(), 16, 1) +
                       wire.block_header(wire.FLUSH, 0),
            'a disconnect': lambda queue: wire.v5_command(DISCONNECT, queue.next_id()),
        }

    def check_witness(self, cycle):
        self.assertEqual(self.queue.block(wire.READ, 30000, in_bytes=4096), (wire.OK, b'w' * 4096),
                         f'after cycle {cycle}')
        self.assertEqual(self.control.call(2)[0], 0)

    def test_killed_in_each_state(self):
        states = list(self.states().values())
        descriptors = self.count_descriptors()
        resident_kib = 0
        for cycle in range(KILL_CYCLES):
            control, queue = wire.open_session(self.address, 'mem0')
            queue.send(b''.join(write_request(queue, i * 8, bytes(4096)) for i in range(8)))
            queue.send(states[cycle % len(states)](queue))
            ends = [control, queue] if cycle // len(states) % 2 == 0 else [queue, control]
            for end in ends:
                end.reset() if cycle // len(states) % 3 else end.close()
            if cycle % 50 == 0:
                self.check_witness(cycle)
            if cycle == KILL_CYCLES // 4:
                resident_kib = self.read_resident_kib()
        self.check_witness(KILL_CYCLES)
        self.wait_for_descriptors(descriptors)
        if not IGNORE_RESIDENT_SIZE:
            self.assertLess(self.read_resident_kib(), resident_kib + RESIDENT_SLACK_KIB)
        self.check_witness(KILL_CYCLES)


class ConnectTest(LifeTestCase):
    """Field failure 20: nothing grows with the number of sessions that there were."""

    def test_connect_and_disconnect(self):
        # A session or connection that stays behind uses up these limits before long.
        self.start('--max-sessions', '8', '--max-connections', '32')
        self.open_session()
        descriptors = self.count_descriptors()
        resident_kib = 0
        for cycle in range(CONNECT_CYCLES):
            if cycle % 20 == 0:
                control, queue = wire.open_session(self.address, 'mem0')
                self.assertEqual(queue.block(wire.READ, 0, in_bytes=512)[0], wire.OK)
                queue.close()
            else:
                control = wire.V5Peer(self.address)
                self.assertEqual(control.connect(body=wire.connect_body(token=os.urandom(16)))[0], 0)
            self.assertEqual(control.call(DISCONNECT)[0], 0)
            control.close()
            if cycle == CONNECT_CYCLES // 4:
                resident_kib = self.read_resident_kib()
        self.wait_for_descriptors(descriptors)
        if not IGNORE_RESIDENT_SIZE:
            self.assertLess(self.read_resident_kib(), resident_kib + RESIDENT_SLACK_KIB // 4)
        self.assertEqual(self.target.stop(), 0)
        self.assertIn(f'{CONNECT_CYCLES} disconnected', self.target.log)


class MemoryTest(LifeTestCase):
    """What many connections needed goes back to the system when they have ended."""

    SESSIONS, QUEUES = 8, 256
    RETURN_S = 30

    @classmethod
    def setUpClass(cls):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        needed = cls.SESSIONS * (cls.QUEUES + 1) + 100
        if hard != resource.RLIM_INFINITY and hard < needed:
            raise unittest.SkipTest(f'needs {needed} descriptors')
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, needed), hard))
        cls.addClassCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))

    def open_wide_session(self):
        control, queue = self.open_session()
        body = wire.connect_body(target='mem0', token=control.token)
        queues = [queue]
        for index in range(1, self.QUEUES):
            queues.append(wire.V5Peer(self.address))
            self.assertEqual(queues[-1].connect(control.instance, index, body)[0], 0)
        return [control, *queues]

    def wait_for_resident_kib(self, most):
        deadline = time.monotonic() + self.RETURN_S
        while self.read_resident_kib() > most and time.monotonic() < deadline:
            time.sleep(0.2)
        self.assertLess(self.read_resident_kib(), most)

    @unittest.skipIf(IGNORE_RESIDENT_SIZE, 'sanitizers keep freed memory')
    def test_ended_sessions_leave_nothing(self):
        self.start(disk='name=mem0,store=memory,size=16M,shared,queues=256')
        before_kib = self.read_resident_kib()
        peers = [peer for _ in range(self.SESSIONS) for peer in self.open_wide_session()]
        peak_kib = self.read_resident_kib()
        self.assertGreater(peak_kib, before_kib + RESIDENT_SLACK_KIB, 'there is nothing to see')
        for peer in peers:
            peer.close()
        self.wait_for_resident_kib(before_kib + RESIDENT_SLACK_KIB // 2)

    @unittest.skipIf(IGNORE_RESIDENT_SIZE, 'sanitizers keep freed memory')
    def test_payloads_leave_nothing(self):
        self.start('--pool-size', '128M')
        before_kib = self.read_resident_kib()
        peers = []
        for _ in range(6):  # each holds 8 MiB of the pool: half of a payload arrived
            control, queue = self.open_session()
            queue.send(write_request(queue, 0, bytes(4 * MIB))[:4 * MIB])
            peers += [control, queue]
        time.sleep(1)
        self.assertGreater(self.read_resident_kib(), before_kib + 20 * KIB, 'nothing to see')
        for peer in peers:
            peer.close()
        self.wait_for_resident_kib(before_kib + 14 * KIB)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
