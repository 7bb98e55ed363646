#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seed inputs of the codec fuzz targets: testing/fuzz/make_codec_corpus.py

For the reference dialect they are the distinct short PDUs of the recordings; for the native one, whose
streams nobody else has recorded, one of each command and completion.
"""

import pathlib
import struct

HERE = pathlib.Path(__file__).resolve().parent
MAX_SEED_BYTES = 1100  # a Connect with its body is 1064

V5_BODIES = {
    "connect": (0x0000, struct.pack("<HHIHH", 0xFFFF, 0, 1024, 128, 0)),
    "connect_bare": (0x0000, struct.pack("<HHIHH", 3, 1, 0, 0, 0)),
    "disconnect": (0x0001, b""),
    "keepalive": (0x0002, struct.pack("<I", 5000)),
    "get_feature": (0x0004, struct.pack("<I", 0x101)),
    "set_feature": (0x0005, struct.pack("<IQ", 0, 1 << 32 | 1 << 35)),
    "get_keyed_num_descs": (0x0100, b""),
    "get_keyed_eager_buf": (0x0102, struct.pack("<HB", 1, 8)),
    "get_num_queues": (0x0200, b""),
    "vq_keyed_eager_buf": (0x0FFE, struct.pack("<III", 4096, 16, 513)),
    "vq": (0x0FFF, struct.pack("<III", 0, 16, 4097)),
    "get_vendor_id": (0x1000, b""),
    "reset_device": (0x1003, b""),
    "set_status": (0x1005, struct.pack("<I", 15)),
    "get_device_feature": (0x1006, struct.pack("<I", 0)),
    "set_driver_feature": (0x1009, struct.pack("<IQ", 0, 1 << 32)),
    "get_vq_size": (0x100A, struct.pack("<H", 2)),
    "get_config": (0x100C, struct.pack("<HB", 0, 8)),
    "set_config": (0x100D, struct.pack("<HBBQ", 32, 1, 0, 1)),
}
V5_COMPLETIONS = {
    "vq_completion": struct.pack("<HHHHII", 0, 7, 1, 0, 4097, 4097),
    "config_event": struct.pack("<HHIQ", 0, 0xFFFE, 3, 0),
    "credit_event": struct.pack("<HHHHQ", 0, 0xFFFD, 4, 0, 0),
    "refused": struct.pack("<HHIQ", 0x1001, 0, 0, 0),
    "connected": struct.pack("<HHHHQ", 0, 0, 5, 0, 0x1122334455667788),
}


def field(text):
    return text.encode().ljust(256, b"\0")


def v5_seeds():
    body = field("vqn.host-a") + field("disk/\u00e4") + bytes(range(1, 17)) + bytes(496)
    for name, (opcode, rest) in V5_BODIES.items():
        command = struct.pack("<HH", opcode, 7) + rest.ljust(12, b"\0")
        yield name, command + (body if name == "connect" else b"")
    yield from V5_COMPLETIONS.items()


def ref_seeds():
    seen = set()
    for path in sorted((HERE.parent / "golden").glob("ref_*_tcp_*.txt")):
        pdu = -1
        for line in path.read_text().splitlines():
            if line[:4] not in ("I>T ", "T>I "):
                continue
            pdu += 1
            data = bytes.fromhex(line[4:])
            if len(data) <= MAX_SEED_BYTES and data not in seen:
                seen.add(data)
                yield f"{path.stem}_{pdu}", data


def write(folder, seeds):
    target = HERE / "corpus" / folder
    target.mkdir(parents=True, exist_ok=True)
    for name, data in seeds:
        (target / name).write_bytes(data)


if __name__ == "__main__":
    write("codec_v5", v5_seeds())
    write("codec_ref", ref_seeds())
