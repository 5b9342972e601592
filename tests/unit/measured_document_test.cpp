// SPDX-License-Identifier: Apache-2.0
// The document of headway measure: what is written is read as the same (written again, it is the
// same text), and mistakes have a place.
#include <gtest/gtest.h>

#include <limits>

#include "base/json.hpp"
#include "network/measured_document.hpp"

namespace headway::test {
namespace {

using Document = MeasuredDocument;

Document::Time time_of(double mean_s) { return {1024, mean_s, 1e-5, 20, 3, {}, {}}; }

Document::Time escalating(double mean_s) {
    return {65536, mean_s, 2e-5, 20, 3, mean_s / 2, {{0.201, 0.25}, {0.401, 0.05}}};
}

/// Every member has a value of its own.
Document full_document() {
    Document document;
    document.headway = "0.1.0";
    document.hosts = {{"a0", "10.0.0.1", "node-a0"}, {"a1", "10.0.0.2", "node-a1"}, {"b0", "", ""}};
    document.bytes_sent = 123'456'789'012;
    document.seconds = 61.5;
    document.start_skew_s = 0.0003;
    document.resolution_s = 2e-6;
    document.links = {{{"a0", "a1"}, true, true, 1e9, true, 1e-5, 65536, 1500, true},
                      {{"a0"}, false, false, {}, false, {}, 131072, 3000, false}};
    document.round_trips = {{{0, 1}, 1e-4, 2e-4}, {{0, 2}, 3e-4, 4e-4}};
    document.buffer_sharing = {{"a0", "a1", 65536, 32768, 1500, true},
                               {"a1", "a0", 65536, 65536, 1500, {}}};
    document.heights = {{{{0, 1}}, 1.1e8, 1.05e8, 5e-4, true}, {{}, {}, {}, {}, false}};
    Document::Messages& messages = document.messages.emplace();
    messages.pairs = {{"a0", "b0", 1e-5, 2e-6, 3e-6, 8e-9, 1.1e8, 1e8, {time_of(1e-4)}, {{1, 1e-6}}},
                      {"b0", "a0", {}, {}, {}, {}, {}, {}, {}, {}}};
    messages.hosts = {{1e-5, 2e-9}, {{}, {}}};
    messages.shares = {{{"a0"}, Document::Share::Direction::in, 2, 1e8, 4e7, 6e7},
                       {{"a1"}, Document::Share::Direction::out, 3, 1e8, 3e7, 4e7},
                       {{"a0", "a1"}, Document::Share::Direction::trunk, 4, {}, {}, {}}};
    messages.two_in_one_out = {5e7, 9e7};
    messages.all_to_all = {{2, {escalating(0.001)}}, {3, {}}};
    messages.neighbours = {{{{0, 1}, {1, 2}}, {escalating(0.002)}}};
    // of eight rounds all waited
    messages.many_to_one = {{4096, {}, {}, 8, 90, {}, {{0.2, 1}}}};
    messages.one_to_many = {time_of(0.003), {1, {}, {}, 0, 0, {}, {}}};
    messages.least_retransmission_timeout_s = 0.204;
    document.models = {{{"model", "contention"}, {"n", 3}}};
    document.differences = {"a link is slower"};
    document.remarks = {"\"quoted\", and ä"};
    return document;
}

Document read(const std::string& text) {
    const auto document = parse_measured_document(text, "found.json");
    EXPECT_TRUE(document) << document.error().front().to_string();
    return document.value_or(Document{});
}

TEST(MeasuredDocumentFile, IsReadAsItWasWritten) {
    const std::string text = write_measured_document(full_document());
    EXPECT_EQ(write_measured_document(read(text)), text);
    const auto json = parse_json<nlohmann::json>(text);
    EXPECT_EQ(json["links"][0]["bps"].type(), nlohmann::json::value_t::number_unsigned)
        << "whole numbers are written as such";
}

TEST(MeasuredDocumentFile, IsReadAsItWasWrittenWithoutMessages) {
    Document document = full_document();
    document.messages.reset();
    document.models.clear();
    const std::string text = write_measured_document(document);
    EXPECT_EQ(write_measured_document(read(text)), text);
    EXPECT_FALSE(read(text).messages);
}

TEST(MeasuredDocumentFile, WhatIsNoNumberIsNotKnown) {
    Document document = full_document();
    document.links[0].bps = 1e300;
    document.links[1].delay_s = std::numeric_limits<double>::quiet_NaN();
    document.messages->pairs[0].startup_s = std::numeric_limits<double>::infinity();
    const Document again = read(write_measured_document(document));
    EXPECT_EQ(again.links[0].bps, 1e300);
    EXPECT_FALSE(again.links[1].delay_s);
    EXPECT_FALSE(again.messages->pairs[0].startup_s);
}

TEST(MeasuredDocumentFile, MembersMayBeLeftOut) {
    const Document document = read(R"({"format": "headway-measure", "of tomorrow": 1})");
    EXPECT_TRUE(document.hosts.empty());
    EXPECT_FALSE(document.messages);
    EXPECT_TRUE(read(R"({"format": "headway-measure", "messages": {"more": 2}})").messages);
}

TEST(MeasuredDocumentFile, MistakesHaveAPlace) {
    const auto mistake_in = [](const std::string& pointer, const nlohmann::json& value) {
        auto json = parse_json<nlohmann::json>(write_measured_document(full_document()));
        json[nlohmann::json::json_pointer(pointer)] = value;
        const auto document = parse_measured_document(json.dump(), "found.json");
        return document ? "none" : document.error().front().to_string();
    };
    for (const auto& [pointer, value, told] :
         std::vector<std::tuple<std::string, nlohmann::json, std::string>>{
             {"/format", 1, "it is no document of headway measure"},
             {"/hosts", 1, "hosts: it is no array"},
             {"/hosts/1/name", 1, "hosts: name: must be a string"},
             {"/bytes_sent", -1, "bytes_sent: must be a whole number"},
             {"/links/0/direction", "left", "links: direction: must be \"up\" or \"down\""},
             {"/links/0/buffer_bytes", nullptr, "links: buffer_exact: must be false"},
             {"/links/0/other", 1, "links: other: unknown key"},
             {"/links/1", 5, "links: input: must be an object"},
             {"/round_trips/1/1", 3, "round_trips[1][1]: must be a whole number from 0 to 2"},
             {"/buffer_sharing/0/shared", 1, "buffer_sharing: shared: must be true or false"},
             {"/heights/0/pairs/0", {1}, "heights: pairs[0]: must be an array of 2"},
             {"/messages", 1, "messages: it is no object"},
             {"/messages/pairs/0/gap/0", {1}, "messages.pairs: gap[0]: must be an array of 2"},
             {"/messages/pairs/0/round_trips/0/bytes", 0, "messages.pairs: bytes: must be"},
             {"/messages/shares/0/direction", "up", "direction: must be \"in\" or \"out\""},
             {"/messages/two_in_one_out", 1, "messages.two_in_one_out: input: must be an object"},
             {"/messages/all_to_all/0/hosts", 4, "messages.all_to_all: hosts: must be"},
             {"/messages/many_to_one/0/levels", nlohmann::json::array(),
              "messages.many_to_one: seconds: must be a positive number where no round"},
             {"/models/0", 1, "one of its models is no object"},
             {"/remarks", "none", "remarks: must be an array"}}) {
        const std::string mistake = mistake_in(pointer, value);
        EXPECT_TRUE(mistake.starts_with("found.json: ")) << mistake;
        EXPECT_NE(mistake.find(told), std::string::npos) << pointer << ": " << mistake;
    }
}

}  // namespace
}  // namespace headway::test
