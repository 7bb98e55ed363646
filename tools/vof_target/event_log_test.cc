// SPDX-License-Identifier: Apache-2.0
#include "tools/vof_target/event_log.h"

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <sstream>
#include <string>

namespace vof {
namespace {

class EventLogTest : public testing::Test {
 protected:
  EventLogTest() : previous_(spdlog::default_logger()) {
    auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(lines_);
    auto logger = std::make_shared<spdlog::logger>("test", std::move(sink));
    logger->set_pattern("%l: %v");
    logger->set_level(spdlog::level::info);
    spdlog::set_default_logger(std::move(logger));
  }
  ~EventLogTest() override { spdlog::set_default_logger(previous_); }

  std::string TakeLines() {
    std::string lines = lines_.str();
    lines_.str("");
    return lines;
  }

  const std::shared_ptr<spdlog::logger> previous_;
  std::ostringstream lines_;
  const TargetObserver log_ = MakeSessionLog();
};

TargetEvent Unused(Cause cause, std::string why) {
  TargetEvent event;
  event.kind = TargetEventKind::kConnectionUnused;
  event.cause = cause;
  event.peer = "192.0.2.7:40000";
  event.why = std::move(why);
  return event;
}

TEST_F(EventLogTest, ConnectionsTooManyAreWarnedOfNowAndThen) {
  for (int i = 0; i < 300; ++i)
    log_(Unused(Cause::kLimit, "the limit of 3 connections is reached"));
  EXPECT_EQ(TakeLines(),
            "warning: connection from 192.0.2.7:40000 ended without a queue (the limit of 3 "
            "connections is reached)\n");
}

TEST_F(EventLogTest, SessionsTooManyAreWarnedOf) {
  TargetEvent event = Unused(Cause::kLimit, "the limit of 2 sessions is reached");
  event.kind = TargetEventKind::kSessionRefused;
  log_(event);
  const std::string lines = TakeLines();
  EXPECT_EQ(lines.find("warning: session"), 0u) << lines;
  EXPECT_NE(lines.find("the limit of 2 sessions is reached"), std::string::npos) << lines;
}

TEST_F(EventLogTest, AQueueThatCouldNotBeOpenedIsAWarning) {
  TargetEvent event = Unused(Cause::kLimit, "there is no memory for it");
  event.kind = TargetEventKind::kQueueRefused;
  event.instance_id = 0;
  log_(event);
  EXPECT_EQ(TakeLines().find("warning: virtqueue 0 of session 0 refused (there is no"), 0u);
  event.cause = Cause::kNamesDiffer;
  log_(event);
  EXPECT_EQ(TakeLines().find("info: virtqueue"), 0u);
}

TEST_F(EventLogTest, OtherUnusedConnectionsAndRefusalsAreNoWarnings) {
  log_(Unused(Cause::kOk, "closed before a complete Connect"));
  EXPECT_EQ(TakeLines(), "");
  TargetEvent event = Unused(Cause::kUnknownName, "no device of this name is served");
  event.kind = TargetEventKind::kSessionRefused;
  log_(event);
  EXPECT_EQ(TakeLines().find("info: session refused"), 0u);
}

}  // namespace
}  // namespace vof
