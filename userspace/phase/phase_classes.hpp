// SPDX-License-Identifier: Apache-2.0
// The classes that phases send through: below each trunk's class one for each
// distinct rate of a job, shared by the job's phases that want that rate.  Two
// jobs never share one, because each job's rates change with its part of the link.
//
// A class that nobody wants any more stays: it may still hold packets, and the
// next job may want its rate.  It goes when there is no room for another, if it is
// empty.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "model/error.hpp"
#include "netlink/traffic_control.hpp"

namespace headway {

/// Above those of trunks and of their resting traffic.
inline constexpr std::uint16_t first_phase_minor = 0x1000;

/// A class such as PhaseClasses makes, as far as can be seen.
[[nodiscard]] bool is_phase_class(const ClassState& state);

class PhaseClasses {
public:
    /// Class of trunk i is trunks[i]; `kernel` must outlive this object.
    PhaseClasses(TrafficControl& kernel, std::vector<TcHandle> trunks, std::size_t classes_max);

    /// Who wants a class.
    struct Key {
        std::size_t trunk = 0;
        std::uint32_t job = 0;
        ClassRate alone;  ///< the rate that the phase would have if there were no other job

        friend auto operator<=>(const Key&, const Key&) = default;
    };

    /// A class of that rate, made if there is none; every acquire() wants a
    /// release().  Fails if there is no room, or the kernel refuses.
    [[nodiscard]] Result<TcHandle> acquire(const Key& key, BytesPerSecond rate);
    void release(const Key& key);

    struct Entry {
        TcHandle classid;
        BytesPerSecond rate;
        std::uint32_t users = 0;
        std::uint32_t group = 0;
    };
    struct RateChange {
        Key key;
        BytesPerSecond rate;
    };
    /// Classes in use get other rates, all of them or none.  If the kernel did not
    /// say what it has after a failure, the next call says all rates again.
    [[nodiscard]] Result<void> change_rates(std::span<const RateChange> changes);

    /// From now on a job's classes are of the group that it has here, or of group 0:
    /// those of one group take turns.  Fails if the kernel refuses any; then some
    /// may be in another group than they should, until the next call.
    [[nodiscard]] Result<void> set_groups(std::map<std::uint32_t, std::uint32_t> group_of_job);

    /// Takes classes that are in the kernel already for its own, as far as they
    /// are such as it makes; nobody wants them yet.
    void adopt(const std::vector<ClassState>& found);

    struct InKernel {
        std::size_t trunk = 0;
        TcHandle classid;
        BytesPerSecond rate;
        std::uint32_t group = 0;
    };
    /// All that should be there, wanted or not.
    [[nodiscard]] std::vector<InKernel> all() const;
    /// Those in use.
    [[nodiscard]] const std::map<Key, Entry>& entries() const { return entries_; }

private:
    using TrunkAndRate = std::pair<std::size_t, BytesPerSecond>;

    struct Idle {
        TcHandle classid;
        std::uint32_t group = 0;
    };

    Result<TcHandle> add(std::size_t trunk, BytesPerSecond rate, std::uint32_t group);
    Result<TcHandle> take_idle(std::multimap<TrunkAndRate, Idle>::iterator idle,
                               std::uint32_t group);
    [[nodiscard]] std::uint32_t group_of(std::uint32_t job) const;
    Result<void> make_room();
    [[nodiscard]] bool is_full() const { return entries_.size() + idle_.size() >= classes_max_; }
    [[nodiscard]] TcHandle free_handle();

    TrafficControl& kernel_;
    std::vector<TcHandle> trunks_;
    std::size_t classes_max_;
    std::map<Key, Entry> entries_;
    std::multimap<TrunkAndRate, Idle> idle_;  ///< that nobody wants
    std::map<std::uint32_t, std::uint32_t> groups_;  ///< by job; others have group 0
    std::uint16_t next_minor_;
    bool is_in_doubt_ = false;
    bool groups_are_in_doubt_ = false;
};

}  // namespace headway
