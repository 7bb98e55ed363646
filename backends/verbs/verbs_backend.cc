// SPDX-License-Identifier: Apache-2.0
#include "backends/verbs/verbs_backend.h"

#include <memory>
#include <utility>

#include "backends/verbs/verbs_channel.h"
#include "backends/verbs/verbs_dialer.h"
#include "backends/verbs/verbs_listener.h"
#include "backends/verbs/verbs_setup.h"
#include "core/runtime/message_link.h"

namespace vof {
namespace {

std::unique_ptr<Link> MakeLink(std::unique_ptr<VerbsChannel> channel) {
  std::shared_ptr<Domain> domain = channel->domain();
  return std::make_unique<MessageLink<VerbsChannel>>(std::move(channel), std::move(domain));
}

}  // namespace

VerbsBackend::VerbsBackend(const VerbsOptions& options, std::shared_ptr<VerbsCalls> calls,
                           Resolver resolver, TroubleHandler on_trouble)
    : setup_(std::make_shared<VerbsSetup>(std::move(calls), options)),
      resolver_(std::move(resolver)),
      on_trouble_(std::move(on_trouble)) {}

absl::StatusOr<std::unique_ptr<Listener>> VerbsBackend::Listen(const Uri& uri, Reactor* reactor,
                                                               AcceptHandler accept) {
  return VerbsListener::Open(
      uri, {.setup = setup_,
            .resolver = resolver_,
            .reactor = reactor,
            .accept = [accept = std::move(accept)](
                          std::unique_ptr<VerbsChannel> c) { accept(MakeLink(std::move(c))); },
            .on_trouble = on_trouble_});
}

absl::StatusOr<std::unique_ptr<Link>> VerbsBackend::Dial(const Uri& uri, MonotonicTime deadline) {
  absl::StatusOr<std::unique_ptr<VerbsChannel>> channel =
      DialVerbs(uri, setup_.get(), resolver_, deadline);
  if (!channel.ok()) return channel.status();
  return MakeLink(*std::move(channel));
}

void RegisterVerbs(BackendRegistry& registry, const VerbsOptions& options,
                   TroubleHandler on_trouble) {
  registry.Add(std::make_unique<VerbsBackend>(options, RealVerbsCalls(), SystemResolver(),
                                              std::move(on_trouble)));
}

}  // namespace vof
