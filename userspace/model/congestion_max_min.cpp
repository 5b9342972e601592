// SPDX-License-Identifier: Apache-2.0
#include "model/congestion_max_min.hpp"

#include <algorithm>
#include <queue>
#include <span>

#include "base/compensated_sum.hpp"
#include "model/congestion_resources.hpp"

namespace headway {
namespace {

using Id = CongestionResources::Id;

/// For every resource the links that use it forwards, in one array.
class Users {
public:
    Users(const CongestionPattern& pattern, const CongestionResources& resources)
        : begin_(resources.count() + 1) {
        for (Id id = 0; id < resources.count(); ++id) {
            begin_[id + 1] = begin_[id] + resources.users(id);
        }
        links_.resize(begin_.back());
        std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
        for (std::uint32_t link = 0; link < pattern.links.size(); ++link) {
            for (const Id id : resources.with_flow(pattern.links[link])) {
                if (id != CongestionResources::none) links_[next[id]++] = link;
            }
        }
    }

    [[nodiscard]] std::span<const std::uint32_t> of(Id id) const {
        return {links_.data() + begin_[id], links_.data() + begin_[id + 1]};
    }

private:
    std::vector<std::size_t> begin_;
    std::vector<std::uint32_t> links_;
};

class Filling {
public:
    explicit Filling(const CongestionPattern& pattern)
        : pattern_(pattern),
          resources_(pattern),
          users_(pattern, resources_),
          unshared_(pattern.unshared_bandwidth.value_or(pattern.nic_bandwidth)),
          bandwidth_(pattern.links.size(), growing_still),
          growing_(resources_.count()),
          stopped_(resources_.count()) {
        for (Id id = 0; id < resources_.count(); ++id) {
            growing_[id] = resources_.users(id);
            if (growing_[id] != 0) heap_.push({level_when_full(id), id});
        }
    }

    std::vector<double> run() {
        double level = 0;
        while (!heap_.empty()) {
            const auto [expected, id] = heap_.top();
            heap_.pop();
            if (growing_[id] == 0) continue;
            const double now = level_when_full(id);
            if (now > expected) {
                heap_.push({now, id});
                continue;
            }
            level = std::max(level, now);
            if (level >= unshared_) break;
            fill(id, level);
        }
        for (double& bandwidth : bandwidth_) {
            if (bandwidth == growing_still) bandwidth = unshared_;
        }
        return std::move(bandwidth_);
    }

private:
    static constexpr double growing_still = -1;

    struct Entry {
        double level;
        Id id;
        bool operator<(const Entry& other) const { return level > other.level; }
    };

    [[nodiscard]] double level_when_full(Id id) const {
        return (resources_.capacity(id) - stopped_[id].value()) / growing_[id];
    }

    [[nodiscard]] bool is_full(Id id) const {
        return stopped_[id].value() >=
               resources_.capacity(id) * (1 - CongestionResources::tolerance);
    }

    /// Stops the users of a full resource, in both directions; and those of
    /// resources that this fills to the brim at the same level.
    void fill(Id first, double level) {
        full_.push_back(first);
        while (!full_.empty()) {
            const Id id = full_.back();
            full_.pop_back();
            for (const std::uint32_t link : users_.of(id)) stop(link, level);
            for (const std::uint32_t link : users_.of(CongestionResources::reverse(id))) {
                stop(link, level);
            }
        }
    }

    void stop(std::uint32_t link, double level) {
        if (bandwidth_[link] != growing_still) return;
        bandwidth_[link] = level;
        for (const Id id : resources_.with_flow(pattern_.links[link])) {
            if (id == CongestionResources::none) continue;
            stopped_[id].add(level);
            if (--growing_[id] == 0 && is_full(id)) full_.push_back(id);
        }
    }

    const CongestionPattern& pattern_;
    CongestionResources resources_;
    Users users_;
    double unshared_;
    std::vector<double> bandwidth_;
    std::vector<std::uint32_t> growing_;
    std::vector<CompensatedSum> stopped_;
    std::priority_queue<Entry> heap_;
    std::vector<Id> full_;
};

}  // namespace

std::vector<double> congestion_max_min(const CongestionPattern& pattern) {
    return Filling(pattern).run();
}

}  // namespace headway
