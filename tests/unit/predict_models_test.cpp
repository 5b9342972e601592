// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "formats/rank_placement.hpp"
#include "models/plogpt_of_topology.hpp"
#include "models/predict_models.hpp"
#include "plan/planner_measured.hpp"
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
    const HostCounts all = topology.count(every_host(topology));
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

bool leaves_out(const ModelTimes& models, const std::string& sentence) {
    return std::find(models.left_out.begin(), models.left_out.end(), sentence) !=
           models.left_out.end();
}

TEST(PredictModels, SaysWhatDoesNotApply) {
    const auto uneven = predict(
        *Topology::make({make_cluster(0, 4, 20, 25), make_cluster(1, 4, 10, 25)}));
    EXPECT_TRUE(leaves_out(uneven, "PlogP, PlogPT: the clusters' hosts differ in rate"));
    EXPECT_TRUE(leaves_out(uneven, "Steffenel's signature: no parameters are given"));
    const auto gather = predict(demo_topology(), Operation::gather);
    EXPECT_TRUE(leaves_out(gather, "PlogP, PlogPT: their closed forms are all-to-alls'"));
    EXPECT_TRUE(leaves_out(gather, "Lastovetsky's many-to-one: no parameters are given"));
    EXPECT_EQ(gather.times.size(), 5U) << "bound, unpaced, paced, Zhu twice";
    EXPECT_TRUE(leaves_out(predict(two_level_topology(40)),
                           "Zhu: it knows racks around one switch, not trees"));
}

// b of the second example of plogpt_of_topology.hpp, and a trunk that a single
// cluster's own makes slower: 40, then 25 below it, is 25.
TEST(PlogptOfTopology, ClustersOfClustersAreHeights) {
    const HostCounts all{{4, 4, 4, 4}};
    const auto network = plogpt_of_topology(two_level_topology(40), all);
    ASSERT_TRUE(network) << network.error().message;
    ASSERT_EQ(network->tree.height(), 4U);
    const double expected_mbps[] = {20, 40, 25, 40};
    for (unsigned h = 1; h <= 4; ++h) {
        EXPECT_DOUBLE_EQ(network->tree.bandwidth(h), expected_mbps[h - 1] * 1e6 / 8) << h;
    }
    const auto one_of_each = plogpt_of_topology(two_level_topology(40), {{4, 0, 0, 4}});
    ASSERT_TRUE(one_of_each) << one_of_each.error().message;
    ASSERT_EQ(one_of_each->tree.height(), 3U);
    EXPECT_DOUBLE_EQ(one_of_each->tree.bandwidth(3), 25e6 / 8);
}

// 3, 2 and 1 hosts: two heights each, and two more of trunks; nobody is at the other leaves.
TEST(PlogptOfTopology, HostsOfAnyNumberAreAtSomeOfTheLeaves) {
    const auto network = plogpt_of_topology(
        *Topology::make({make_cluster(0, 3, 20, 25), make_cluster(1, 2, 20, 25), make_cluster(2, 1, 20, 25)}),
        {{3, 2, 1}});
    ASSERT_TRUE(network) << network.error().message;
    EXPECT_EQ(network->leaf_of_host, (std::vector<std::uint32_t>{0, 1, 2, 4, 5, 8}));
    EXPECT_FALSE(network->is_full());
    const double expected_mbps[] = {20, 40, 25, 50};
    ASSERT_EQ(network->tree.height(), 4U);
    for (unsigned h = 1; h <= 4; ++h)
        EXPECT_DOUBLE_EQ(network->tree.bandwidth(h), expected_mbps[h - 1] * 1e6 / 8) << h;
}

// Measured on 8 hosts of two clusters: 64 KiB between them stand beside what the models say.
TEST(PredictModels, MeasuredTimesStandBesideThem) {
    Topology topology = demo_topology();
    EXPECT_FALSE(std::ranges::count(predict(topology).times, "measured", &ModelTime::model));
    MeasuredCosts costs;
    costs.all_to_alls = {{HostCounts{{4, 4}}, {{1024, 1e-3, 0, false, 1e-3}, {65536, 0.5, 0.25, true, 0.45}}}};
    topology.set_measured(std::make_shared<const MeasuredCosts>(std::move(costs)));
    const ModelTime measured = time_of(predict(topology), "measured");
    EXPECT_DOUBLE_EQ(measured.high_s, 0.5);
    EXPECT_DOUBLE_EQ(measured.low_s, 0.45);
    EXPECT_EQ(measured.reason, "the all-to-alls measured on 8 hosts, unpaced; packets were lost, and up to 25 % of "
                               "calls meet a time-out");
}

// A of 3 + 3 hosts with trunks that hold nobody up: 5 rounds of one message.
TEST(PredictModels, PlogptOfHostsThatFillNoTreeIsSimulated) {
    const auto models = predict(*Topology::make({make_cluster(0, 3, 20, 100), make_cluster(1, 3, 20, 100)}));
    EXPECT_NEAR(time_of(models, "PlogPT A").low_s, 5 * wire_64k * 8 / 20e6, 1e-9);
    EXPECT_NEAR(time_of(models, "PlogP A").low_s, 5 * wire_64k * 8 / 20e6, 1e-9);
    const auto shared = predict(*Topology::make({make_cluster(0, 3, 20, 10), make_cluster(1, 3, 20, 10)}));
    EXPECT_GE(time_of(shared, "PlogPT B").low_s, 9 * wire_64k * 8 / 10e6) << "9 messages over the trunk";
}

TEST(PlogptOfTopology, SaysWhyThereIsNone) {
    const auto reason = [](const Topology& topology, const HostCounts& hosts) {
        const auto network = plogpt_of_topology(topology, hosts);
        return network ? "" : network.error().message;
    };
    const Topology tree = two_level_topology(40);
    EXPECT_EQ(reason(tree, {{4, 0, 4, 4}}), "the clusters differ inside")
        << "of two clusters at one switch, and one at the other";
    EXPECT_EQ(reason(tree, {{1, 0, 0, 0}}), "it takes two hosts");
    EXPECT_EQ(reason(*Topology::make({make_cluster(0, 2, 20, 25), make_cluster(1, 2, 20, 25),
                                      make_cluster(2, 2, 20, 30)}),
                     {{2, 2, 2}}),
              "the clusters' trunks differ");
    EXPECT_EQ(reason(*Topology::make({make_cluster(0, 2, 20, 25), make_cluster(1, 2, 10, 25)}),
                     {{2, 2}}),
              "the clusters' hosts differ in rate");
    auto clusters = demo_topology().clusters();
    clusters[1].parent = "a";
    EXPECT_EQ(reason(*Topology::make(clusters), {{4, 4}}),
              "\"a\" has hosts and clusters below it");
}

// 7 messages of 69676 wire bytes into one edge of 20 Mbit/s, whoever they share
// the trunk with: 4 of them over 25 Mbit/s would take less.
TEST(PredictModels, ZhuOnAGather) {
    const auto models = predict(demo_topology(), Operation::gather);
    const double expected_s = 7 * wire_64k * 8 / 20e6;
    EXPECT_NEAR(time_of(models, "Zhu, static").low_s, expected_s, 1e-9);
    EXPECT_NEAR(time_of(models, "Zhu, max-min, dynamic").high_s, expected_s, 1e-9);
}

ModelTimes predict_fitted(Operation operation, const FittedParameters& fitted) {
    const Topology topology = demo_topology();
    const HostCounts all = topology.count(every_host(topology));
    return *predict_models(topology, PlanPolicy{}, {operation, all, 0, 1, fitted}, 65536);
}

// (5), m >= M: 7 (50 us + 2 * 65536 * 8 ns + 1 ms).
TEST(PredictModels, SignatureThatWasFitted) {
    FittedParameters fitted;
    fitted.contention = {{2, 1e-3, 1000}, {50e-6, 8e-9}, 8};
    const auto models = predict_fitted(Operation::alltoall, fitted);
    EXPECT_NEAR(time_of(models, "Steffenel").low_s, 7 * (50e-6 + 2 * 65536 * 8e-9 + 1e-3), 1e-12);
    EXPECT_TRUE(leaves_out(predict_fitted(Operation::gather, fitted),
                           "Steffenel's signature: it is of all-to-alls"));
}

// Sources of C = 1 ms behind 1 MB/s, 65536 bytes.  (7): 1.5 (1 + 65.536 + 6 * 1 ms).
// (2) one to many: 1 + 66.536 in parallel, 1 + 7 * 66.536 ms one by one.
TEST(PredictModels, ManyToOneThatWasFitted) {
    FittedParameters fitted;
    fitted.many_to_one.emplace();
    fitted.many_to_one->sources = {{{1e-3, 0}, 1e6}};
    fitted.many_to_one->regions = {1000, 2000, 0.5, 1, 1.5};
    const auto gather = predict_fitted(Operation::gather, fitted);
    EXPECT_NEAR(time_of(gather, "Lastovetsky").low_s, 1.5 * 72.536e-3, 1e-12);
    const auto scatter = predict_fitted(Operation::scatter, fitted);
    EXPECT_NEAR(time_of(scatter, "Lastovetsky").low_s, 67.536e-3, 1e-12);
    EXPECT_NEAR(time_of(scatter, "Lastovetsky").high_s, (1 + 7 * 66.536) * 1e-3, 1e-12);
    fitted.many_to_one->buffered_bytes = 65536;
    EXPECT_NEAR(time_of(predict_fitted(Operation::scatter, fitted), "Lastovetsky").high_s, 67.536e-3, 1e-12);
    fitted.many_to_one->buffered_bytes = 32768;
    EXPECT_NEAR(time_of(predict_fitted(Operation::scatter, fitted), "Lastovetsky").low_s, (1 + 7 * 66.536) * 1e-3, 1e-12);
    EXPECT_TRUE(leaves_out(predict_fitted(Operation::alltoall, fitted),
                           "Lastovetsky's many-to-one: the operation has no root"));
    fitted.many_to_one->sources.push_back({{2e-3, 0}, 1e6});
    EXPECT_TRUE(leaves_out(predict_fitted(Operation::gather, fitted),
                           "Lastovetsky's many-to-one: 2 different sources are described, and 7 are "
                           "needed"));
}

// b = 3, 4; g = 8 s; L = 3: the closed forms on measured parameters are those of
// the tree with 4 leaves, not of the topology with 8 hosts.
TEST(PredictModels, PlogptThatWasFitted) {
    FittedParameters fitted;
    fitted.plogpt.emplace(FittedPlogpt{
        *PlogptTree::make({{3, 4}, {0, 0}}, plogpt_default_eps_s, PlogptTree::Clamp::yes),
        *GapTable::make({{24, 8}}), 3});
    EXPECT_TRUE(leaves_out(predict_fitted(Operation::alltoall, fitted),
                           "PlogP, PlogPT: the fitted tree has 4 leaves, and 8 processes are no "
                           "power of two up to that"));
    const auto four = *predict_models(demo_topology(), PlanPolicy{},
                                      {Operation::alltoall, {{2, 2}}, 0, 1, fitted}, 24);
    EXPECT_NEAR(time_of(four, "PlogP A").low_s, 3 * (8 + 3), 1e-12);
    // of two hosts on both sides of the trunk, and of several ranks on a host, the topology knows more
    const auto seconds = [&](HostCounts hosts, std::uint32_t ranks) {
        return time_of(*predict_models(demo_topology(), PlanPolicy{}, {Operation::alltoall, std::move(hosts), 0, ranks, fitted},
                                       24), "PlogP A").low_s;
    };
    EXPECT_LT(seconds({{1, 1}}, 1), 1);
    EXPECT_LT(seconds({{2, 2}}, 2), 1);
}

// A program of two hosts is not put at the first leaves of a tree that was measured on four.
TEST(PredictModels, ProgramOfFewerHostsThanWereFitted) {
    using Kind = PlogptOperationKind;
    const auto program = *PlogptListedPrograms::make({{{Kind::isend, 1, 65536, 0}, {Kind::wait, 0, 0, 0}},
                                                      {{Kind::irecv, 0, 65536, 0}, {Kind::wait, 0, 0, 0}}});
    FittedParameters fitted;
    fitted.plogpt.emplace(FittedPlogpt{
        *PlogptTree::make({{3, 4}, {0, 0}}, plogpt_default_eps_s, PlogptTree::Clamp::yes), *GapTable::make({{24, 8}}), 3});
    const auto two = predict_program(demo_topology(), {{1, 1}}, fitted, program);
    ASSERT_TRUE(two);
    EXPECT_EQ(time_of(*two, "PlogPT, no time-out").reason, "1 message, as the topology says");
    const auto four = predict_program(demo_topology(), {{2, 2}}, fitted, program);
    ASSERT_TRUE(four);
    EXPECT_EQ(time_of(*four, "PlogPT, no time-out").reason, "1 message, as fitted");
}

// One message from rank 0 to rank 4 of the demo's hosts, alone: its wire bytes
// over the edge of 20 Mbit/s, and the trunk's delay.
TEST(PredictModels, ProgramIsSimulated) {
    using Kind = PlogptOperationKind;
    std::vector<std::vector<PlogptOperation>> operations(5);
    operations[0] = {{Kind::isend, 4, 65536, 0}, {Kind::wait, 0, 0, 0}};
    operations[4] = {{Kind::irecv, 0, 65536, 0}, {Kind::wait, 0, 0, 0}};
    const auto program = PlogptListedPrograms::make(operations);
    ASSERT_TRUE(program) << program.error().message;
    auto clusters = demo_topology().clusters();
    for (Cluster& cluster : clusters) cluster.trunk_delay = 1ms;
    const auto models =
        predict_program(*Topology::make(clusters), {{4, 4}}, FittedParameters{}, *program);
    ASSERT_TRUE(models) << models.error().message;
    EXPECT_NEAR(time_of(*models, "PlogPT, no time-out").low_s, wire_64k * 8 / 20e6 + 1e-3, 1e-9);
    EXPECT_NEAR(time_of(*models, "PlogPT").high_s, wire_64k * 8 / 20e6 + 1e-3, 1e-9);
    const auto other = predict_program(*Topology::make(clusters), {{3, 3}}, FittedParameters{}, *program);
    ASSERT_TRUE(other) << "ranks 0 and 4 are still in two clusters";
    EXPECT_NEAR(time_of(*other, "PlogPT").high_s, time_of(*models, "PlogPT").high_s, 1e-12);
    EXPECT_FALSE(predict_program(*Topology::make(clusters), {{2, 2}}, FittedParameters{}, *program)) << "of 5 processes";
}

TEST(PredictModels, MatrixIsAnExchange) {
    const Topology topology = demo_topology();
    const auto models = predict_exchange(
        topology, PlanPolicy{}, make_exchange(topology, {0, 4}, {{0, 1448000}, {0, 0}}));
    ASSERT_TRUE(models) << models.error().message;
    EXPECT_NEAR(time_of(*models, "bound").low_s, 1000 * 1538 * 8 / 20e6, 1e-9);
    EXPECT_EQ(time_of(*models, "fluid, unpaced").high_s, time_of(*models, "bound").low_s);
}

// The example of rank_placement.hpp.
TEST(RankPlacement, BySlotAndByNode) {
    const auto matrix = TrafficMatrix::make(4, {{0, 3, 100, 1}, {0, 2, 10, 1}, {2, 3, 1, 1}});
    const auto slot = bytes_between_hosts(*matrix, 2, 2, RankPlacement::by_slot);
    ASSERT_TRUE(slot);
    EXPECT_EQ(*slot, (std::vector<std::vector<double>>{{0, 110}, {0, 0}}));
    const auto node = bytes_between_hosts(*matrix, 2, 2, RankPlacement::by_node);
    EXPECT_EQ(*node, (std::vector<std::vector<double>>{{0, 101}, {0, 0}}));
    EXPECT_EQ(bytes_between_hosts(*matrix, 3, 1, RankPlacement::by_slot).error().message,
              "4 ranks do not fit on 3 hosts with 1 on each");
    EXPECT_EQ(parse_rank_placement("node"), RankPlacement::by_node);
    EXPECT_FALSE(parse_rank_placement("socket"));
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
