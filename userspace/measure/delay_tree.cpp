// SPDX-License-Identifier: Apache-2.0
#include "measure/delay_tree.hpp"

#include <Eigen/Dense>

#include <algorithm>

namespace headway {
namespace {

/// A part of the tree that is being joined from its ends.
struct Branch {
    std::vector<std::size_t> hosts;
    std::vector<Branch> parts;  ///< none: one host
    double depth_s = 0;         ///< of its switch, from the host that the tree is seen from
};

class Joining {
public:
    Joining(const PairTimes& times, double resolution_s) : times_(times), resolution_s_(resolution_s) {
        for (std::size_t host = 1; host < times.host_count(); ++host)
            branches_.push_back({{host}, {}, 0});
    }

    Branch join() {
        while (branches_.size() > 1) join_closest();
        return std::move(branches_.front());
    }

private:
    [[nodiscard]] double common_s(std::size_t i, std::size_t j) const {
        return (times_.at(0, i) + times_.at(0, j) - times_.at(i, j)) / 2;
    }

    [[nodiscard]] double common_s(const Branch& a, const Branch& b) const {
        double sum = 0;
        for (const std::size_t i : a.hosts)
            for (const std::size_t j : b.hosts) sum += common_s(i, j);
        return sum / static_cast<double>(a.hosts.size() * b.hosts.size());
    }

    void join_closest() {
        std::size_t best_a = 0, best_b = 1;
        double deepest_s = common_s(branches_[0], branches_[1]);
        for (std::size_t a = 0; a < branches_.size(); ++a) {
            for (std::size_t b = a + 1; b < branches_.size(); ++b) {
                const double depth_s = common_s(branches_[a], branches_[b]);
                if (depth_s <= deepest_s) continue;
                deepest_s = depth_s;
                best_a = a;
                best_b = b;
            }
        }
        Branch joined;
        joined.depth_s = deepest_s;
        for (const std::size_t at : {best_a, best_b}) take(joined, std::move(branches_[at]));
        branches_.erase(branches_.begin() + static_cast<std::ptrdiff_t>(best_b));
        branches_[best_a] = std::move(joined);
    }

    /// Takes the branch as a part of its own, or its parts if its switch is no other than `into`'s.
    void take(Branch& into, Branch part) const {
        into.hosts.insert(into.hosts.end(), part.hosts.begin(), part.hosts.end());
        if (part.parts.empty() || part.depth_s - into.depth_s >= resolution_s_) {
            into.parts.push_back(std::move(part));
        } else {
            std::move(part.parts.begin(), part.parts.end(), std::back_inserter(into.parts));
        }
    }

    const PairTimes& times_;
    double resolution_s_;
    std::vector<Branch> branches_;
};

void hang(HostTree& tree, std::size_t at, const Branch& branch) {
    for (const Branch& part : branch.parts) {
        if (part.parts.empty()) continue;  // a host; it follows its switch
        hang(tree, tree.add_switch(at, part.hosts), part);
    }
}

/// Links between switches that came out too short once all times were used.
void remove_short_links(HostTree& tree, const PairTimes& times, double resolution_s) {
    while (true) {
        const auto lengths_s = link_lengths_s(tree, times);
        const auto trunks = tree.trunks();
        const auto shortest = std::min_element(trunks.begin(), trunks.end(), [&](std::size_t a, std::size_t b) {
            return lengths_s[a] < lengths_s[b];
        });
        if (shortest == trunks.end() || lengths_s[*shortest] >= resolution_s) return;
        tree.remove_switch(*shortest);
    }
}

}  // namespace

HostTree tree_of_delays(const PairTimes& times, double resolution_s) {
    HostTree tree(times.host_count());
    if (times.host_count() < 3) return tree;
    hang(tree, tree.root(), Joining(times, resolution_s).join());
    remove_short_links(tree, times, resolution_s);
    return tree;
}

std::vector<double> link_lengths_s(const HostTree& tree, const PairTimes& times) {
    const auto links = static_cast<Eigen::Index>(tree.size());
    // Normal equations: they have as many rows as there are links, the times as pairs.
    Eigen::MatrixXd squares = Eigen::MatrixXd::Zero(links, links);
    Eigen::VectorXd sums = Eigen::VectorXd::Zero(links);
    for (std::size_t i = 0; i < tree.host_count(); ++i) {
        for (std::size_t j = i + 1; j < tree.host_count(); ++j) {
            const auto path = tree.path({i, j});
            for (const DirectedLink& a : path) {
                sums(static_cast<Eigen::Index>(a.node)) += times.at(i, j);
                for (const DirectedLink& b : path)
                    squares(static_cast<Eigen::Index>(a.node), static_cast<Eigen::Index>(b.node)) += 1;
            }
        }
    }
    const Eigen::VectorXd best = squares.completeOrthogonalDecomposition().solve(sums);
    std::vector<double> lengths(tree.size());
    for (std::size_t node = 0; node < tree.size(); ++node)
        lengths[node] = std::max(0.0, best(static_cast<Eigen::Index>(node)));
    return lengths;
}

}  // namespace headway
