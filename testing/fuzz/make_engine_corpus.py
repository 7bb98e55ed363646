#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seed inputs of the engine fuzz targets: testing/fuzz/make_engine_corpus.py

Each is a list of events (engine_script.h). For the reference dialect they carry the recorded
streams, with the name of the fuzzers' disk in them; for the native one, sessions made here.
"""

import pathlib
import struct

HERE = pathlib.Path(__file__).resolve().parent
GOLDEN = HERE.parent / "golden"
MAX_BYTES = 4096

# Events of both worlds.
TIME, ROOM, CLOSE = 1, 2, 3
# Of the target's.
RESIZE, DRAIN, TAKE_MEMORY, GIVE_MEMORY, SEND = 4, 5, 6, 7, 8
# Of the initiator's.
ANSWER, FEED, RESET, WRITE_CONFIG, PING, SUBMIT, LEAVE = 4, 7, 10, 11, 12, 13, 15
# The first byte.
SESSION, SMALL_SCRATCH, TINY_SHARE, LOW_LIMITS = 1, 4, 8, 16
VIRTQUEUE, LARGE_SCRATCH, CREDITS = 1, 2, 4


def event(code, data=b"", lane=0):
    return struct.pack("<BH", code | lane << 4, len(data)) + data


def number(code, value, lane=0):
    return event(code, struct.pack("<Q", value), lane)


def pieces(data, size, lane=0):
    return b"".join(
        event(SEND, data[i : i + size], lane) for i in range(0, len(data), size))


def blk(kind, sector, data=b""):
    return struct.pack("<IIQ", kind, 0, sector) + data


# --- Native dialect ---
def v5(opcode, command_id, rest=b""):
    return struct.pack("<HH", opcode, command_id) + rest.ljust(12, b"\0")


def v5_connect(instance, index=0):
    body = b"host".ljust(256, b"\0") + b"disk".ljust(256, b"\0") + bytes(512)
    return v5(0, 0, struct.pack("<HHIH", instance, index, 1024, 0)) + body


def v5_vq(command_id, out, in_bytes):
    return v5(0x0FFF, command_id, struct.pack("<III", 0, len(out), in_bytes)) + out


def v5_control():
    yield v5(0x0004, 1, struct.pack("<I", 0))
    yield v5(0x0005, 2, struct.pack("<IQ", 0, 1 << 32 | 1 << 35))
    yield v5(0x0200, 3)
    yield v5(0x1000, 4)
    yield v5(0x1001, 5)
    yield v5(0x1006, 6, struct.pack("<I", 0))
    yield v5(0x1009, 7, struct.pack("<IQ", 0, 1 << 32 | 1 << 9))
    for i, status in enumerate((1, 3, 11)):
        yield v5(0x1005, 8 + i, struct.pack("<I", status))
    yield v5(0x100A, 11, struct.pack("<H", 0))
    yield v5(0x1005, 12, struct.pack("<I", 15))
    yield v5(0x100C, 13, struct.pack("<HB", 0, 8))
    yield v5(0x100D, 14, struct.pack("<HBBQ", 32, 1, 0, 1))


def v5_requests():
    yield v5_vq(1, blk(0, 3), 513)
    yield v5_vq(2, blk(1, 3, bytes(range(256)) * 2), 1)
    yield v5_vq(3, blk(4, 0), 1)
    yield v5_vq(4, blk(8, 0), 21)
    yield v5_vq(5, blk(11, 0, struct.pack("<QII", 8, 8, 0)), 1)


def v5_target_seeds():
    control = b"".join(v5_control())
    requests = b"".join(v5_requests())
    yield "opening", b"\0" + event(SEND, v5_connect(0xFFFF) + control) + event(
        SEND, v5_connect(0) + requests, lane=1)
    yield "requests", bytes([SESSION]) + event(SEND, requests, lane=1)
    yield "requests_cut", bytes([SESSION | SMALL_SCRATCH | TINY_SHARE]) + pieces(requests, 7, lane=1)
    yield "no_room", bytes([SESSION]) + number(ROOM, 5, 1) + event(SEND, requests, 1) + number(
        ROOM, 600, 1) + number(ROOM, 1 << 20, 1)
    yield "no_memory", bytes([SESSION]) + number(TAKE_MEMORY, 0) + event(
        SEND, requests, 1) + event(GIVE_MEMORY) + event(SEND, v5_vq(9, blk(0, 0), 4097), 1)
    yield "reset", bytes([SESSION]) + event(SEND, requests[:600], 1) + event(
        SEND, v5(0x1003, 20)) + event(SEND, requests[600:], 1) + event(SEND, control)
    yield "limits", bytes([SESSION | LOW_LIMITS]) + event(SEND, v5_vq(1, blk(0, 0), 4097), 1)
    yield "ends", bytes([SESSION]) + number(RESIZE, 9) + event(SEND, v5(0x0001, 9), 1) + event(
        SEND, v5(0x0002, 5, struct.pack("<I", 100))) + number(TIME, 10**9) + event(CLOSE)
    yield "drain", bytes([SESSION]) + event(SEND, requests[:40], 1) + event(DRAIN, lane=1) + event(
        DRAIN)


# --- Reference dialect ---
def recorded(file_name, direction):
    data = b""
    for line in (GOLDEN / file_name).read_text().splitlines():
        if line.startswith(direction):
            data += bytes.fromhex(line[4:])
    return data


def for_our_disk(stream):
    at = 16 + 24 + 256
    return stream[:at] + b"disk".ljust(256, b"\0") + stream[at + 256 :]


def ref_descriptor(length, descriptor_id, writable):
    return struct.pack("<QIHHIxxxx", 0, length, descriptor_id, 2 if writable else 0, 0)


def ref_vring(command_id, out, in_parts):
    segments = ref_descriptor(len(out), 0, False)
    for i, part in enumerate(in_parts):
        segments += ref_descriptor(part, 1 + i, True)
    head = struct.pack("<HHIHxxxxxx", 0x2000, command_id, len(segments), 1 + len(in_parts))
    return head + segments + out


def ref_target_seeds():
    for name in ("ref_linux_tcp_control", "ref_userspace_tcp_control"):
        yield name, b"\0" + event(SEND, for_our_disk(recorded(name + ".txt", "I>T"))[: MAX_BYTES - 4])
    control = for_our_disk(recorded("ref_linux_tcp_control.txt", "I>T"))
    queue = for_our_disk(recorded("ref_linux_tcp_virtqueue.txt", "I>T"))
    yield "session", b"\0" + event(SEND, control[:1400]) + event(SEND, queue[:1600], lane=1)
    yield "queue", bytes([SESSION]) + event(SEND, queue[1064 : 1064 + 2000], lane=1)
    requests = ref_vring(1, blk(0, 3), [512, 1]) + ref_vring(
        2, blk(1, 3, bytes(512)), [1]) + ref_vring(3, blk(8, 0), [20, 1])
    yield "requests", bytes([SESSION]) + event(SEND, requests, lane=1)
    yield "requests_cut", bytes([SESSION | SMALL_SCRATCH | TINY_SHARE]) + pieces(requests, 9, lane=1)
    yield "no_room", bytes([SESSION]) + number(ROOM, 30, 1) + event(SEND, requests, 1) + number(
        ROOM, 1 << 20, 1)
    yield "no_memory", bytes([SESSION]) + number(TAKE_MEMORY, 0) + event(SEND, requests, 1) + event(
        GIVE_MEMORY)


# --- Initiators ---
def bring_up(is_v5):
    """Answers that make a session ready, as far as values matter."""
    offer = 1 << 32 | 1 << 35
    features = 1 << 32 | 1 << 9
    if is_v5:  # connect, features, set, sizes, vendor, device, 2 status, features, set, ok, check
        values = [0, offer, 0, 8192 << 32 | 8192, 0x00464F56, 2, 0, 0, features, 0, 0, 11, 2, 8, 8,
                  0, 15]
    else:
        values = [0, 2, 0x00464F56, 2, 1100, 0, 0, 0, 1, 0, features, 0, 0, 11, 8, 8, 11, 0, 15]
    return b"".join(number(ANSWER, value) for value in values)


def initiator_seeds(is_v5, recording):
    ready = b"\2" + bring_up(is_v5)
    yield "bring_up", ready
    yield "operations", ready + event(PING) + number(ANSWER, 0) + event(RESET) + number(
        ANSWER, 0) * 12 + event(WRITE_CONFIG, b"\1") + number(ANSWER, 1) + event(LEAVE)
    yield "times", ready + number(TIME, 10**9) * 4
    if is_v5:
        yield "event", ready + event(FEED, struct.pack("<HHIQ", 0, 0xFFFE, 3, 0)) + number(
            ANSWER, 7) * 3
    queue = bytes([VIRTQUEUE | CREDITS]) + number(ANSWER, 0)
    submits = number(SUBMIT, 0) + number(SUBMIT, 512 | 20000 << 16 | 3 << 32) + number(SUBMIT, 8999)
    yield "requests", queue + submits + number(ANSWER, 1) * 3
    yield "requests_slow", queue + number(ROOM, 9) + submits + number(ANSWER, 1) + number(
        ROOM, 1 << 20) + number(ANSWER, 1) * 2 + event(LEAVE)
    yield "late", queue + submits + number(TIME, 2 * 10**9)
    yield "lost", queue + submits + number(ANSWER, 1) + event(CLOSE)
    if is_v5:
        yield "grant", queue + event(FEED, struct.pack("<HHHHQ", 0, 0xFFFD, 4, 0, 0)) + submits
    for name in recording:
        data = recorded(name + ".txt", "T>I")[: MAX_BYTES - 64]
        yield name, bytes([3 if "virtqueue" in name else 2]) + event(FEED, data)


# --- Keyed transmission ---
KEEP_RECEIVES, RENEW_KEY, IMMEDIATE, MEMORY, REACH = 2, 9, 10, 11, 12
LATE_EFFECTS, LATE_EVENTS, INLINE, REFUSED_POSTS = 2, 4, 32, 64
OFTEN_REFUSED, ACCESS, SUBMIT_SHOWN = 16, 6, 14
KEY = b"KKKK"  # stands for the key of the memory that is shown


def shown(length, at=0, ref_flags=None, ref_id=0):
    if ref_flags is None:
        return struct.pack("<QI", at, length) + KEY
    return struct.pack("<QIHH", at, length, ref_id, ref_flags) + KEY + bytes(4)


def keyed_body():
    return b"host".ljust(256, b"\0") + b"disk".ljust(256, b"\0") + bytes(512)


def v5_keyed_vq(command_id, out, in_bytes):
    return v5(0x0FFF, command_id, struct.pack("<III", 0, out, in_bytes)) + shown(out + in_bytes, 2048)


def v5_keyed_target_seeds():
    connect = v5(0, 0, struct.pack("<HHIH", 0xFFFF, 0, 1024, 1)) + shown(1024)
    read, write_one = v5_keyed_vq(1, 16, 4097), v5_keyed_vq(2, 528, 1)
    requests = event(MEMORY, bytes(2048) + blk(0, 3)) + event(SEND, read, 1) + event(
        MEMORY, bytes(2048) + blk(1, 3, bytes(512))) + event(SEND, write_one, 1)
    packed = struct.pack("<HHBBHII", 0x0FFF, 3, 0, 0, 16, 16, 513) + blk(0, 1)
    inline = event(SEND, packed, 1)
    yield "opening", b"\0" + event(MEMORY, keyed_body()) + event(SEND, connect) + b"".join(
        event(SEND, command) for command in v5_control())
    yield "requests", bytes([SESSION]) + requests * 3
    yield "requests_late", bytes([SESSION | LATE_EFFECTS | LATE_EVENTS | REFUSED_POSTS]) + requests * 3
    yield "inline", bytes([SESSION | INLINE]) + inline * 2 + number(KEEP_RECEIVES, 1, 1) + inline
    yield "no_memory", bytes([SESSION | TINY_SHARE]) + number(TAKE_MEMORY, 0) + requests + event(
        GIVE_MEMORY)
    yield "ended_key", bytes([SESSION | LATE_EFFECTS]) + event(SEND, read, 1) + event(RENEW_KEY)
    yield "immediate", bytes([SESSION]) + number(IMMEDIATE, 7, 1) + event(DRAIN) + number(REACH, 64, 1)
    yield "reset", bytes([SESSION]) + requests + event(SEND, v5(0x1003, 20)) + requests + number(
        TIME, 10**9) + event(CLOSE)


def ref_keyed_target_seeds():
    head = struct.pack("<HHIHxxxxxx", 0x2000, 1, 72, 3)
    read = head + shown(16, 2048, 0) + shown(512, 4096, 2, 1) + shown(1, 8000, 2, 2)
    requests = event(MEMORY, bytes(2048) + blk(0, 3)) + event(SEND, read, 1)
    yield "requests", bytes([SESSION]) + requests * 2
    yield "requests_late", bytes([SESSION | LATE_EFFECTS | LATE_EVENTS]) + requests * 3
    yield "no_memory", bytes([SESSION]) + number(TAKE_MEMORY, 0) + requests + event(GIVE_MEMORY)
    yield "ended_key", bytes([SESSION]) + event(RENEW_KEY) + requests


def keyed_initiator_seeds(is_v5):
    ready = b"\2" + bring_up(is_v5)
    yield "bring_up", ready
    yield "operations", ready + event(RESET) + number(ANSWER, 0) * 12 + event(LEAVE)
    queue = bytes([VIRTQUEUE | CREDITS | (INLINE if is_v5 else 0)]) + number(ANSWER, 0)
    submits = number(SUBMIT, 0) + number(SUBMIT_SHOWN, 512 | 20000 << 16 | 3 << 32) + number(SUBMIT, 8999)
    yield "requests", queue + submits + number(ANSWER, 1) * 3
    yield "accesses", queue + submits + number(ACCESS, 0) + number(ACCESS, 1, 1) + number(ANSWER, 9) * 3
    yield "refused", bytes([VIRTQUEUE | OFTEN_REFUSED]) + number(ANSWER, 0) + submits * 4 + number(
        ANSWER, 4) * 4 + event(LEAVE)
    yield "late", queue + submits + number(TIME, 2 * 10**9)
    yield "lost", queue + submits + number(ANSWER, 1) + event(CLOSE)


def write(folder, seeds):
    target = HERE / "corpus" / folder
    target.mkdir(parents=True, exist_ok=True)
    for name, data in seeds:
        (target / name).write_bytes(data[:MAX_BYTES])


if __name__ == "__main__":
    write("engine_target_v5", v5_target_seeds())
    write("engine_target_ref", ref_target_seeds())
    write("engine_target_keyed_v5", v5_keyed_target_seeds())
    write("engine_target_keyed_ref", ref_keyed_target_seeds())
    write("engine_initiator_keyed_v5", keyed_initiator_seeds(True))
    write("engine_initiator_keyed_ref", keyed_initiator_seeds(False))
    write("engine_initiator_v5", initiator_seeds(True, []))
    write("engine_initiator_ref", initiator_seeds(
        False, ["ref_linux_tcp_control", "ref_linux_tcp_virtqueue", "ref_userspace_tcp_control"]))
