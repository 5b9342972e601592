// SPDX-License-Identifier: Apache-2.0
// What headwayd and headway-etcd send each other, and a member's record.
#include "trunk/etcd_link.hpp"

#include <gtest/gtest.h>

#include "base/hostlist.hpp"
#include "base/limits.hpp"
#include "trunk/member_record.hpp"

namespace headway {
namespace {

HostNumbers trunk_hosts() { return HostNumbers({"a1", "a2", "a3"}); }

/// As headway-etcd reads it.
template <class Verb>
Verb asked(RequestId id, const Deed& deed) {
    const std::string packet = to_packet(Action{id, deed});
    const auto read = parse_store_request(packet);
    EXPECT_TRUE(read) << packet;
    EXPECT_EQ(read->id, id);
    return std::get<Verb>(read->verb);
}

/// As headwayd reads it.
template <class Report>
Report told(const EtcdReport& report) {
    HostNumbers hosts = trunk_hosts();
    const auto read = parse_store_report(to_packet(report), hosts);
    EXPECT_TRUE(read) << to_packet(report);
    EXPECT_EQ(read->index(), report.index());
    return std::get<Report>(*read);
}

TEST(StoreLink, RequestsArriveAsTheyAre) {
    using namespace std::chrono_literals;
    EXPECT_EQ(asked<GrantLease>(1, GrantLease{10s}).time, 10s);
    EXPECT_EQ(asked<ProlongLease>(2, ProlongLease{INT64_MAX}).lease, INT64_MAX);
    EXPECT_EQ(asked<RevokeLease>(3, RevokeLease{7}).lease, 7);
    const MemberRecord record{9, {{1, {1000, 2, "solver"}, 3, {4}}}};
    const auto put = asked<PutRecordText>(4, PutRecord{7, std::make_shared<MemberRecord>(record)});
    EXPECT_EQ(put.lease, 7);
    EXPECT_EQ(record_from_text(put.text, 1), record);
    const auto acknowledgement = asked<PutAcknowledgement>(5, PutAcknowledgement{7, 8});
    EXPECT_EQ(acknowledgement.lease, 7);
    EXPECT_EQ(acknowledgement.epoch, 8);
    EXPECT_EQ(asked<PutSettled>(6, PutSettled{7}).lease, 7);
}

TEST(StoreLink, WhatIsNoRequestIsRefused) {
    for (const char* packet : {"", "[]", "nonsense", "{}", R"({"do":1,"id":1})", R"({"do":"settle","id":1})",
                               R"({"do":"settle","id":-1,"lease":1})", R"({"do":"other","id":1})"}) {
        EXPECT_FALSE(parse_store_request(packet)) << packet;
    }
}

TEST(StoreLink, ReportsArriveAsTheyAre) {
    const StoreAnswer answer{.id = 9, .done = true, .lease = 7, .lease_lost = true, .revision = 11};
    const auto read = told<StoreAnswer>(answer);
    EXPECT_EQ(read.id, 9U);
    EXPECT_TRUE(read.done);
    EXPECT_EQ(read.lease, 7);
    EXPECT_TRUE(read.lease_lost);
    EXPECT_EQ(read.revision, 11);
    const auto begins = told<SnapshotBegins>(SnapshotBegins{12, 7, 3});
    EXPECT_EQ(begins.revision, 12);
    EXPECT_EQ(begins.settled_by, 7);
    EXPECT_EQ(begins.members, 3U);
    const MemberRecord record{9, {{1, {1000, 2, "solver"}, 3, {4}}}};
    const auto member = told<SnapshotMember>(ReportedMember{"a2", 7, 5, 6, record_to_text(record)});
    EXPECT_EQ(member.host, 1U);
    EXPECT_EQ(member.keys.lease, 7);
    EXPECT_EQ(*member.keys.record, record);
    EXPECT_EQ(member.keys.changed, 5);
    EXPECT_EQ(member.keys.acknowledged, 6);
    const auto condition = told<StoreCondition>(StoreCondition{true, "http://etcd:2379"});
    EXPECT_TRUE(condition.is_watched);
    EXPECT_EQ(condition.text, "http://etcd:2379");
    const auto changes = told<StoreChanges>(
        ReportedChanges{13, {ReportedRecord{"a2", 7, record_to_text(record)}, ReportedGone{"a1"},
                             ReportedAcknowledgement{"a3", 12}, SettledPut{7}}});
    EXPECT_EQ(changes.revision, 13);
    ASSERT_EQ(changes.changes.size(), 4U);
    for (const StoreChangeAt& one : changes.changes) EXPECT_EQ(one.revision, 13);
    const auto put = std::get<RecordPut>(changes.changes[0].change);
    EXPECT_EQ(put.host, 1U);
    EXPECT_EQ(put.lease, 7);
    EXPECT_EQ(*put.record, record);
    EXPECT_EQ(std::get<RecordGone>(changes.changes[1].change).host, 0U);
    const auto acknowledged = std::get<AcknowledgementPut>(changes.changes[2].change);
    EXPECT_EQ(acknowledged.host, 2U);
    EXPECT_EQ(acknowledged.epoch, 12);
    EXPECT_EQ(std::get<SettledPut>(changes.changes[3].change).by, 7);
}

TEST(StoreLink, HostsThatAreNoneOfTheTrunksHaveTheNextNumbers) {
    HostNumbers hosts = trunk_hosts();
    HostNumber next = 3;
    for (const char* name : {"", "a", "a0", "a11", "b", "a\xff"}) {
        const auto read = parse_store_report(to_packet(ReportedMember{name, 1, 1, 1, "\xc3("}), hosts);
        ASSERT_TRUE(read) << name;
        EXPECT_EQ(std::get<SnapshotMember>(*read).host, next++) << name;
    }
    EXPECT_EQ(hosts.name_of(4), "a");
    EXPECT_EQ(hosts.number_of("a"), 4U) << "the same again";
    EXPECT_EQ(hosts.number_of("a2"), 1U);
}

TEST(StoreLink, MoreOtherHostsThanAreKeptAreNoReport) {
    HostNumbers hosts = trunk_hosts();
    for (std::size_t i = 0; i < HostNumbers::others_max; ++i)
        ASSERT_EQ(hosts.number_of("b" + std::to_string(i)), 3 + i);
    EXPECT_FALSE(hosts.number_of("c"));
    EXPECT_TRUE(hosts.number_of("b0"));
    EXPECT_FALSE(parse_store_report(to_packet(ReportedMember{"c", 1, 1, 1, ""}), hosts));
    EXPECT_FALSE(parse_store_report(to_packet(ReportedChanges{13, {ReportedGone{"c"}}}), hosts));
}

TEST(StoreLink, WhatIsNoReportIsRefused) {
    HostNumbers hosts = trunk_hosts();
    for (const char* packet :
         {"", "[]", "nonsense", "{}", R"({"is":1})", R"({"is":"snapshot"})",
          R"({"is":"snapshot","revision":-1,"settled_by":0,"members":0})",
          R"({"is":"snapshot","revision":1.5,"settled_by":0,"members":0})",
          R"({"is":"snapshot","revision":9223372036854775808,"settled_by":0,"members":0})",
          R"({"is":"changes","revision":1,"changes":{}})",
          R"({"is":"changes","revision":1,"changes":[{"put":"other","host":"a"}]})",
          R"({"is":"changes","revision":1,"changes":[7]})"}) {
        EXPECT_FALSE(parse_store_report(packet, hosts)) << packet;
    }
    const EtcdReport long_name =
        ReportedMember{std::string(host_name_max_bytes + 1, 'a'), 1, 1, 1, ""};
    EXPECT_FALSE(parse_store_report(to_packet(long_name), hosts));
    EXPECT_FALSE(parse_store_report(std::string(store_packet_max_bytes, ' ') + "{}", hosts));
}

TEST(StoreLink, LongestRecordFitsIntoAPacketHoweverItIsWritten) {
    const EtcdReport report = ReportedMember{std::string(host_name_max_bytes, 'h'), INT64_MAX,
                                             INT64_MAX, INT64_MAX,
                                             std::string(record_text_max_bytes, '"')};
    EXPECT_LE(to_packet(report).size(), store_packet_max_bytes);
    HostNumbers hosts = trunk_hosts();
    EXPECT_TRUE(parse_store_report(to_packet(report), hosts));
}

// ---- records -----------------------------------------------------------------------

TEST(MemberRecords, ComeBackAsTheyWereWithTheHostThatPutThem) {
    const MemberRecord record{0xfedcba9876543210U,
                              {{3, {0, 0, ""}, 1, no_limit_wanted},
                               {3, {UINT32_MAX, UINT64_MAX, "4711.0:@/+-_"}, 1000, {0}}},
                              {INT64_MAX}};
    EXPECT_EQ(record_from_text(record_to_text(record), 3), record);
    EXPECT_EQ(record_from_text(record_to_text(record), 4).demands[0].host, 4U);
}

TEST(MemberRecords, WhatIsNoneHasAConfigurationThatNobodyHas) {
    const std::string head = R"({"configuration":"00000000000000ff","fallback":7,"demands":)";
    EXPECT_EQ(record_from_text(head + "[]}", 0), (MemberRecord{0xff, {}, {7}}));
    for (const std::string& text :
         {std::string(), std::string("x"), std::string("[]"), std::string("{}"), head + "7}",
          head + "[7]}", head + "[[1,1,\"a\",1]]}", head + "[[1,1,1,1,1]]}", head + "[[1,1,\"a\",0,1]]}",
          head + "[[1,1,\"a\",1001,1]]}", head + "[[4294967296,1,\"a\",1,1]]}", head + "[[1,1,\"a\",1,-1]]}",
          head + "[[1,-1,\"a\",1,1]]}", head + "[[1,1,[],1,1]]}",
          head + "[[1,1,\"" + std::string(job_name_max_bytes + 1, 'a') + "\",1,1]]}",
          std::string(R"({"configuration":"00000000000000FF","fallback":7,"demands":[]})"),
          std::string(R"({"configuration":255,"fallback":7,"demands":[]})"),
          // as the version before this one wrote them
          std::string(R"({"configuration":"00000000000000ff","demands":[]})"),
          std::string(R"({"configuration":"00000000000000ff","demands":[[1,1,1]]})")}) {
        EXPECT_EQ(record_from_text(text, 0), MemberRecord{}) << text;
    }
    MemberRecord long_one{1, std::vector<Demand>(demands_per_host_max + 1)};
    EXPECT_EQ(record_from_text(record_to_text(long_one), 0), MemberRecord{});
}

TEST(MemberRecords, LongestFitsIntoTheStoreLink) {
    const JobIdentity job{UINT32_MAX, UINT64_MAX, std::string(job_name_max_bytes, 'a')};
    const MemberRecord longest{
        UINT64_MAX,
        std::vector<Demand>(demands_per_host_max, Demand{0, job, share_weight_max, no_limit_wanted}),
        {INT64_MAX}};
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

}  // namespace
}  // namespace headway
