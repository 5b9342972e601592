// SPDX-License-Identifier: Apache-2.0
// What headwayd and headway-etcd send each other, and a member's record.
#include "trunk/store_link.hpp"

#include <gtest/gtest.h>

#include "base/hostlist.hpp"
#include "trunk/member_record.hpp"

namespace headway {
namespace {

StoreRequest back_and_forth(const StoreRequest& request) {
    const auto read = parse_store_request(to_packet(request));
    EXPECT_TRUE(read) << to_packet(request);
    EXPECT_EQ(read->id, request.id);
    EXPECT_EQ(to_packet(*read), to_packet(request));
    return *read;
}

StoreReport back_and_forth(const StoreReport& report) {
    const auto read = parse_store_report(to_packet(report));
    EXPECT_TRUE(read) << to_packet(report);
    EXPECT_EQ(to_packet(*read), to_packet(report));
    EXPECT_EQ(read->index(), report.index());
    return *read;
}

TEST(StoreLink, RequestsArriveAsTheyAre) {
    EXPECT_EQ(std::get<GrantOf>(back_and_forth({1, GrantOf{10}}).verb).seconds, 10);
    EXPECT_EQ(std::get<ProlongLease>(back_and_forth({2, ProlongLease{INT64_MAX}}).verb).lease, INT64_MAX);
    EXPECT_EQ(std::get<RevokeLease>(back_and_forth({3, RevokeLease{7}}).verb).lease, 7);
    const auto record = std::get<PutRecordText>(back_and_forth({4, PutRecordText{7, "a \"b\""}}).verb);
    EXPECT_EQ(record.lease, 7);
    EXPECT_EQ(record.text, "a \"b\"");
    const auto acknowledgement =
        std::get<PutAcknowledgement>(back_and_forth({5, PutAcknowledgement{7, 8}}).verb);
    EXPECT_EQ(acknowledgement.lease, 7);
    EXPECT_EQ(acknowledgement.epoch, 8);
    EXPECT_EQ(std::get<PutSettled>(back_and_forth({6, PutSettled{7}}).verb).lease, 7);
}

TEST(StoreLink, ReportsArriveAsTheyAre) {
    StoreAnswer answer{.id = 9, .done = true, .lease = 7, .lease_lost = false, .revision = 11};
    const auto read = std::get<StoreAnswer>(back_and_forth(answer));
    EXPECT_EQ(read.id, 9U);
    EXPECT_TRUE(read.done);
    EXPECT_EQ(read.lease, 7);
    EXPECT_EQ(read.revision, 11);
    back_and_forth(SnapshotBegins{12, 7, 3});
    back_and_forth(ReportedMember{"a1", 7, 5, 6, "text"});
    back_and_forth(StoreCondition{true, "http://etcd:2379"});
    const auto changes = std::get<ReportedChanges>(back_and_forth(
        ReportedChanges{13, {ReportedRecord{"a1", 7, "text"}, ReportedGone{"a2"},
                             ReportedAcknowledgement{"a3", 12}, SettledPut{7}}}));
    ASSERT_EQ(changes.changes.size(), 4U);
    EXPECT_EQ(std::get<ReportedGone>(changes.changes[1]).host, "a2");
    EXPECT_EQ(std::get<SettledPut>(changes.changes[3]).by, 7);
}

TEST(StoreLink, BytesThatAreNoTextAreReplaced) {
    const auto read = std::get<ReportedMember>(
        *parse_store_report(to_packet(ReportedMember{"a\xff", 1, 1, 1, "\xc3("})));
    EXPECT_EQ(read.host, "a\xef\xbf\xbd");
}

TEST(StoreLink, WhatIsNoReportIsRefused) {
    for (const char* packet :
         {"", "[]", "nonsense", "{}", R"({"is":1})", R"({"is":"snapshot"})",
          R"({"is":"snapshot","revision":-1,"settled_by":0,"members":0})",
          R"({"is":"snapshot","revision":1.5,"settled_by":0,"members":0})",
          R"({"is":"snapshot","revision":9223372036854775808,"settled_by":0,"members":0})",
          R"({"is":"changes","revision":1,"changes":{}})",
          R"({"is":"changes","revision":1,"changes":[{"put":"other","host":"a"}]})",
          R"({"is":"changes","revision":1,"changes":[7]})"}) {
        EXPECT_FALSE(parse_store_report(packet)) << packet;
    }
    const StoreReport long_name =
        ReportedMember{std::string(host_name_max_bytes + 1, 'a'), 1, 1, 1, ""};
    EXPECT_FALSE(parse_store_report(to_packet(long_name)));
    EXPECT_FALSE(parse_store_report(std::string(store_packet_max_bytes, ' ') + "{}"));
}

TEST(StoreLink, LongestRecordFitsIntoAPacketHoweverItIsWritten) {
    const StoreReport report = ReportedMember{std::string(host_name_max_bytes, 'h'), INT64_MAX,
                                              INT64_MAX, INT64_MAX,
                                              std::string(record_text_max_bytes, '"')};
    EXPECT_LE(to_packet(report).size(), store_packet_max_bytes);
    EXPECT_TRUE(parse_store_report(to_packet(report)));
}

// ---- records -----------------------------------------------------------------------

TEST(MemberRecords, ComeBackAsTheyWereWithTheHostThatPutThem) {
    const MemberRecord record{0xfedcba9876543210U, {{3, 1, 1, no_limit_wanted}, {3, UINT32_MAX, 1000, {0}}}};
    EXPECT_EQ(record_from_text(record_to_text(record), 3), record);
    EXPECT_EQ(record_from_text(record_to_text(record), 4).demands[0].host, 4U);
}

TEST(MemberRecords, WhatIsNoneHasAConfigurationThatNobodyHas) {
    const std::string head = R"({"configuration":"00000000000000ff","demands":)";
    EXPECT_EQ(record_from_text(head + "[]}", 0).configuration, 0xffU);
    for (const std::string& text :
         {std::string(), std::string("x"), std::string("[]"), std::string("{}"), head + "7}",
          head + "[7]}", head + "[[1,1]]}", head + "[[1,0,1]]}", head + "[[1,1001,1]]}",
          head + "[[4294967296,1,1]]}", head + "[[1,1,-1]]}",
          std::string(R"({"configuration":"00000000000000FF","demands":[]})"),
          std::string(R"({"configuration":255,"demands":[]})")}) {
        EXPECT_EQ(record_from_text(text, 0), MemberRecord{}) << text;
    }
    MemberRecord long_one{1, std::vector<Demand>(demands_per_host_max + 1)};
    EXPECT_EQ(record_from_text(record_to_text(long_one), 0), MemberRecord{});
}

TEST(MemberRecords, LongestFitsIntoTheStoreLink) {
    const MemberRecord longest{
        UINT64_MAX, std::vector<Demand>(demands_per_host_max,
                                        Demand{0, UINT32_MAX, share_weight_max, no_limit_wanted})};
    EXPECT_LE(record_to_text(longest).size(), record_text_max_bytes);
}

TEST(MemberRecords, DigestTellsConfigurationsApart) {
    const SharedTrunk trunk{{1000}, {10}, 2, SharePolicy::per_job};
    const LeaseTiming timing;
    const std::vector<std::string> hosts{"a1", "a2"};
    const auto digest = configuration_digest(trunk, timing, hosts);
    EXPECT_EQ(digest, configuration_digest(trunk, timing, hosts));
    SharedTrunk other_trunk = trunk;
    other_trunk.policy = SharePolicy::per_host;
    EXPECT_NE(digest, configuration_digest(other_trunk, timing, hosts));
    LeaseTiming other_timing;
    other_timing.expires *= 2;
    EXPECT_NE(digest, configuration_digest(trunk, other_timing, hosts));
    EXPECT_NE(digest, configuration_digest(trunk, timing, std::vector<std::string>{"a1a", "2"}));
}

TEST(MemberRecords, JobsAreNumberedAlikeEverywhere) {
    EXPECT_EQ(job_number("solver"), job_number("solver"));
    EXPECT_NE(job_number("solver"), job_number("solver2"));
    EXPECT_EQ(job_number(""), 0x84222325U ^ 0xcbf29ce4U);  // FNV-1a's start, folded
}

}  // namespace
}  // namespace headway
