// SPDX-License-Identifier: Apache-2.0
//
// The half of OfiChannel that hands posts to the provider.
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "backends/ofi/ofi_channel.h"

namespace vof {

void OfiChannel::Issue() {
  while (OfiPost* post = torn_down_ || ending_ || closed_ ? nullptr : posts_.NextToIssue()) {
    if (MustWait(*post)) return;
    if (!post->is_valid) {
      ending_ = true;
      return;
    }
    const uint64_t flags = ReportFlags(*post, posts_.AfterNextToIssue());
    const ssize_t result = Submit(*post, flags);
    if (result == -FI_EAGAIN) return;
    if (result != 0) {
      ending_ = true;
      return;
    }
    unreported_ = post->is_reported ? 0 : unreported_ + 1;
    posts_.Issued();
  }
}

bool OfiChannel::MustWait(const OfiPost& post) const {
  // One that will break the channel lets those before it end well.
  if (!post.is_valid) return !posts_.NextIsAlone();
  return !keeps_order_ && stores_in_flight_ > 0 && post.kind != OfiPostKind::kStore;
}

// Where completions come in order, the last of those that were flushed together speaks for all. Not
// for a fetch: tcp completes what was posted behind it before its answer is there.
uint64_t OfiChannel::ReportFlags(OfiPost& post, const OfiPost* following) const {
  const bool more = following != nullptr && following->reaches_provider();
  post.is_reported = !completes_in_order_ || !more || post.kind == OfiPostKind::kFetch ||
                     unreported_ + 1 >= kReportEvery;
  return (post.is_reported ? FI_COMPLETION : 0) | (more ? FI_MORE : 0);
}

bool OfiChannel::MayInject(const OfiPost& post) const {
  return post.is_inline && post.size_bytes <= endpoint_.info->tx_attr->inject_size;
}

ssize_t OfiChannel::Submit(OfiPost& post, uint64_t flags) {
  if (post.kind == OfiPostKind::kSend) return SubmitSend(post, flags);
  if (!post.reaches_provider()) {
    Finish(post, true);
    return 0;
  }
  const ssize_t result = SubmitAccess(post, flags);
  if (result == 0 && post.kind != OfiPostKind::kFetch) ++stores_in_flight_;
  return result;
}

ssize_t OfiChannel::SubmitSend(OfiPost& post, uint64_t flags) {
  fi_msg message = {};
  message.msg_iov = post.local.data();
  message.desc = post.descriptors.data();
  message.iov_count = static_cast<size_t>(post.segments);
  message.addr = endpoint_.peer;
  message.context = &post.context;
  if (MayInject(post)) flags |= FI_INJECT;
  return fi_sendmsg(endpoint_.ep.get(), &message, flags);
}

ssize_t OfiChannel::SubmitAccess(OfiPost& post, uint64_t flags) {
  const fi_rma_iov remote = {
      .addr = post.remote.address, .len = post.remote.size_bytes, .key = post.remote.key};
  fi_msg_rma message = {};
  message.msg_iov = post.local.data();
  message.desc = post.descriptors.data();
  message.iov_count = static_cast<size_t>(post.segments);
  message.addr = endpoint_.peer;
  message.rma_iov = &remote;
  message.rma_iov_count = 1;
  message.context = &post.context;
  if (post.kind == OfiPostKind::kFetch) {
    return fi_readmsg(endpoint_.ep.get(), &message, flags);
  }
  if (!keeps_order_) {
    flags |= FI_DELIVERY_COMPLETE;
  } else if (MayInject(post)) {
    flags |= FI_INJECT;
  }
  if (post.kind == OfiPostKind::kStoreWithImmediate) {
    message.data = post.immediate;
    flags |= FI_REMOTE_CQ_DATA;
  }
  return fi_writemsg(endpoint_.ep.get(), &message, flags);
}

}  // namespace vof
