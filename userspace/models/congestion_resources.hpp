// SPDX-License-Identifier: Apache-2.0
// The directed resources of a congestion pattern, and which links use them.
// Inner part of congestion.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/congestion.hpp"

namespace headway {

class CongestionResources {
public:
    using Id = std::uint32_t;
    static constexpr Id none = UINT32_MAX;
    /// The sets of (1), and as the last one the receiver's rack.
    static constexpr std::size_t sets_of_paper = 3;
    using Set = std::array<Id, sets_of_paper + 1>;
    /// Relative difference up to which two bandwidths or factors are equal.
    static constexpr double tolerance = 1e-9;

    /// The pattern has been checked.
    explicit CongestionResources(const CongestionPattern& pattern);

    [[nodiscard]] Id count() const { return static_cast<Id>(users_.size()); }
    [[nodiscard]] double capacity(Id id) const { return id < first_rack_ ? nic_ : backbone_; }
    [[nodiscard]] std::uint32_t users(Id id) const { return users_[id]; }
    /// beta |set| in units of beta_N; 0 for none.
    [[nodiscard]] double factor(Id id) const { return id == none ? 0 : factor_[id]; }

    /// The resources whose users are S.
    [[nodiscard]] Set with_flow(const CongestionLink& link) const;
    /// The resources whose users are Sbar.
    [[nodiscard]] Set contra_flow(const CongestionLink& link) const;
    /// The other direction of the same NIC or cable.
    [[nodiscard]] static Id reverse(Id id) { return id == none ? none : id ^ 1; }

private:
    // Each pair of ids is one NIC or cable: outgoing, incoming.
    [[nodiscard]] static Id nic_out(std::uint32_t node) { return 2 * node; }
    [[nodiscard]] Id rack_out(std::uint32_t rack) const { return first_rack_ + 2 * rack; }

    const std::vector<std::uint32_t>& rack_of_node_;
    double nic_;
    double backbone_;
    Id first_rack_;
    std::vector<std::uint32_t> users_;
    std::vector<double> factor_;
};

}  // namespace headway
