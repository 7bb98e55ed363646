// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/client.h"

#include <utility>

#include "core/base/check.h"
#include "core/runtime/client_session.h"
#include "core/runtime/client_virtqueue.h"

namespace vof {

ClientQueue::ClientQueue(std::shared_ptr<ClientVirtqueue> virtqueue)
    : virtqueue_(std::move(virtqueue)),
      index_(virtqueue_->index()),
      size_(virtqueue_->queue().options().queue_size),
      reactor_(virtqueue_->reactor()) {}

void ClientQueue::Submit(InitiatorRequest* request) {
  DebugCheck(reactor_->InOwnThread(), "requests are submitted on the queue's reactor");
  virtqueue_->queue().Submit(request);
}

absl::Status ClientQueue::status() const { return virtqueue_->status(); }

absl::StatusOr<std::unique_ptr<DeviceClient>> DeviceClient::Connect(const Uri& uri,
                                                                    BackendRegistry* registry,
                                                                    DeviceClientOptions options) {
  auto session = std::make_shared<ClientSession>(uri, registry, std::move(options));
  const absl::Status status = session->Open();
  if (!status.ok()) return status;
  std::unique_ptr<DeviceClient> client(new DeviceClient);
  client->uri_ = uri;
  client->info_ = session->info();
  client->peer_ = session->peer();
  for (const std::shared_ptr<ClientVirtqueue>& virtqueue : session->virtqueues()) {
    client->queues_.push_back(std::make_unique<ClientQueue>(virtqueue));
  }
  client->session_ = std::move(session);
  return client;
}

DeviceClient::~DeviceClient() { Disconnect(); }

void DeviceClient::Disconnect() {
  if (std::exchange(disconnected_, true)) return;
  session_->Close();
}

absl::Status DeviceClient::status() const { return session_->status(); }

absl::StatusOr<ConfigSnapshot> DeviceClient::ReadConfig(std::vector<ConfigField> fields) {
  return session_->Await<ConfigSnapshot>(
      [fields = std::move(fields)](InitiatorSession& session, auto done) {
        session.ReadConfig(fields, done);
      });
}

absl::Status DeviceClient::WriteConfig(ConfigField field, uint64_t value) {
  return session_
      ->Await<bool>([field, value](InitiatorSession& session, auto done) {
        session.WriteConfig(field, value, [done](const absl::Status& status) {
          done(status.ok() ? absl::StatusOr<bool>(true) : status);
        });
      })
      .status();
}

absl::Status DeviceClient::Reset() {
  return session_
      ->Await<bool>([](InitiatorSession& session, auto done) {
        session.Reset([done](const absl::Status& status) {
          done(status.ok() ? absl::StatusOr<bool>(true) : status);
        });
      })
      .status();
}

absl::StatusOr<MemoryRegistration> DeviceClient::RegisterMemory(MutableBuffer bytes) {
  return session_->RegisterMemory(bytes);
}

absl::StatusOr<Nanoseconds> DeviceClient::Ping() {
  return session_->Await<Nanoseconds>(
      [](InitiatorSession& session, auto done) { session.Ping(done); });
}

}  // namespace vof
