// SPDX-License-Identifier: Apache-2.0
// The classes that phases send through: below each trunk's class one for each
// distinct rate, shared by all phases of all jobs that want that rate.
//
// A class that nobody wants any more stays: it may still hold packets, and the
// next job of the kind wants it again.  It goes when there is no room for
// another, if it is empty.
#pragma once

#include <cstdint>
#include <map>
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

    /// A class of that rate, made if there is none; every acquire() wants a
    /// release().  Fails if there is no room, or the kernel refuses.
    [[nodiscard]] Result<TcHandle> acquire(std::size_t trunk, BytesPerSecond rate);
    void release(std::size_t trunk, BytesPerSecond rate);

    /// Takes classes that are in the kernel already for its own, as far as they
    /// are such as it makes; nobody wants them yet.
    void adopt(const std::vector<ClassState>& found);

    struct Entry {
        TcHandle classid;
        std::uint32_t users = 0;
    };
    /// By trunk and rate.
    using Entries = std::map<std::pair<std::size_t, BytesPerSecond>, Entry>;
    [[nodiscard]] const Entries& entries() const { return entries_; }

private:
    Result<TcHandle> add(std::size_t trunk, BytesPerSecond rate);
    Result<void> make_room();
    [[nodiscard]] TcHandle free_handle();

    TrafficControl& kernel_;
    std::vector<TcHandle> trunks_;
    std::size_t classes_max_;
    Entries entries_;
    std::uint16_t next_minor_;
};

}  // namespace headway
