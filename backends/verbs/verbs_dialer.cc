// SPDX-License-Identifier: Apache-2.0
#include "backends/verbs/verbs_dialer.h"

#include <poll.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "backends/common/each_address.h"
#include "backends/common/socket_address.h"
#include "backends/verbs/verbs_error.h"

namespace vof {
namespace {

using Channel = std::unique_ptr<VerbsChannel>;

// Of the kernel's own waiting; ours is bounded by the deadline.
constexpr Nanoseconds kLongestKernelWait = 60 * kNanosecondsPerSecond;
// The reasons of a rejection that the InfiniBand specification (12.6.7.2) calls "invalid service
// id" and "consumer reject".
constexpr int kRejectedNobodyListens = 8;
constexpr int kRejectedByPeer = 28;

std::string DescribeRejection(int reason) {
  switch (reason) {
    case kRejectedNobodyListens:
    case -ECONNREFUSED:
      return "connection refused (is the target running, and is the port right?)";
    case kRejectedByPeer:
      return "the target refused the connection (it may be busy, or out of memory for queues)";
    default:
      return absl::StrCat("connection rejected, reason ", reason);
  }
}

absl::Status Unexpected(const VerbsEvent& event) {
  switch (event.type) {
    case RDMA_CM_EVENT_REJECTED:
      return absl::UnavailableError(DescribeRejection(event.status));
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR:
    case RDMA_CM_EVENT_UNREACHABLE:
    case RDMA_CM_EVENT_CONNECT_ERROR:
      if (event.status == -ETIMEDOUT) return absl::DeadlineExceededError("no answer");
      return absl::UnavailableError(absl::StrCat(
          event.type == RDMA_CM_EVENT_CONNECT_ERROR ? "cannot connect: " : "cannot reach it: ",
          DescribeVerbsError(-event.status)));
    case RDMA_CM_EVENT_DISCONNECTED:
      return absl::UnavailableError("the target closed the connection at once");
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
      return absl::UnavailableError("the RDMA device was removed");
    default:
      return absl::UnavailableError(absl::StrCat("unexpected event ", event.type));
  }
}

absl::Status Await(VerbsEvents* events, rdma_cm_event_type wanted, MonotonicTime deadline) {
  const MonotonicTime began = MonotonicNow();
  VerbsEvent event;
  for (;;) {
    if (events->Next(&event)) {
      return event.type == wanted ? absl::OkStatus() : Unexpected(event);
    }
    const int wait_ms = MillisecondsUntil(deadline, kLongestKernelWait);
    if (wait_ms == 0) return NoAnswerSince(began);
    pollfd fd = {.fd = events->fd(), .events = POLLIN, .revents = 0};
    if (poll(&fd, 1, wait_ms) < 0 && errno != EINTR) return VerbsError("cannot wait", errno);
  }
}

absl::StatusOr<Channel> DialOne(const SocketAddress& address, VerbsSetup* setup,
                                MonotonicTime deadline) {
  VerbsCalls& calls = *setup->calls();
  absl::StatusOr<VerbsEvents> events = VerbsEvents::Open(setup->calls());
  if (!events.ok()) return events.status();
  absl::StatusOr<VerbsId> id = VerbsId::Create(setup->calls(), *events);
  if (!id.ok()) return id.status();
  if (const int error = calls.ResolveAddress(id->get(), address.get(),
                                             MillisecondsUntil(deadline, kLongestKernelWait));
      error != 0) {
    return VerbsError("no way there over RDMA", error);
  }
  absl::Status status = Await(&*events, RDMA_CM_EVENT_ADDR_RESOLVED, deadline);
  if (!status.ok()) return status;
  if (const int error =
          calls.ResolveRoute(id->get(), MillisecondsUntil(deadline, kLongestKernelWait));
      error != 0) {
    return VerbsError("no route over RDMA", error);
  }
  status = Await(&*events, RDMA_CM_EVENT_ROUTE_RESOLVED, deadline);
  if (!status.ok()) return status;

  absl::StatusOr<Channel> channel = setup->MakeChannel(*std::move(id));
  if (!channel.ok()) return channel.status();
  rdma_conn_param parameters = ConnectParameters((*channel)->domain()->attributes());
  if (const int error = calls.Connect((*channel)->id(), &parameters); error != 0) {
    return VerbsError("cannot connect", error);
  }
  status = Await(&*events, RDMA_CM_EVENT_ESTABLISHED, deadline);
  if (!status.ok()) return status;
  status = (*channel)->Establish(*std::move(events));
  if (!status.ok()) return status;
  return channel;
}

}  // namespace

absl::StatusOr<Channel> DialVerbs(const Uri& uri, VerbsSetup* setup, const Resolver& resolver,
                                  MonotonicTime deadline) {
  return ConnectToEach<Channel>(
      uri, resolver, deadline, absl::StrCat("cannot connect to '", uri.host, "' over RDMA"),
      [&](const SocketAddress& address, MonotonicTime until) -> absl::StatusOr<Channel> {
        const MonotonicTime began = MonotonicNow();
        absl::StatusOr<Channel> channel = DialOne(address, setup, until);
        if (absl::IsDeadlineExceeded(channel.status())) return NoAnswerSince(began);
        return channel;
      });
}

}  // namespace vof
