// SPDX-License-Identifier: Apache-2.0
#include "trunk/shares.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

namespace headway {

BytesPerSecond default_fallback(BytesPerSecond capacity, std::uint32_t hosts) {
    const std::uint64_t each = capacity.value / 10 / std::max<std::uint32_t>(hosts, 1);
    return {std::max<std::uint64_t>(each, 1)};
}

Result<void> check_trunk(const SharedTrunk& trunk) {
    if (trunk.hosts == 0) return failure("a shared trunk needs hosts");
    if (trunk.capacity.value == 0 || trunk.capacity.value > GAP_RATE_MAX)
        return failure("a shared trunk's rate is 8 bit/s to {}", rate_to_text(rate_max));
    if (trunk.fallback.value == 0) return failure("a host's fallback is at least 8 bit/s");
    if (trunk.fallback.value > trunk.capacity.value / trunk.hosts)
        return failure("{} hosts with a fallback of {} each ask for more than the trunk's {}",
                       trunk.hosts, rate_to_text(trunk.fallback.bits()),
                       rate_to_text(trunk.capacity.bits()));
    return {};
}

namespace {

/// The level to which groups are filled counts 1/1024 byte/s per unit of weight,
/// so that one step never gives a group more than a byte per second.
constexpr unsigned level_shift = 10;
static_assert(share_weight_max <= 1U << level_shift);
static_assert(GAP_RATE_MAX <= (UINT64_MAX >> level_shift) / share_weight_max,
              "the level times a weight fits into 64 bits");

/// Demands that share among themselves what their group gets: a job's, or a host's.
struct Group {
    std::uint64_t weight = 1;
    std::size_t first = 0;  ///< in `wanted` and `below`
    std::size_t count = 0;
    std::uint64_t all = 0;  ///< what its demands want together
};

struct Entry {
    std::uint32_t key;  ///< a number of the job's, or the host's
    std::uint32_t demand;
    std::uint64_t wanted;
};

class Filling {
public:
    Filling(const SharedTrunk& trunk, std::span<const Demand> demands)
        : trunk_(trunk), demands_(demands), group_of_(demands.size()), wanted_of_(demands.size()) {
        order_by_host();
        make_groups();
        each_.resize(groups_.size());
    }

    Shares fill() {
        std::uint64_t low = 0;  // fits: the fallbacks do
        std::uint64_t high = trunk_.capacity.value << level_shift;
        while (low < high) {
            const std::uint64_t middle = high - (high - low) / 2;
            if (fits(middle)) low = middle;
            else high = middle - 1;
        }
        divide(low);
        return shares();
    }

private:
    /// Most demands come by host already.
    void order_by_host() {
        for (std::uint32_t i = 0; i < demands_.size(); ++i) {
            if (demands_[i].host < trunk_.hosts) by_host_.push_back(i);
        }
        const auto host = [this](std::uint32_t i) { return demands_[i].host; };
        if (!std::ranges::is_sorted(by_host_, {}, host))
            std::ranges::stable_sort(by_host_, {}, host);
    }

    /// Numbers the demands' jobs (or hosts); few jobs have many demands.
    std::vector<std::uint32_t> keys() const {
        std::vector<std::uint32_t> keys;
        keys.reserve(by_host_.size());
        std::map<std::reference_wrapper<const JobIdentity>, std::uint32_t, std::less<JobIdentity>> jobs;
        for (const std::uint32_t i : by_host_) {
            const Demand& demand = demands_[i];
            const auto next = static_cast<std::uint32_t>(jobs.size());
            const bool per_job = trunk_.policy == SharePolicy::per_job;
            keys.push_back(per_job ? jobs.try_emplace(demand.job, next).first->second : demand.host);
        }
        return keys;
    }

    void make_groups() {
        const std::vector<std::uint32_t> key = keys();
        std::vector<Entry> entries;
        entries.reserve(by_host_.size());
        for (const std::uint32_t i : by_host_) {
            wanted_of_[i] = std::min(demands_[i].wanted.value, trunk_.capacity.value);
            entries.push_back({key[entries.size()], i, wanted_of_[i]});
        }
        std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
            return a.key != b.key ? a.key < b.key : a.wanted < b.wanted;
        });
        below_.reserve(entries.size());
        for (std::size_t i = 0; i < entries.size(); ++i) {
            if (i == 0 || entries[i].key != entries[i - 1].key) groups_.push_back({.first = i});
            add_to_group(groups_.back(), entries[i]);
        }
    }

    void add_to_group(Group& group, const Entry& entry) {
        group_of_[entry.demand] = static_cast<std::uint32_t>(groups_.size() - 1);
        wanted_.push_back(entry.wanted);
        below_.push_back(group.all);
        group.all += entry.wanted;
        ++group.count;
        if (trunk_.policy == SharePolicy::per_job) {
            const std::uint64_t weight = demands_[entry.demand].weight;
            group.weight = std::clamp<std::uint64_t>(weight, group.weight, share_weight_max);
        }
    }

    /// The most that each demand of the group may have so that together they get
    /// no more than `amount`.
    std::uint64_t even_part(const Group& group, std::uint64_t amount) const {
        if (amount >= group.all) return wanted_[group.first + group.count - 1];
        if (group.count == 1) return amount;
        // the first that cannot have all it wants if the later ones have as much
        std::size_t low = 0, high = group.count - 1;
        while (low < high) {
            const std::size_t middle = (low + high) / 2;
            const std::size_t at = group.first + middle;
            if (below_[at] + (group.count - middle) * wanted_[at] > amount) high = middle;
            else low = middle + 1;
        }
        return (amount - below_[group.first + low]) / (group.count - low);
    }

    void divide(std::uint64_t level) {
        for (std::size_t i = 0; i < groups_.size(); ++i)
            each_[i] = even_part(groups_[i], level * groups_[i].weight >> level_shift);
    }

    std::uint64_t share_of(std::uint32_t demand) const {
        return std::min(wanted_of_[demand], each_[group_of_[demand]]);
    }

    /// Calls host_has(host, its demands' shares together) for hosts with demands.
    template <class HostHas>
    void for_hosts(HostHas host_has) const {
        for (std::size_t i = 0; i < by_host_.size();) {
            const HostNumber host = demands_[by_host_[i]].host;
            std::uint64_t sum = 0;
            for (; i < by_host_.size() && demands_[by_host_[i]].host == host; ++i)
                sum += share_of(by_host_[i]);
            host_has(host, sum);
        }
    }

    bool fits(std::uint64_t level) {
        divide(level);
        const std::uint64_t fallback = trunk_.fallback.value;
        std::uint64_t sum = fallback * trunk_.hosts;
        for_hosts([&](HostNumber, std::uint64_t share) {
            sum += share > fallback ? share - fallback : 0;
        });
        return sum <= trunk_.capacity.value;
    }

    Shares shares() const {
        Shares result;
        result.of_demand.resize(demands_.size());
        for (const std::uint32_t i : by_host_) result.of_demand[i] = {share_of(i)};
        result.of_host.assign(trunk_.hosts, trunk_.fallback);
        for_hosts([&](HostNumber host, std::uint64_t share) {
            result.of_host[host] = std::max(trunk_.fallback, BytesPerSecond{share});
        });
        return result;
    }

    const SharedTrunk& trunk_;
    std::span<const Demand> demands_;
    std::vector<std::uint32_t> by_host_;   ///< demands that count
    std::vector<std::uint32_t> group_of_;  ///< by demand
    std::vector<std::uint64_t> wanted_of_;
    std::vector<Group> groups_;
    std::vector<std::uint64_t> wanted_;  ///< by group, rising within each
    std::vector<std::uint64_t> below_;   ///< sum of the group's smaller ones
    std::vector<std::uint64_t> each_;    ///< by group: the most that a demand of it gets
};

}  // namespace

Shares compute_shares(const SharedTrunk& trunk, std::span<const Demand> demands) {
    return Filling(trunk, demands).fill();
}

}  // namespace headway
