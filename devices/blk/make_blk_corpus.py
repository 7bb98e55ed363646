#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seed inputs of the block fuzz targets: devices/blk/make_blk_corpus.py"""

import pathlib
import struct

HERE = pathlib.Path(__file__).resolve().parent
IN, OUT, FLUSH, GET_ID, DISCARD, WRITE_ZEROES = 0, 1, 4, 8, 11, 13
ALLOW_ALL = 0b1110
READ_ONLY = 1
ALIGNED = 16


def request(kind, sector=0, data=b""):
    return struct.pack("<IIQ", kind, 0, sector) + data


def segments(*fields):
    return b"".join(struct.pack("<QII", *f) for f in fields)


REQUESTS = {
    "read": (request(IN, 8), 4097),
    "read_nothing": (request(IN, 64), 1),
    "read_last": (request(IN, 63), 513),
    "read_past_end": (request(IN, 63), 1025),
    "read_wraps": (request(IN, 2**64 - 1), 1025),
    "read_odd": (request(IN, 0), 100),
    "no_status": (request(IN, 0), 0),
    "write": (request(OUT, 8, bytes(range(256)) * 4), 1),
    "write_past_end": (request(OUT, 2**55, bytes(512)), 1),
    "write_odd": (request(OUT, 0, bytes(511)), 1),
    "flush": (request(FLUSH), 1),
    "get_id": (request(GET_ID), 21),
    "get_id_short": (request(GET_ID), 3),
    "discard": (request(DISCARD, 0, segments((0, 8, 0), (56, 8, 0))), 1),
    "discard_unmap": (request(DISCARD, 0, segments((0, 8, 1))), 1),
    "discard_none": (request(DISCARD), 1),
    "zeroes": (request(WRITE_ZEROES, 0, segments((0, 8, 0), (8, 0, 1), (16, 48, 1))), 1),
    "zeroes_flags": (request(WRITE_ZEROES, 0, segments((0, 8, 2))), 1),
    "zeroes_wraps": (request(WRITE_ZEROES, 0, segments((2**64 - 1, 0xFFFFFFFF, 0))), 1),
    "zeroes_many": (request(WRITE_ZEROES, 0, segments(*[(i, 1, i & 1) for i in range(17)])), 1),
    "zeroes_cut": (request(WRITE_ZEROES, 0, segments((0, 8, 0))[:15]), 1),
    "unknown": (request(2), 1),
    "short": (request(IN)[:15], 1),
}


def write(target, name, data):
    folder = HERE / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def main():
    for name, (readable, writable) in REQUESTS.items():
        for suffix, features in (("", ALLOW_ALL), ("_ro", READ_ONLY), ("_4k", ALLOW_ALL | ALIGNED)):
            write("blk_parse", name + suffix, struct.pack("<BBQI", features, 6, 64, writable) + readable)
    for choice in (0, 1, 3, 4, 9, 16):
        body = b"".join(struct.pack("<HI", len(r), w) + r for r, w in REQUESTS.values())
        write("blk_queue", f"all_{choice}", bytes([choice]) + body)


if __name__ == "__main__":
    main()
