// SPDX-License-Identifier: Apache-2.0
// What is inferred from experiments, on networks that are computed.
#include <gtest/gtest.h>

#include <limits>

#include "computed_laboratory.hpp"
#include "config/network_file.hpp"
#include "measure/agent_messages.hpp"
#include "measure/arrivals.hpp"
#include "measure/asymmetric_routes.hpp"
#include "measure/confidence.hpp"
#include "measure/interference.hpp"
#include "measure/measured_tree.hpp"
#include "measure/message_measurement.hpp"
#include "measure/network_difference.hpp"
#include "measure/tree_heights.hpp"

namespace headway {
namespace {

std::vector<std::string> names_of(std::size_t hosts) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < hosts; ++i)
        names.push_back((i < hosts / 2 ? "a" : "b") + std::to_string(i < hosts / 2 ? i : i - hosts / 2));
    return names;
}

std::vector<std::string> addresses_of(std::size_t hosts) {
    std::vector<std::string> addresses;
    for (std::size_t i = 0; i < hosts; ++i)
        addresses.push_back("10." + std::string(i < hosts / 2 ? "1" : "2") + ".0." + std::to_string(i + 1));
    return addresses;
}

/// 4 hosts on each of two switches, a trunk of 1.25 Gbit/s.
ComputedLaboratory two_clusters(ComputedLink trunk = {156.25e6, 50e-6, 32768}) {
    HostTree tree(8);
    const std::vector<std::size_t> below{4, 5, 6, 7};
    const std::size_t node = tree.add_switch(tree.root(), below);
    ComputedLaboratory laboratory(std::move(tree));
    laboratory.set_both(node, trunk);
    return laboratory;
}

/// Two pods of two leaves of three hosts; leaves have 2.5, the second pod 3 Gbit/s.
ComputedLaboratory three_levels() {
    HostTree tree(12);
    const auto leaf = [&](std::size_t parent, std::vector<std::size_t> hosts) { return tree.add_switch(parent, hosts); };
    const std::size_t first = leaf(tree.root(), {0, 1, 2}), second = leaf(tree.root(), {3, 4, 5});
    const std::size_t pod = leaf(tree.root(), {6, 7, 8, 9, 10, 11});
    const std::size_t third = leaf(pod, {6, 7, 8}), fourth = leaf(pod, {9, 10, 11});
    ComputedLaboratory laboratory(std::move(tree));
    for (const std::size_t node : {first, second, third, fourth}) laboratory.set_both(node, {200e6, 20e-6, 49152});
    laboratory.set_both(pod, {300e6, 100e-6, 98304});
    return laboratory;
}

Result<MeasuredNetwork> measure(ComputedLaboratory& laboratory) {
    return NetworkMeasurement(laboratory, names_of(laboratory.host_count()), {}).run();
}

std::vector<std::string> against(const ComputedLaboratory& laboratory, const MeasuredNetwork& network,
                                 const std::string& toml) {
    const auto said = parse_topology_toml(toml, "headway.toml");
    EXPECT_TRUE(said) << (said ? "" : said.error().front().to_string());
    const auto names = names_of(laboratory.host_count());
    return differences(*links_of(*NetworkTree::make(said->network), names), links_of(network), names, network.resolution_s);
}

constexpr const char* right_toml = R"(
[[cluster]]
name = "a"
hosts = ["a[0-3]"]
host_rate = "1gbit"
host_buffer = "64KiB"
trunk_rate = "1250mbit"
trunk_delay = "50us"
trunk_buffer = "32KiB"
[[cluster]]
name = "b"
hosts = ["b[0-3]"]
host_rate = "1gbit"
host_buffer = "64KiB"
trunk_rate = "1250mbit"
trunk_buffer = "32KiB"
)";

std::string with(std::string text, const std::string& what, const std::string& instead) {
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + instead.size()))
        text.replace(at, what.size(), instead);
    return text;
}

/// Every trunk of the truth has been found, with its capacity, delay and buffer, and no other.
void expect_found(const ComputedLaboratory& truth, const MeasuredNetwork& found) {
    EXPECT_EQ(found.tree.trunks().size(), truth.tree().trunks().size());
    const auto sides = links_of(found);
    for (const std::size_t trunk : truth.tree().trunks()) {
        HostSide side = truth.tree().hosts_below(trunk);
        bool is_turned = false;
        if (side.front() == 0) {
            HostSide rest;
            for (std::size_t host = 0; host < truth.host_count(); ++host) {
                if (!std::binary_search(side.begin(), side.end(), host)) rest.push_back(host);
            }
            side = rest;
            is_turned = true;
        }
        ASSERT_TRUE(sides.contains(side)) << "trunk " << trunk;
        for (const bool is_up : {true, false}) {
            const ComputedLink& link = truth.links.at({trunk, is_up});
            const LinkSide& measured = is_up != is_turned ? sides.at(side).out : sides.at(side).in;
            EXPECT_TRUE(measured.is_exact);
            EXPECT_NEAR(measured.bytes_per_s / link.bytes_per_s, 1, 0.02);
            EXPECT_NEAR(sides.at(side).delay_s, link.delay_s, 0.05 * link.delay_s + 0.2e-6);
            if (measured.buffer_bytes) {
                EXPECT_NEAR(*measured.buffer_bytes, link.buffer_bytes, 1514);
            }
        }
    }
}

TEST(MeasureNetwork, FindsTwoClusters) {
    auto laboratory = two_clusters();
    const auto found = measure(laboratory);
    ASSERT_TRUE(found) << found.error().message;
    expect_found(laboratory, *found);
    EXPECT_EQ(found->buffers.size(), 2 + 4);  // the trunk's ends, two ports of each switch
    EXPECT_TRUE(found->remarks.empty()) << found->remarks.front();
    EXPECT_LT(laboratory.bytes_sent, 300'000'000);
}

TEST(MeasureNetwork, FindsThreeLevels) {
    auto laboratory = three_levels();
    const auto found = measure(laboratory);
    ASSERT_TRUE(found) << found.error().message;
    expect_found(laboratory, *found);
}

TEST(MeasureNetwork, FillsATrunkByMoreHostsThanAreBehindIt) {
    HostTree tree(8);
    const std::vector<std::size_t> below_a{0, 1, 2}, below_b{3, 4, 5}, below_c{6, 7};
    const std::size_t a = tree.add_switch(tree.root(), below_a), b = tree.add_switch(tree.root(), below_b),
                      c = tree.add_switch(tree.root(), below_c);
    ComputedLaboratory laboratory(std::move(tree));
    laboratory.set_both(a, {250e6, 50e-6, 65536});
    laboratory.set_both(b, {187.5e6, 80e-6, 65536});
    laboratory.set_both(c, {150e6, 30e-6, 49152});
    const auto found = measure(laboratory);
    ASSERT_TRUE(found) << found.error().message;
    expect_found(laboratory, *found);
    for (const std::size_t trunk : found->tree.trunks()) {
        const std::size_t hosts = found->tree.hosts_below(trunk).size();
        EXPECT_TRUE(found->buffers.contains({trunk, false})) << "towards " << hosts << " hosts";
    }
}

TEST(MeasureNetwork, FindsDirectionsOfATrunkThatDiffer) {
    auto laboratory = two_clusters();
    const std::size_t trunk = laboratory.tree().trunks().front();
    laboratory.links[{trunk, true}].bytes_per_s = 250e6;
    const auto found = measure(laboratory);
    ASSERT_TRUE(found) << found.error().message;
    expect_found(laboratory, *found);
}

TEST(MeasureNetwork, SaysAtLeastOfATrunkThatHostsCannotFill) {
    auto laboratory = two_clusters({5e9, 20e-6, 1e6});
    const auto found = measure(laboratory);
    ASSERT_TRUE(found) << found.error().message;
    const std::size_t trunk = found->tree.trunks().at(0);
    for (const bool is_up : {true, false}) {
        const LinkCapacity& capacity = found->capacities.at({trunk, is_up});
        EXPECT_FALSE(capacity.is_exact);
        EXPECT_NEAR(capacity.bytes_per_s, 4 * 125e6, 0.02 * 4 * 125e6);
        EXPECT_FALSE(found->buffers.contains({trunk, is_up}));
    }
    ASSERT_EQ(found->remarks.size(), 2);
    EXPECT_NE(found->remarks[0].find("hosts cannot fill it"), std::string::npos);
}

TEST(MeasureNetwork, FindsByInterferenceWhatDelaysDoNotShow) {
    auto laboratory = two_clusters({156.25e6, 0, 32768});
    laboratory.noise_s = 300e-6;  // far more than a switch takes
    const auto found = measure(laboratory);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_GT(found->resolution_s, 1538 / 156.25e6);
    ASSERT_EQ(found->tree.trunks().size(), 1);
    HostSide below = found->tree.hosts_below(found->tree.trunks()[0]);
    EXPECT_TRUE((below == HostSide{0, 1, 2, 3}) || (below == HostSide{4, 5, 6, 7}));
}

TEST(MeasureNetwork, LeavesOneSwitchAlone) {
    ComputedLaboratory laboratory(HostTree(6));
    const auto found = measure(laboratory);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_TRUE(found->tree.trunks().empty());
    for (std::size_t host = 0; host < 6; ++host) {
        EXPECT_TRUE(found->capacities.at({host, true}).is_exact);
        EXPECT_TRUE(found->capacities.at({host, false}).is_exact);
    }
}

TEST(MeasureNetwork, TwoHostsAreANetwork) {
    ComputedLaboratory laboratory(HostTree(2));
    const auto found = measure(laboratory);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_TRUE(network_tree_of(*found, names_of(2), addresses_of(2)));
}

// ------------------------------------------------------------------ the description

TEST(MeasureNetwork, AHostThatBeginsTooLateIsAskedAgain) {
    auto laboratory = two_clusters();
    laboratory.late_bulks = 4;
    EXPECT_TRUE(measure(laboratory));
    EXPECT_EQ(laboratory.late_bulks, 0);
    laboratory.late_bulks = 5;
    const auto network = measure(laboratory);
    ASSERT_FALSE(network);
    EXPECT_EQ(network.error().message, "a1 received too little of what a0 sent, in each of 5 attempts; in the last "
                                       "1 of 1 frames: a firewall, or a host that is busy");
}

TEST(MeasureNetwork, DescribesItAsItIs) {
    auto laboratory = two_clusters();
    const auto found = measure(laboratory);
    ASSERT_TRUE(found);
    const auto tree = network_tree_of(*found, names_of(8), addresses_of(8));
    ASSERT_TRUE(tree) << tree.error().message;
    const std::string toml = write_topology_toml(*tree);
    const auto read = parse_topology_toml(toml, "x");
    ASSERT_TRUE(read) << toml << read.error().front().to_string();
    ASSERT_TRUE(read->clusters) << toml << read->clusters.error().to_string();
    EXPECT_EQ(read->clusters->clusters().size(), 2);
    EXPECT_EQ(read->clusters->clusters()[0].name, "a");
    EXPECT_EQ(against(laboratory, *found, toml), std::vector<std::string>());
    EXPECT_EQ(against(laboratory, *found, right_toml), std::vector<std::string>());
}

TEST(MeasureNetwork, DescribesATreeThatHeadwaydPlansFor) {
    auto laboratory = three_levels();
    const auto found = measure(laboratory);
    ASSERT_TRUE(found);
    const auto tree = network_tree_of(*found, names_of(12), addresses_of(12));
    ASSERT_TRUE(tree) << tree.error().message;
    const std::string toml = write_topology_toml(*tree);
    const auto read = parse_topology_toml(toml, "x");
    ASSERT_TRUE(read) << toml << read.error().front().to_string();
    ASSERT_TRUE(read->clusters) << toml << read->clusters.error().to_string();
    EXPECT_EQ(read->clusters->clusters().size(), 4);
    EXPECT_EQ(against(laboratory, *found, toml), std::vector<std::string>());
}

// A reader of headway.toml sees which of its numbers are lower bounds.
TEST(MeasureNetwork, NamesWhatItDidNotMeasure) {
    auto laboratory = two_clusters();
    auto found = measure(laboratory);
    ASSERT_TRUE(found);
    for (auto& [link, capacity] : found->capacities) capacity.is_exact = true;
    for (auto& [link, buffer] : found->buffers) buffer.is_lower_bound = false;
    EXPECT_EQ(notes_on_values(*found, names_of(8)), std::vector<std::string>());
    found->capacities.at({0, true}).is_exact = false;
    found->capacities.at({5, false}).is_exact = false;
    found->capacities.erase({2, true});
    const std::size_t trunk = found->tree.trunks().front();
    found->capacities.at({trunk, true}).is_exact = false;
    found->buffers.at({trunk, true}).is_lower_bound = true;
    found->ended_by = Error{"no more bytes"};
    const std::string name = "the trunk of " + switch_names(found->tree, names_of(8))[trunk];
    EXPECT_EQ(notes_on_values(*found, names_of(8)),
              (std::vector<std::string>{
                  "At least so fast, nothing filled the link: a0 up, b1 down, " + name + " up.",
                  "Left out, a buffer that was never full: " + name + " up.",
                  "Not measured, the rate of the other direction is taken: a2 up.",
                  "The measurement ended early: no more bytes."}));
}

TEST(MeasureNetwork, DescribesOneSwitch) {
    ComputedLaboratory laboratory(HostTree(6));
    laboratory.set_both(4, {12.5e6, 0, 65536});
    const auto found = measure(laboratory);
    ASSERT_TRUE(found);
    const auto tree = network_tree_of(*found, names_of(6), addresses_of(6));
    ASSERT_TRUE(tree) << tree.error().message;
    EXPECT_EQ(against(laboratory, *found, write_topology_toml(*tree)), std::vector<std::string>());
}

TEST(MeasureNetwork, DescribesARootWithHosts) {
    HostTree truth(9);
    const std::vector<std::size_t> left{3, 4, 5}, right{6, 7, 8};
    const std::size_t a = truth.add_switch(truth.root(), left), b = truth.add_switch(truth.root(), right);
    ComputedLaboratory laboratory(std::move(truth));
    for (const std::size_t node : {a, b}) laboratory.set_both(node, {200e6, 50e-6, 32768});
    const auto found = measure(laboratory);
    ASSERT_TRUE(found);
    expect_found(laboratory, *found);
    const auto tree = network_tree_of(*found, names_of(9), addresses_of(9));
    ASSERT_TRUE(tree) << tree.error().message;
    const std::string toml = write_topology_toml(*tree);
    const auto read = parse_topology_toml(toml, "x");
    ASSERT_TRUE(read) << toml << read.error().front().to_string();
    EXPECT_TRUE(read->clusters) << toml << read->clusters.error().to_string();
    EXPECT_EQ(against(laboratory, *found, toml), std::vector<std::string>());
}

TEST(MeasureNetwork, NamesATrunkThatIsDescribedTooFast) {
    auto laboratory = two_clusters();
    const auto found = measure(laboratory);
    ASSERT_TRUE(found);
    const auto wrong = against(laboratory, *found, with(right_toml, "1250mbit", "1500mbit"));
    ASSERT_EQ(wrong.size(), 2);
    for (const std::string& sentence : wrong) {
        EXPECT_NE(sentence.find("b[0-3]"), std::string::npos);
        EXPECT_NE(sentence.find("20 % too fast"), std::string::npos) << sentence;
    }
}

TEST(MeasureNetwork, NamesBuffersThatAreNotThere) {
    auto laboratory = two_clusters();
    const auto found = measure(laboratory);
    ASSERT_TRUE(found);
    const auto wrong =
        against(laboratory, *found, with(right_toml, "trunk_buffer = \"32KiB\"", "trunk_buffer = \"1MiB\""));
    ASSERT_EQ(wrong.size(), 2);
    EXPECT_NE(wrong[0].find("buffer"), std::string::npos);
    EXPECT_NE(wrong[0].find("1048576"), std::string::npos) << wrong[0];
}

// What a measurement fills of four links is chance, so nothing is wrong with what the file says of them.
TEST(MeasureNetwork, DoesNotJudgeSeveralLinks) {
    auto laboratory = two_clusters();
    const auto found = measure(laboratory);
    ASSERT_TRUE(found);
    const std::string hashed = "trunk_rate = \"500mbit\"\nuplinks = 4";
    EXPECT_TRUE(against(laboratory, *found, with(right_toml, "trunk_rate = \"1250mbit\"", hashed)).empty());
}

TEST(MeasureNetwork, NamesHostsThatAreExchanged) {
    auto laboratory = two_clusters();
    const auto found = measure(laboratory);
    ASSERT_TRUE(found);
    const auto wrong = against(laboratory, *found,
                               with(with(right_toml, "\"a[0-3]\"", "\"a[0-2]\", \"b1\""), "\"b[0-3]\"", "\"a3\", \"b0\", \"b[2-3]\""));
    ASSERT_EQ(wrong.size(), 1);
    EXPECT_EQ(wrong[0], "a3 and b1 are exchanged");
}

TEST(MeasureNetwork, NamesAHostThatIsSlower) {
    auto laboratory = two_clusters();
    laboratory.set_both(2, {12.5e6, 0, 65536});
    const auto found = measure(laboratory);
    ASSERT_TRUE(found);
    const auto wrong = against(laboratory, *found, right_toml);
    ASSERT_EQ(wrong.size(), 2);
    EXPECT_NE(wrong[0].find("a2"), std::string::npos) << wrong[0];
}

// --------------------------------------------------------------------------- parts

ArrivalSummary summary_of(const std::vector<Arrival>& arrivals) {
    const std::span<const Arrival> flow(arrivals);
    return summarise({&flow, 1}).front();
}

// ---------------------------------------------------------------------- routes

/// Returns routes between all pairs, over that many routers and by one interface.
std::vector<SeenRoute> routes_of(std::size_t hosts, unsigned hops) {
    std::vector<SeenRoute> routes;
    for (std::size_t from = 0; from < hosts; ++from) {
        for (std::size_t to = 0; to < hosts; ++to) {
            if (from != to) routes.push_back({from, to, hops, "eth0", "eth0"});
        }
    }
    return routes;
}

SeenRoute& route(std::vector<SeenRoute>& routes, std::size_t from, std::size_t to) {
    return *std::ranges::find_if(routes, [&](const SeenRoute& one) { return one.from == from && one.to == to; });
}

TEST(Routes, TheSameThereAndBackAreRight) {
    auto routes = routes_of(4, 2);
    route(routes, 0, 1).hops = route(routes, 1, 0).hops = 3;  // another pair's are its own
    EXPECT_FALSE(routes_that_differ(routes, names_of(4)));
    EXPECT_TRUE(interfaces_that_differ(routes, names_of(4)).empty());
    route(routes, 2, 3).hops = std::nullopt;  // not told
    route(routes, 2, 3).enters = "";
    route(routes, 3, 2).leaves = "";
    EXPECT_FALSE(routes_that_differ(routes, names_of(4)));
    EXPECT_TRUE(interfaces_that_differ(routes, names_of(4)).empty());
    EXPECT_FALSE(routes_that_differ({}, names_of(4)));
}

TEST(Routes, ThatDifferEndTheMeasurementBeforeAnyBulk) {
    auto laboratory = two_clusters();
    laboratory.seen_routes = routes_of(8, 1);
    route(laboratory.seen_routes, 5, 2).hops = 2;
    const auto one = measure(laboratory);
    ASSERT_FALSE(one);
    EXPECT_NE(one.error().message.find("frames from a2 to b1 pass 1 router, those from b1 to a2 2 routers: half of a round trip"),
              std::string::npos) << one.error().message;
    EXPECT_EQ(laboratory.bytes_sent, 0U);
    route(laboratory.seen_routes, 0, 7).hops = 0;
    const auto two = measure(laboratory);
    ASSERT_FALSE(two);
    EXPECT_NE(two.error().message.find("frames from a0 to b3 pass no router, those from b3 to a0 1 router, and so for 1 other pair:"),
              std::string::npos) << two.error().message;
}

TEST(Routes, ByAnotherInterfaceAreTold) {
    auto laboratory = two_clusters();
    laboratory.seen_routes = routes_of(8, 0);
    for (const std::size_t from : {0, 1}) route(laboratory.seen_routes, from, 6).enters = "eth1";
    const auto found = measure(laboratory);
    ASSERT_TRUE(found) << found.error().message;
    const auto told = std::ranges::count_if(found->remarks, [](const std::string& remark) {
        return remark.starts_with("frames from a0 come to b2 by its interface eth1, but those from b2 to a0 leave by eth0, and so "
                                  "for 1 other host:");
    });
    EXPECT_EQ(told, 1);
    EXPECT_EQ(interfaces_that_differ(laboratory.seen_routes, names_of(8)).size(), 1U);
}

TEST(Routes, AreReadAsTheyWereTold) {
    const std::vector<SeenRoute> told{{3, 1, 2U, "eth0", "eth1"}, {4, 1, std::nullopt, "", ""}};
    const auto read = read_routes(json_of(told), 1);
    ASSERT_TRUE(read);
    ASSERT_EQ(read->size(), 2U);
    EXPECT_EQ((*read)[0].from, 3U);
    EXPECT_EQ((*read)[0].to, 1U);
    EXPECT_EQ((*read)[0].hops, 2U);
    EXPECT_EQ((*read)[0].enters, "eth0");
    EXPECT_EQ((*read)[0].leaves, "eth1");
    EXPECT_FALSE((*read)[1].hops);
    EXPECT_FALSE(read_routes(AgentJson{{"from", {{0, "many", "", ""}}}}, 1));
}

TEST(Arrivals, CountTheMiddleHalf) {
    std::vector<Arrival> arrivals;
    for (std::uint32_t i = 0; i < 101; ++i) arrivals.push_back({1000 * i, i, 100});
    // at the ends hosts are alone, and twice as fast
    arrivals.push_back({100'500, 101, 100});
    EXPECT_EQ(summary_of(arrivals).frames, 102);
    EXPECT_DOUBLE_EQ(summary_of(arrivals).bytes_per_s, 1e8);
    arrivals.insert(arrivals.begin() + 51, arrivals[50]);
    EXPECT_EQ(summary_of(arrivals).frames, 102);
    EXPECT_EQ(summary_of({}).frames, 0);
    EXPECT_EQ(summary_of({{1, 0, 100}, {2, 1, 100}}).bytes_per_s, 0);
}

/// One flow has the link to itself at first, the other at last; together they fill it.
TEST(Arrivals, OfAReceiverAddUp) {
    std::vector<Arrival> first, second;
    for (std::uint32_t i = 0; i < 1000; ++i) {
        const bool is_second = i >= 300 && (i >= 700 || i % (i < 500 ? 4 : 2) == 0);
        auto& flow = is_second ? second : first;
        flow.push_back({1000 * i, static_cast<std::uint32_t>(flow.size()), 100});
    }
    const std::vector<std::span<const Arrival>> flows{first, second};
    const auto summaries = summarise(flows);
    EXPECT_NEAR(summaries[0].bytes_per_s + summaries[1].bytes_per_s, 1e8, 1);
}

TEST(Confidence, IsStudents) {
    const std::vector<double> samples{1, 2, 3, 4};
    const Mean mean = mean_of(samples);
    EXPECT_DOUBLE_EQ(mean.value, 2.5);
    EXPECT_NEAR(mean.half_width, 3.182 * 1.2909944 / 2, 1e-4);
    EXPECT_FALSE(mean.is_known_well());
    EXPECT_TRUE(std::isinf(mean_of(std::span(samples).first(1)).half_width));
    const std::vector<double> disturbed{1, 1.01, 0.99, 1, 1.02, 0.98, 1, 200};
    EXPECT_NEAR(undisturbed_mean(disturbed).value, 1, 0.01);
    EXPECT_EQ(undisturbed_mean(disturbed).samples, 7);
}

// ------------------------------------------------------------ shares of a link

/// Hosts whose messages, or the answers to them, come after so many seconds for each place in a step.
class ScriptedRounds final : public Laboratory {
public:
    explicit ScriptedRounds(std::size_t hosts) : hosts_(hosts) {}

    std::vector<std::size_t> flows;  ///< of each experiment, as the first program receives

    [[nodiscard]] std::size_t host_count() const override { return hosts_; }
    [[nodiscard]] std::chrono::nanoseconds start_skew() const override { return {}; }
    [[nodiscard]] Result<BulkOutcome> run(const Bulk&) override { return failure("only rounds"); }
    void connect_anew() override {}
    [[nodiscard]] Result<std::vector<SeenRoute>> routes() override { return failure("only rounds"); }
    [[nodiscard]] Result<std::vector<ProgramOutcome>> run(const Rounds& rounds) override {
        EXPECT_TRUE(rounds.tells_receipts);
        flows.push_back(rounds.programs.front().steps.back().receive.size());
        std::vector<ProgramOutcome> outcomes;
        for (const HostProgram& program : rounds.programs) {
            ProgramOutcome outcome;
            for (std::uint32_t round = 0; round < rounds.count; ++round) {
                std::vector<double> received_s;
                for (std::size_t i = 0; i < program.steps.back().receive.size(); ++i)
                    received_s.push_back(round == 0 ? 1e6 : 1.0 + static_cast<double>(i));  // the first does not count
                outcome.received_s.push_back(std::move(received_s));
            }
            outcomes.push_back(std::move(outcome));
        }
        return outcomes;
    }

private:
    std::size_t hosts_;
};

TEST(Shares, AreOfEachFlowUntilItsEnd) {
    ScriptedRounds laboratory(8);
    MeasuredNetwork network(8);
    network.tree.add_switch(network.tree.root(), std::vector<std::size_t>{4, 5, 6, 7});
    int told = 0;
    const auto shares = measure_shares(laboratory, network, [&] { ++told; });
    ASSERT_TRUE(shares);
    // 1, 2, 4 and 7 out of and into the first host, 1, 2 and 4 pairs across the trunk, and both ways
    EXPECT_EQ(laboratory.flows, (std::vector<std::size_t>{1, 1, 2, 2, 4, 4, 7, 7, 1, 1, 1, 3}));
    EXPECT_EQ(told, 12);
    ASSERT_EQ(shares->links.size(), 11);
    constexpr double bytes = 512 << 10;
    const SharedLink& in = shares->links[7];
    EXPECT_EQ(in.place, SharedLink::Place::into_host);
    EXPECT_EQ(in.flows, 7);
    EXPECT_DOUBLE_EQ(in.most_bytes_per_s, bytes);
    EXPECT_DOUBLE_EQ(in.least_bytes_per_s, bytes / 7);
    EXPECT_DOUBLE_EQ(in.total_bytes_per_s, 7 * bytes / 7);
    const SharedLink& trunk = shares->links[10];
    EXPECT_EQ(trunk.place, SharedLink::Place::across_trunk);
    EXPECT_EQ(trunk.flows, 4);
    EXPECT_DOUBLE_EQ(trunk.total_bytes_per_s, 4 * bytes);
    ASSERT_TRUE(shares->both_ways);
    EXPECT_DOUBLE_EQ(shares->both_ways->in_bytes_per_s, (bytes + bytes / 2) / 2);
    EXPECT_DOUBLE_EQ(shares->both_ways->out_bytes_per_s, bytes / 3);
}

// ------------------------------------------------------------- shared buffers

TEST(Sharing, OfPortsThatHaveMemoryOfTheirOwn) {
    auto laboratory = two_clusters();
    const auto found = measure(laboratory);
    ASSERT_TRUE(found);
    ASSERT_EQ(found->sharing.size(), 2) << "of both switches";
    for (const MeasuredSharing& one : found->sharing) EXPECT_EQ(one.is_shared(), false) << one.together.bytes;
}

TEST(Sharing, OfPortsThatDivideMemory) {
    auto laboratory = two_clusters();
    laboratory.shared_bytes = 65536;
    const auto found = measure(laboratory);
    ASSERT_TRUE(found);
    ASSERT_EQ(found->sharing.size(), 2);
    for (const MeasuredSharing& one : found->sharing) {
        EXPECT_EQ(one.is_shared(), true);
        EXPECT_NEAR(one.alone.bytes, 65536, 2000);
        EXPECT_NEAR(one.together.bytes, 32768, 2000);
    }
}

TEST(Sharing, IsNotToldWhereItCannotBeKnown) {
    const MeasuredSharing small{0, 1, {4000, 1514, false}, {3500, 1514, false}};
    EXPECT_FALSE(small.is_shared());
    const MeasuredSharing open{0, 1, {90'000, 1514, true}, {40'000, 1514, false}};
    EXPECT_FALSE(open.is_shared());
    auto laboratory = three_levels();  // of three hosts each
    const auto found = measure(laboratory);
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->sharing.empty());
    EXPECT_TRUE(std::ranges::any_of(found->remarks, [](const std::string& remark) {
        return remark.starts_with("whether ports of a switch share memory is not known");
    }));
}

// ------------------------------------------------------------ PlogPT's heights

HostTree tree_with_switch(std::size_t hosts, std::vector<std::size_t> below) {
    HostTree tree(hosts);
    tree.add_switch(tree.root(), below);
    return tree;
}

TEST(Heights, LeavesOfASwitchStayTogether) {
    EXPECT_EQ(*binary_leaf_order(tree_with_switch(8, {0, 2, 4, 6})), (std::vector<std::size_t>{0, 2, 4, 6, 1, 3, 5, 7}));
    HostTree pods(8);  // two leaves of two hosts at the root, and a switch with two such leaves
    const std::vector<std::size_t> pod{4, 5, 6, 7}, leaves[] = {{0, 1}, {2, 3}, {4, 6}, {5, 7}};
    const std::size_t other = pods.add_switch(pods.root(), pod);
    for (const auto& leaf : leaves) pods.add_switch(leaf.front() < 4 ? pods.root() : other, leaf);
    EXPECT_EQ(*binary_leaf_order(pods), (std::vector<std::size_t>{0, 1, 2, 3, 4, 6, 5, 7}));
    EXPECT_EQ(*binary_leaf_order(HostTree(4)), (std::vector<std::size_t>{0, 1, 2, 3}));
}

TEST(Heights, AreThoseOfAPerfectTree) {
    EXPECT_EQ(binary_leaf_order(HostTree(6)).error().message,
              "the 6 hosts at a switch cannot be divided into halves again and again");
    EXPECT_FALSE(binary_leaf_order(tree_with_switch(8, {5, 6, 7})));
    EXPECT_EQ(*binary_leaf_order(tree_with_switch(4, {0, 2})), (std::vector<std::size_t>{0, 2, 1, 3}))
        << "two hosts of the root are a half";
}

TEST(Heights, ABurstFillsTheLinksAtTheTop) {
    const HostTree tree = tree_with_switch(8, {4, 5, 6, 7});
    const auto flows = burst_of_height(*binary_leaf_order(tree), 3);
    ASSERT_EQ(flows.size(), 4);
    EXPECT_EQ(flows[1].from, 1);
    EXPECT_EQ(flows[1].to, 5);
    const std::size_t trunk = tree.trunks().front();
    EXPECT_EQ(top_links(tree, flows[1]), (std::vector<DirectedLink>{{trunk, false}}));
    EXPECT_EQ(top_links(tree, {5, 1}), (std::vector<DirectedLink>{{trunk, true}, {1, false}}));
    EXPECT_EQ(top_links(tree, {0, 1}), (std::vector<DirectedLink>{{1, false}}));
}

/// b and d as the links have them: the trunk of 1.25 Gbit/s is the third height.
TEST(Heights, AreMeasured) {
    auto laboratory = two_clusters();
    const auto found = measure(laboratory);
    ASSERT_TRUE(found);
    ASSERT_EQ(found->heights.size(), 3);
    const double bandwidth[] = {125e6, 250e6, 156.25e6}, delay_s[] = {65536 / 125e6, 65536 / 125e6, 32768 / 156.25e6};
    for (std::size_t h = 0; h < 3; ++h) {
        const MeasuredHeight& height = found->heights[h];
        EXPECT_EQ(height.pairs.size(), std::size_t{1} << h);
        EXPECT_NEAR(height.one_way_bytes_per_s / bandwidth[h], 1, 0.02) << h;
        EXPECT_NEAR(height.both_ways_bytes_per_s / bandwidth[h], 1, 0.02) << h;
        ASSERT_TRUE(height.buffer_delay_s) << h;
        EXPECT_NEAR(*height.buffer_delay_s / (delay_s[h] * 1538 / 1514), 1, 0.05) << h;
        EXPECT_FALSE(height.is_delay_lower_bound);
    }
}

TEST(Heights, OfAnotherTreeAreNotMeasured) {
    auto laboratory = three_levels();
    const auto found = measure(laboratory);
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->heights.empty());
    EXPECT_NE(std::ranges::find_if(found->remarks, [](const std::string& remark) {
                  return remark.starts_with("PlogPT's b(h) and d(h) are not measured");
              }), found->remarks.end());
}

TEST(Heights, MakePlogptWithTheFarthestLatency) {
    const std::vector<MeasuredHeight> heights{{{{0, 1}}, 125e6, 120e6, 1e-3, false},
                                              {{{0, 2}, {1, 3}}, 250e6, 240e6, 2e-3, true}};
    PairMessages near, far;
    near.gap = {{0, 1e-6}, {1000, 9e-6}};
    near.latency_s = 10e-6;
    far.gap = {{0, 2e-6}};
    far.latency_s = 60e-6;
    std::vector<std::string> remarks;
    const auto plogpt = plogpt_of(heights, {near, far}, remarks);
    ASSERT_TRUE(plogpt);
    EXPECT_DOUBLE_EQ(plogpt->latency_s, 60e-6);
    EXPECT_EQ(plogpt->gap.size(), 2);
    EXPECT_NEAR(plogpt->links.bandwidth_bytes_per_s[1], 240e6 * 1448 / 1538, 1);
    EXPECT_DOUBLE_EQ(plogpt->links.buffer_delay_s[0], 1e-3);
    EXPECT_EQ(remarks.size(), 1) << "of the delay that may be longer";
    EXPECT_FALSE(plogpt_of(heights, {}, remarks));
    EXPECT_EQ(remarks.back(), "PlogPT is not told: L and g(m) are not known");
}

TEST(HostTree, TurnsRound) {
    HostTree tree(4);
    const std::vector<std::size_t> below{2, 3};
    const std::size_t other = tree.add_switch(tree.root(), below);
    const auto before = tree.path({0, 3});
    EXPECT_EQ(before.size(), 3);
    tree.make_root(other);
    EXPECT_EQ(tree.root(), other);
    EXPECT_EQ(tree.path({0, 3}).size(), 3);
    EXPECT_EQ(tree.hosts_below(4), (std::vector<std::size_t>{0, 1}));
    tree.remove_switch(4);
    EXPECT_EQ(tree.hosts_at(tree.root()).size(), 4);
    EXPECT_EQ(tree.path({0, 3}).size(), 2);
}

constexpr double never = std::numeric_limits<double>::infinity();  // that all rounds wait

TEST(Escalation, HasLevels) {
    SizedTime time;
    time.rounds_s.assign(16, 0.001);
    time.rounds_s.insert(time.rounds_s.end(), {0.201, 0.204, 0.402});
    time.rounds_s.push_back(0.0015);
    tell_escalations(time, 0.02, never);
    const auto& levels = time.levels;
    ASSERT_EQ(levels.size(), 2);
    EXPECT_NEAR(levels[0].time_s, 0.2025, 1e-6);
    EXPECT_DOUBLE_EQ(levels[0].probability, 0.1);
    EXPECT_DOUBLE_EQ(levels[1].probability, 0.05);
    SizedTime none;
    tell_escalations(none, 0.02, never);
    EXPECT_TRUE(none.levels.empty());
}

TEST(Escalation, CanBeOfAllRounds) {
    SizedTime time;
    time.rounds_s = {0.208, 0.207, 0.209, 0.252};
    tell_escalations(time, 0.02, 0.182);
    EXPECT_EQ(time.median_s, 0);
    EXPECT_EQ(time.time_s.value, 0);
    ASSERT_EQ(time.levels.size(), 2);
    EXPECT_DOUBLE_EQ(time.levels[0].probability, 0.75);
    tell_escalations(time, 0.02, 0.210);
    EXPECT_DOUBLE_EQ(time.median_s, 0.208) << "so much may be usual";
}

TEST(Escalation, IsNotPartOfWhatIsUsual) {
    SizedTime time;
    time.rounds_s = {0.017, 0.213, 0.212, 0.016, 0.213, 0.018, 0.212, 0.211};  // most of them wait
    tell_escalations(time, 0.02, never);
    EXPECT_NEAR(time.time_s.value, 0.017, 1e-9);
    EXPECT_NEAR(time.median_s, 0.017, 1e-9);
    ASSERT_EQ(time.levels.size(), 1);
    EXPECT_DOUBLE_EQ(time.levels[0].probability, 5.0 / 8);
}

TEST(Neighbours, AreThoseBesideAHostOnTheMostSquareGrid) {
    const auto receivers_of = [](std::size_t hosts, std::size_t host, std::size_t dimensions = 2) {
        std::vector<std::size_t> receivers;
        for (const Flow& flow : neighbour_flows(hosts, dimensions)) {
            if (flow.from == host) receivers.push_back(flow.to);
        }
        return receivers;
    };
    EXPECT_EQ(receivers_of(12, 4), (std::vector<std::size_t>{1, 7, 3, 5})) << "4 x 3, the middle of the second row";
    EXPECT_EQ(receivers_of(8, 0), (std::vector<std::size_t>{6, 2, 1, 1})) << "edges meet";
    EXPECT_EQ(receivers_of(7, 6), (std::vector<std::size_t>{5, 0})) << "a ring";
    EXPECT_EQ(receivers_of(2, 1), (std::vector<std::size_t>{0, 0}));
    EXPECT_EQ(receivers_of(8, 0, 1), (std::vector<std::size_t>{7, 1}));
    EXPECT_EQ(receivers_of(8, 5, 3), (std::vector<std::size_t>{1, 1, 7, 7, 4, 4})) << "2 x 2 x 2";
    EXPECT_EQ(receivers_of(12, 4, 3), (std::vector<std::size_t>{0, 8, 6, 6, 5, 5})) << "3 x 2 x 2";
    EXPECT_EQ(neighbour_flows(7, 3), neighbour_flows(7, 1)) << "seven have no other divisor";
}

TEST(Rounds, BeginEverywhereAtOnce) {
    const std::vector<double> hears_s{0, 10e-6, 60e-6, 11e-6, 35e-6};
    std::vector<HostProgram> gather{{0, {{}}}};
    for (std::size_t peer = 1; peer < 5; ++peer) {
        gather[0].steps[0].receive.push_back({peer, 4096});
        gather.push_back({peer, {{{{0, 4096}}, {}}}});
    }
    const Rounds rounds = begun_together(std::move(gather), hears_s);
    ASSERT_EQ(rounds.programs.size(), 5);
    const HostProgram& root = rounds.programs.front();
    ASSERT_EQ(root.steps.size(), 5) << "all are ready, are told in three steps, for two hear at once, and send";
    EXPECT_EQ(root.steps.front().receive.size(), 4);
    EXPECT_EQ(root.untimed_steps, 4);
    double now_s = 0;
    std::size_t told = 0;
    for (const Step& step : root.steps) {
        now_s += std::chrono::duration<double>(step.pause).count();
        for (const Transfer& start : step.send) {
            EXPECT_NEAR(now_s + hears_s[start.peer], 60e-6, 1.1e-6);
            ++told;
        }
    }
    EXPECT_NEAR(now_s, 60e-6, 1.1e-6) << "when the root itself begins";
    EXPECT_EQ(told, 4);
    EXPECT_EQ(root.steps.back().receive.size(), 4);
    for (std::size_t i = 1; i < 5; ++i) {
        EXPECT_EQ(rounds.programs[i].untimed_steps, 1);
        EXPECT_EQ(rounds.programs[i].steps[1].send[0].bytes, 4096);
    }
}

TEST(TransmissionCost, IsOfOneWay) {
    std::vector<SizedTime> trips;
    for (const std::uint64_t bytes : {1, 1024, 65536})
        trips.push_back({bytes, {2 * 50e-6 + 8e-9 * static_cast<double>(bytes - 1), 0, 10}, {}, 0});
    const TransmissionCost cost = transmission_cost(trips);
    EXPECT_NEAR(cost.startup_s, 50e-6, 1e-7);
    EXPECT_NEAR(cost.per_byte_s, 8e-9, 1e-11);
}

}  // namespace
}  // namespace headway
