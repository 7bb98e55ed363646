// SPDX-License-Identifier: Apache-2.0
#include "backends/ofi/ofi_post.h"

#include <gtest/gtest.h>

#include <vector>

namespace vof {
namespace {

class OfiPostsTest : public testing::Test {
 protected:
  OfiPost* Issue(bool is_reported, OfiPostKind kind = OfiPostKind::kStore) {
    OfiPost* const post = posts_.Add();
    if (post == nullptr) return nullptr;
    post->kind = kind;
    post->size_bytes = 1;
    post->is_reported = is_reported;
    posts_.Flush();
    posts_.Issued();
    return post;
  }
  // Those for which a completion of `post` speaks, and `post` itself.
  std::vector<OfiPost*> Report(OfiPost* post) {
    std::vector<OfiPost*> done;
    while (OfiPost* const before = posts_.TakeUnreported(*post)) done.push_back(before);
    done.push_back(post);
    for (OfiPost* const d : done) d->is_done = d->ok = true;
    return done;
  }

  OfiPosts posts_{4};
};

TEST_F(OfiPostsTest, ACompletionSpeaksForThoseBeforeItThatWereNotAskedFor) {
  OfiPost* const store = Issue(false);
  OfiPost* const fetch = Issue(true, OfiPostKind::kFetch);
  OfiPost* const send = Issue(true, OfiPostKind::kSend);
  EXPECT_EQ(Report(send), (std::vector<OfiPost*>{store, send}));
  EXPECT_FALSE(fetch->is_done) << "it has a completion of its own";
  EXPECT_EQ(posts_.Oldest(), store);
  EXPECT_EQ(Report(fetch), (std::vector<OfiPost*>{fetch}));
}

TEST_F(OfiPostsTest, EachIsTakenOnceAroundTheRing) {
  for (int round = 0; round < 10; ++round) {
    SCOPED_TRACE(round);
    OfiPost* const first = Issue(false);
    OfiPost* const second = Issue(false);
    OfiPost* const third = Issue(true);
    EXPECT_EQ(Report(third), (std::vector<OfiPost*>{first, second, third}));
    for (int i = 0; i < 3; ++i) posts_.RemoveOldest();
    EXPECT_TRUE(posts_.empty());
  }
}

TEST_F(OfiPostsTest, WhatIsBehindACompletionIsNotDone) {
  OfiPost* const first = Issue(true);
  OfiPost* const second = Issue(false);
  EXPECT_EQ(Report(first), (std::vector<OfiPost*>{first}));
  EXPECT_FALSE(second->is_done);
  OfiPost* const third = Issue(true);
  EXPECT_EQ(Report(third), (std::vector<OfiPost*>{second, third}));
}

TEST_F(OfiPostsTest, WhatIsFollowedByNothingIsTheLastOfItsFlush) {
  ASSERT_NE(posts_.Add(), nullptr);
  OfiPost* const second = posts_.Add();
  EXPECT_EQ(posts_.NextToIssue(), nullptr) << "not flushed";
  posts_.Flush();
  EXPECT_EQ(posts_.AfterNextToIssue(), second);
  posts_.Issued();
  EXPECT_EQ(posts_.NextToIssue(), second);
  EXPECT_EQ(posts_.AfterNextToIssue(), nullptr);
}

TEST_F(OfiPostsTest, WhatMovesNothingDoesNotReachTheProvider) {
  OfiPost post;
  post.kind = OfiPostKind::kStore;
  EXPECT_FALSE(post.reaches_provider());
  post.kind = OfiPostKind::kStoreWithImmediate;
  EXPECT_TRUE(post.reaches_provider());
  post.kind = OfiPostKind::kSend;
  EXPECT_TRUE(post.reaches_provider());
  post.is_valid = false;
  EXPECT_FALSE(post.reaches_provider());
}

}  // namespace
}  // namespace vof
