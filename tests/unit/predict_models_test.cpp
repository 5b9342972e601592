// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "model/predict_models.hpp"
#include "topologies.hpp"

namespace headway::test {
namespace {

using namespace std::chrono_literals;

constexpr double wire_64k = 69'676;  ///< see Wire.TcpSegments

const ModelTime& time_of(const ModelTimes& models, const std::string& name) {
    const auto found = std::find_if(models.times.begin(), models.times.end(),
                                    [&](const ModelTime& time) { return time.model == name; });
    EXPECT_NE(found, models.times.end()) << name;
    static const ModelTime nothing;
    return found == models.times.end() ? nothing : *found;
}

ModelTimes predict(const Topology& topology, Operation operation = Operation::alltoall,
                   std::uint32_t ranks_per_host = 1, std::uint64_t bytes = 65536) {
    const HostCounts all = topology.count(topology.all_hosts());
    return *predict_models(topology, PlanPolicy{}, {operation, all, 0, ranks_per_host}, bytes);
}

// 16 messages over 25 Mbit/s are more than 7 over an edge of 20.
TEST(PredictModels, BoundIsTheBusiestLink) {
    const auto models = predict(demo_topology());
    EXPECT_NEAR(time_of(models, "bound").low_s, 16 * wire_64k * 8 / 25e6, 1e-9);
    for (const ModelTime& time : models.times) {
        if (time.model.starts_with("PlogP ")) continue;  // it knows no shared link
        EXPECT_GE(time.low_s * (1 + 1e-9), time_of(models, "bound").low_s) << time.model;
    }
}

// PlogPT (23): b(1) = 20, b(2) = 40, b(3) = 25 Mbit/s; g = 69676 * 8 / 20e6.
//   heights 1, 2: 1 message at the edge's rate, 2 at (40/2 = 20): 3 g
//   height 3: 4 messages, 4 flows share 25 Mbit/s: 4 * 4 * 20/25 g = 12.8 g
// A: + 7 L; B: + L, and a time-out at each height with P_S(h, h+1).
TEST(PredictModels, PlogptOnTwins) {
    auto clusters = demo_topology().clusters();
    for (Cluster& cluster : clusters) cluster.trunk_delay = 1ms;
    const auto models = predict(*Topology::make(std::move(clusters)));
    const double gap_s = wire_64k * 8 / 20e6;
    EXPECT_NEAR(time_of(models, "PlogPT A").low_s, 15.8 * gap_s + 7e-3, 1e-9);
    EXPECT_NEAR(time_of(models, "PlogPT B").low_s, 15.8 * gap_s + 1e-3, 1e-9);
    EXPECT_NEAR(time_of(models, "PlogP B").low_s, 7 * gap_s + 1e-3, 1e-9);
    const double timeouts =
        (time_of(models, "PlogPT B").high_s - time_of(models, "PlogPT B").low_s) / rto_default_s;
    EXPECT_NEAR(timeouts, std::round(timeouts), 1e-9);
}

TEST(PredictModels, SaysWhatDoesNotApply) {
    const auto uneven = predict(
        *Topology::make({make_cluster(0, 4, 20, 25), make_cluster(1, 8, 20, 25)}));
    ASSERT_EQ(uneven.left_out.size(), 1U);
    EXPECT_EQ(uneven.left_out[0], "PlogP, PlogPT: the clusters differ in size");
    const auto gather = predict(demo_topology(), Operation::gather);
    EXPECT_EQ(gather.left_out.size(), 1U);
    EXPECT_EQ(gather.times.size(), 3U) << "bound, unpaced, paced";
}

// Two ranks on each host: 4 messages between two hosts, of a rooted operation 2.
TEST(PredictModels, RanksOfAHostAddUp) {
    const std::uint64_t whole = 1448 * 100;  // no rest, so that messages add up exactly
    const auto once = predict(demo_topology(), Operation::alltoall, 1, whole);
    const auto twice = predict(demo_topology(), Operation::alltoall, 2, whole);
    EXPECT_NEAR(time_of(twice, "bound").low_s, 4 * time_of(once, "bound").low_s, 1e-9);
    const auto gather = predict(demo_topology(), Operation::gather, 1, whole);
    const auto gather2 = predict(demo_topology(), Operation::gather, 2, whole);
    EXPECT_NEAR(time_of(gather2, "bound").low_s, 2 * time_of(gather, "bound").low_s, 1e-9);
}

}  // namespace
}  // namespace headway::test
