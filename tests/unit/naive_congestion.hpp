// SPDX-License-Identifier: Apache-2.0
// Zhu's model once more, as naively as it can be written: sets of links, no
// counters, no heap.  What the fast one is compared with.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <vector>

#include "models/congestion.hpp"

namespace headway::test {

class NaiveCongestion {
public:
    using Links = std::set<std::size_t>;

    explicit NaiveCongestion(const CongestionPattern& pattern) : p_(pattern) {}

    static bool equal(double a, double b) {
        return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
    }

    /// The sets of (1), and the receiver's rack as a fourth.
    [[nodiscard]] std::array<Links, 4> with_flow(std::size_t link) const {
        const auto [a, b] = p_.links[link];
        std::array<Links, 4> sets;
        for (std::size_t e = 0; e < p_.links.size(); ++e) {
            const auto [x, y] = p_.links[e];
            if (inter(link) && inter(e) && rack(x) == rack(a)) sets[0].insert(e);
            if (x == a) sets[1].insert(e);
            if (y == b) sets[2].insert(e);
            if (inter(link) && inter(e) && rack(y) == rack(b)) sets[3].insert(e);
        }
        return sets;
    }

    /// The sets of (3), and the receiver's rack as a fourth.
    [[nodiscard]] std::array<Links, 4> contra_flow(std::size_t link) const {
        const auto [a, b] = p_.links[link];
        std::array<Links, 4> sets;
        for (std::size_t e = 0; e < p_.links.size(); ++e) {
            const auto [x, y] = p_.links[e];
            if (inter(link) && inter(e) && rack(y) == rack(a)) sets[0].insert(e);
            if (y == a) sets[1].insert(e);
            if (x == b) sets[2].insert(e);
            if (inter(link) && inter(e) && rack(x) == rack(b)) sets[3].insert(e);
        }
        return sets;
    }

    [[nodiscard]] double beta(std::size_t i) const {
        return 1 / (i == 0 || i == 3 ? p_.backbone_bandwidth : p_.nic_bandwidth);
    }

    /// (2), (4)
    [[nodiscard]] double factor(const std::array<Links, 4>& sets) const {
        double k = 0;
        for (std::size_t i = 0; i < 3; ++i) {
            k = std::max(k, beta(i) * static_cast<double>(sets[i].size()));
        }
        return k;
    }

    /// Algorithm 1; none: a rest of exactly zero.
    [[nodiscard]] std::optional<std::vector<double>> algorithm1(CongestionVariant variant) const {
        const std::size_t n = p_.links.size();
        std::vector<std::array<Links, 4>> forward;
        std::vector<std::array<Links, 4>> backward;
        for (std::size_t e = 0; e < n; ++e) {
            forward.push_back(with_flow(e));
            backward.push_back(variant == CongestionVariant::fairness_only
                                   ? std::array<Links, 4>{}
                                   : contra_flow(e));
        }
        std::vector<double> beta_ab(n, 0);
        Links todo;
        for (std::size_t e = 0; e < n; ++e) todo.insert(e);
        const auto done_in = [&](const Links& set) {
            double sum = 0;
            for (const std::size_t e : set) {
                if (todo.count(e) == 0) sum += 1 / beta_ab[e];
            }
            return sum;
        };
        const double beta_e = 1 / p_.unshared_bandwidth.value_or(p_.nic_bandwidth);
        while (!todo.empty()) {
            const std::size_t e = most_congested(todo, forward, backward);
            const double k = factor(forward[e]);
            const double kbar = factor(backward[e]);
            /// The largest share over the sets that count; none: a rest of zero.
            const auto share = [&]() -> std::optional<double> {
                double worst = 0;
                for (std::size_t i = 0; i < 4; ++i) {
                    const Links& set = forward[e][i];
                    if (set.empty()) continue;
                    const bool most = i < 3 && equal(beta(i) * static_cast<double>(set.size()), k);
                    if (variant != CongestionVariant::feasible && !most) continue;
                    const double rest = 1 / beta(i) - done_in(set);
                    if (std::abs(rest) <= 1e-9 / beta(i)) return std::nullopt;
                    double waiting = 0;
                    for (const std::size_t other : set) waiting += todo.count(other) != 0 ? 1 : 0;
                    worst = std::max(worst, std::max(beta_e, waiting / rest));
                }
                return worst;
            };
            if (k >= kbar || equal(k, kbar)) {
                const auto worst = share();
                if (!worst) return std::nullopt;
                beta_ab[e] = *worst;
                todo.erase(e);
                continue;
            }
            bool saturated = false;
            for (std::size_t i = 0; i < 3; ++i) {
                Links& set = backward[e][i];
                if (!equal(beta(i) * static_cast<double>(set.size()), kbar)) continue;
                if (equal(done_in(set), 1 / beta(i))) saturated = true;
                else set.clear();
            }
            if (saturated) {
                beta_ab[e] = std::max(beta_e, kbar);
                // of more than two racks the receiver's may have less to give
                if (variant == CongestionVariant::feasible) {
                    beta_ab[e] = std::max(beta_ab[e], share().value_or(0));
                }
                todo.erase(e);
            }
        }
        for (double& value : beta_ab) value = 1 / value;
        return beta_ab;
    }

    /// Progressive filling, in steps from one full resource to the next.
    [[nodiscard]] std::vector<double> max_min() const {
        const std::size_t n = p_.links.size();
        std::vector<double> bandwidth(n, 0);
        std::set<std::size_t> growing;
        for (std::size_t e = 0; e < n; ++e) growing.insert(e);
        std::vector<std::array<Links, 4>> forward;
        std::vector<std::array<Links, 4>> backward;
        for (std::size_t e = 0; e < n; ++e) {
            forward.push_back(with_flow(e));
            backward.push_back(contra_flow(e));
        }
        const double unshared = p_.unshared_bandwidth.value_or(p_.nic_bandwidth);
        while (!growing.empty()) {
            double step = unshared - bandwidth[*growing.begin()];
            const auto rest = [&](std::size_t i, const Links& set) {
                double sum = 0;
                for (const std::size_t e : set) sum += bandwidth[e];
                return 1 / beta(i) - sum;
            };
            for (const std::size_t e : growing) {
                for (std::size_t i = 0; i < 4; ++i) {
                    double users = 0;
                    for (const std::size_t other : forward[e][i]) {
                        users += growing.count(other) != 0 ? 1 : 0;
                    }
                    if (users > 0) step = std::min(step, rest(i, forward[e][i]) / users);
                }
            }
            for (const std::size_t e : growing) bandwidth[e] += step;
            std::set<std::size_t> stopped;
            for (const std::size_t e : growing) {
                bool stop = bandwidth[e] >= unshared * (1 - 1e-9);
                for (std::size_t i = 0; i < 4; ++i) {
                    for (const Links& set : {forward[e][i], backward[e][i]}) {
                        stop = stop || (!set.empty() && rest(i, set) <= 1e-9 / beta(i));
                    }
                }
                if (stop) stopped.insert(e);
            }
            for (const std::size_t e : stopped) growing.erase(e);
        }
        return bandwidth;
    }

private:
    [[nodiscard]] std::uint32_t rack(std::uint32_t node) const { return p_.rack_of_node[node]; }
    [[nodiscard]] bool inter(std::size_t link) const {
        return rack(p_.links[link].source) != rack(p_.links[link].destination);
    }

    /// (7), by looking at every link.
    [[nodiscard]] std::size_t most_congested(
        const Links& todo, const std::vector<std::array<Links, 4>>& forward,
        const std::vector<std::array<Links, 4>>& backward) const {
        const auto key = [&](std::size_t e) {
            const double k = factor(forward[e]);
            const double kbar = factor(backward[e]);
            return std::array<double, 3>{std::max(k, kbar), k, kbar};
        };
        std::size_t best = *todo.begin();
        for (const std::size_t e : todo) {
            const auto candidate = key(e);
            const auto most = key(best);
            for (std::size_t i = 0; i < candidate.size(); ++i) {
                if (equal(candidate[i], most[i])) continue;
                if (candidate[i] > most[i]) best = e;
                break;
            }
        }
        return best;
    }

    const CongestionPattern& p_;
};

}  // namespace headway::test
