// SPDX-License-Identifier: Apache-2.0
//
// Every limit of the stack, with the arithmetic that derives it. A number that a peer chooses is
// compared with one of these before memory is taken for it.
#ifndef VOF_CORE_BASE_LIMITS_H_
#define VOF_CORE_BASE_LIMITS_H_

#include <cstddef>
#include <cstdint>

#include "core/base/time.h"

namespace vof {

// --- Protocol constants that bound memory (docs/protocol.md) ---
inline constexpr size_t kConnectBodyBytes = 1024;
inline constexpr size_t kVqnFieldBytes = 256;  // at most 255 bytes of name and a NUL
inline constexpr size_t kSessionTokenBytes = 16;
inline constexpr uint16_t kMaxQueueSize = 4096;
inline constexpr uint16_t kControlQueueSize = 32;
inline constexpr uint16_t kFirstReservedCommandId = 0xff00;
inline constexpr uint16_t kDefaultPort = 8549;

// --- Requests ---
// The largest data of one request, and what may surround it: a device header before, a status
// behind.
inline constexpr uint32_t kMaxDataBytes = 4u << 20;
inline constexpr uint32_t kMaxFramingBytes = 4096;
inline constexpr uint32_t kMaxRequestBytes = kMaxDataBytes + kMaxFramingBytes;
// `ref` segments of one request: 4 MiB in 4 KiB pages (1024) and room for header, status and odd
// cuts. Their descriptors take at most 1100 * 24 = 26,400 bytes.
inline constexpr uint16_t kMaxSegments = 1100;
// Pieces in which a device may lend a result: a whole request of zeros from a 1 MiB page of them is
// 5, plus the device's own framing.
inline constexpr int kMaxResultPieces = 8;
// Bytes a device may return without memory of its own (a block status is 1, a net header 12).
inline constexpr uint32_t kInlineResultBytes = 32;

// --- Keyed transmission ---
// Bytes of a request, and of its result, that may travel inside the messages: a block of 4 KiB with
// its header or its status, and some room.
inline constexpr uint32_t kDefaultInlineBytes = 4096 + 64;
// Of a virtqueue whose URI names no size: each place costs a receive of 8 KiB at both ends.
inline constexpr uint16_t kDefaultKeyedQueueSize = 128;
// The largest message: a command, 255 descriptors of `v5` or as many of `ref` as take no more, and
// inline bytes.
inline constexpr uint32_t kMaxMessageBytes = 16 + 255 * 16 + kDefaultInlineBytes;

// --- Sessions ---
inline constexpr uint32_t kMaxInstances = 4096;
inline constexpr uint16_t kMaxQueuesPerInstance = 256;
inline constexpr uint32_t kMaxConnections = 16384;
inline constexpr Nanoseconds kHandshakeTimeout = 10 * kNanosecondsPerSecond;
// A peer that owes the rest of a payload, or does not read its answers, holds memory meanwhile.
// Shorter than the default I/O time-out of an initiator (30 s), so that others get their turn
// before they give up.
inline constexpr Nanoseconds kStallTimeout = 20 * kNanosecondsPerSecond;
// While others wait for memory, it has to move as much as it holds within this time, but not more
// than 128 KiB (26 KiB/s): a byte now and then would keep it for ever.
inline constexpr Nanoseconds kContendedStallTimeout = 5 * kNanosecondsPerSecond;
inline constexpr uint64_t kStallProgressBytes = 128u << 10;
// The more memory others wait for, the shorter: that time divided by how often the pool has to
// change hands for all of them. Who asks behind 20 pools full of peers that hang gets its turn
// within 10 * 0.5 s + 5 s * (1/10 + 1/9 + ... + 1) = 20 s, before an initiator gives up.
inline constexpr Nanoseconds kMinContendedStallTimeout = 500 * kNanosecondsPerMillisecond;
inline constexpr Nanoseconds kResetTimeout = 2 * kNanosecondsPerSecond;
inline constexpr int kMissedKeepalives = 3;  // silent intervals after which the target drops a peer
// How long a connection that ends may take to send its last output (also to a peer that has closed
// its own direction), and to read on until the peer has seen it.
inline constexpr Nanoseconds kFlushTimeout = 5 * kNanosecondsPerSecond;
inline constexpr Nanoseconds kLingerTimeout = 1 * kNanosecondsPerSecond;
// A target that goes down reads on that long from an initiator that keeps sending.
inline constexpr Nanoseconds kDrainSettleTime = 100 * kNanosecondsPerMillisecond;
// A device that goes down with its target has that long to complete what it holds; then the memory
// of these requests is left to it.
inline constexpr Nanoseconds kDeviceTimeout = 30 * kNanosecondsPerSecond;
inline constexpr uint32_t kMinKeepaliveMs = 100;
inline constexpr uint32_t kMaxKeepaliveMs = 3'600'000;

// --- Memory of one reactor ---
// One receive per turn: 64 requests of 4 KiB, and small enough to stay in a second-level cache.
inline constexpr size_t kScratchBytes = 256u << 10;
// Payload pool: must hold at least one largest request in each direction; the default holds 16 of
// them.
inline constexpr size_t kDefaultPoolBytes = 128u << 20;
// Of a client's own reactor: a fabric with remote memory access registers it, which takes time, and
// only what is copied passes through it.
inline constexpr size_t kDefaultClientPoolBytes = 32u << 20;
inline constexpr size_t kMinPoolBytes = 2 * size_t{8u << 20};
// Memory of devices that a target registers with fabrics. An adapter pins every page of it.
inline constexpr uint64_t kDefaultLentBytes = uint64_t{4} << 30;
// Above this a payload is received straight into its own memory; below, copied from the scratch
// buffer: see BM_ReceiveThreshold in testing/bench/receive_benchmark.cc.
inline constexpr size_t kDirectReceiveBytes = 16u << 10;
// Unsent answers to commands beyond a queue's size: the reader pauses above this.
inline constexpr size_t kMaxReplyBacklogBytes = 64u << 10;
// Fairness between connections: what one of them may do in one turn of its reactor.
inline constexpr int kMaxReceivesPerTurn = 4;
inline constexpr int kMaxSendsPerTurn = 16;
// What all active connections of a reactor may move in one turn, each way, in equal shares within
// bounds: thousands that have megabytes each, to be sent or received, would keep the others
// waiting.
inline constexpr size_t kTurnBytes = 64u << 20;
inline constexpr size_t kMinTurnShareBytes = 16u << 10;
inline constexpr size_t kMaxTurnShareBytes = 1u << 20;
// Entries of one vectored write or read (IOV_MAX).
inline constexpr int kMaxIovecs = 1024;

}  // namespace vof

#endif  // VOF_CORE_BASE_LIMITS_H_
