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
    const ssize_t result = Submit(*post);
    if (result == -FI_EAGAIN) return;
    if (result != 0) {
      ending_ = true;
      return;
    }
    posts_.Issued();
  }
}

bool OfiChannel::MustWait(const OfiPost& post) const {
  // One that will break the channel lets those before it end well.
  if (!post.is_valid) return !posts_.NextIsAlone();
  return !keeps_order_ && stores_in_flight_ > 0 && post.kind != OfiPostKind::kStore;
}

bool OfiChannel::MayInject(const OfiPost& post) const {
  return post.is_inline && post.size_bytes <= endpoint_.info->tx_attr->inject_size;
}

ssize_t OfiChannel::Submit(OfiPost& post) {
  if (post.kind == OfiPostKind::kSend) return SubmitSend(post);
  if (post.size_bytes == 0 && post.kind != OfiPostKind::kStoreWithImmediate) {
    Finish(post, true);
    return 0;
  }
  const ssize_t result = SubmitAccess(post);
  if (result == 0 && post.kind != OfiPostKind::kFetch) ++stores_in_flight_;
  return result;
}

ssize_t OfiChannel::SubmitSend(OfiPost& post) {
  fi_msg message = {};
  message.msg_iov = post.local.data();
  message.desc = post.descriptors.data();
  message.iov_count = static_cast<size_t>(post.segments);
  message.addr = endpoint_.peer;
  message.context = &post.context;
  uint64_t flags = FI_COMPLETION;
  if (MayInject(post)) flags |= FI_INJECT;
  return fi_sendmsg(endpoint_.ep.get(), &message, flags);
}

ssize_t OfiChannel::SubmitAccess(OfiPost& post) {
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
    return fi_readmsg(endpoint_.ep.get(), &message, FI_COMPLETION);
  }
  uint64_t flags = FI_COMPLETION;
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
