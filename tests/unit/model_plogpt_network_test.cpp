// SPDX-License-Identifier: Apache-2.0
// PlogPT's network while flows come and go, against (7) and (6) from scratch.
#include <cmath>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "models/pair_map.hpp"
#include "models/plogpt_network.hpp"
#include "models/plogpt_rates.hpp"

namespace headway::test {
namespace {

PlogptTree tree_of(std::vector<double> b) {
    std::vector<double> d(b.size());
    return *PlogptTree::make({std::move(b), std::move(d)}, plogpt_default_eps_s,
                             PlogptTree::Clamp::yes);
}

/// Flows by label, and what each has left by (6): the integral of (7), in steps
/// from one event to the next.
class Check {
public:
    explicit Check(const PlogptTree& tree)
        : tree_(tree), network_(tree, static_cast<std::uint32_t>(tree.leaves())) {}

    void start(PlogptFlow flow, double amount) {
        if (flow.source == flow.destination) return;
        network_.start(flow.source, flow.destination, amount,
                       static_cast<std::uint32_t>(all_.size()));
        all_.push_back(flow);
        left_.push_back(amount);
    }

    /// Rates as (7) says, exactly; then on to the next end.
    void step() {
        network_.settle(now_);
        const auto rates = network_.rates();
        ASSERT_EQ(rates.size(), network_.flows());
        std::vector<PlogptFlow> flows;
        for (const auto& rate : rates) flows.push_back(all_[rate.label]);
        const auto expected = *plogpt_rates(tree_, flows);
        for (std::size_t i = 0; i < rates.size(); ++i) ASSERT_EQ(rates[i].rate, expected[i]);
        if (rates.empty()) return;

        const double next = network_.next_end();
        ASSERT_GE(next, now_);
        for (const auto& rate : rates) left_[rate.label] -= rate.rate * (next - now_);
        now_ = next;
        std::vector<PlogptNetwork::Ended> ended;
        network_.take_ended(now_, ended);
        ASSERT_FALSE(ended.empty());
        for (const auto& end : ended) ASSERT_NEAR(left_[end.label], 0, 1e-9);
        ended_ += ended.size();
    }

    [[nodiscard]] std::size_t flows() const { return network_.flows(); }
    [[nodiscard]] std::size_t ended() const { return ended_; }

private:
    const PlogptTree& tree_;
    PlogptNetwork network_;
    std::vector<PlogptFlow> all_;
    std::vector<double> left_;
    double now_ = 0;
    std::size_t ended_ = 0;
};

/// Narrow and wide heights, where the bottleneck is low, high or here and there.
std::vector<PlogptTree> trees() {
    return {tree_of({3}), tree_of({10, 15}), tree_of({1, 2, 4, 8, 16}),
            tree_of({10, 15, 30, 40, 80}), tree_of({10, 12, 13, 14, 15})};
}

// Few flows that start and end all the time.
TEST(PlogptNetwork, KeepsRatesOfFlowsThatComeAndGo) {
    std::mt19937 random(7);
    for (const PlogptTree& tree : trees()) {
        Check check(tree);
        const auto leaves = static_cast<std::uint32_t>(tree.leaves());
        for (std::uint32_t step = 0; step < 300; ++step) {
            for (unsigned starts = random() % 5; starts > 0; --starts) {
                const auto source = static_cast<std::uint32_t>(random() % leaves);
                const auto destination = static_cast<std::uint32_t>(
                    random() % (step % 2 == 0 ? leaves : std::min(leaves, 4U)));
                check.start({source, destination}, 1 + static_cast<double>(random() % 50));
            }
            ASSERT_NO_FATAL_FAILURE(check.step());
        }
        EXPECT_GT(check.ended(), 150U);
    }
}

// Everybody to everybody at once, twice, random sizes: bundles of many flows
// change over, and fans find other edges until the last flow has ended.
TEST(PlogptNetwork, KeepsRatesOfAllAtOnce) {
    std::mt19937 random(8);
    std::uniform_real_distribution<double> amount(1, 50);
    for (const PlogptTree& tree : trees()) {
        Check check(tree);
        const auto leaves = static_cast<std::uint32_t>(tree.leaves());
        for (std::uint32_t i = 0; i < 2 * leaves * leaves; ++i) {
            check.start({i / 2 / leaves, i / 2 % leaves}, amount(random));
        }
        const std::size_t flows = check.flows();
        EXPECT_EQ(flows, 2 * leaves * (leaves - 1));
        while (check.flows() > 0) ASSERT_NO_FATAL_FAILURE(check.step());
        EXPECT_EQ(check.ended(), flows);
    }
}

// As std::map does it, with so few different pairs that slots collide, and
// with growth in between.
TEST(PairMap, DoesWhatAMapDoes) {
    std::mt19937 random(9);
    PairMap map;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> expected;
    for (std::uint32_t i = 0; i < 20000; ++i) {
        const std::uint32_t range = i < 10000 ? 4 : 40;
        const std::pair pair{static_cast<std::uint32_t>(random() % range),
                             static_cast<std::uint32_t>(random() % range)};
        const auto found = expected.find(pair);
        ASSERT_EQ(map.find(pair.first, pair.second),
                  found == expected.end() ? PairMap::absent : found->second);
        if (found == expected.end()) {
            map.add(pair.first, pair.second, i);
            expected[pair] = i;
        } else {
            map.remove(pair.first, pair.second);
            expected.erase(found);
        }
    }
}

}  // namespace
}  // namespace headway::test
