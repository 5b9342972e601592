// SPDX-License-Identifier: MIT
// What the links between a job's hosts carry, as the job's own planner tells it (the answer's "links"):
// so that ranks can work out by themselves how long a call's very messages take.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "json_object.hpp"

namespace headway::glue {

/// The link between two switches, or several of which a hash chooses one for each connection; clusters are
/// below it or not.
struct TrunkLink {
    double up_bytes_per_s = 0, down_bytes_per_s = 0;  ///< of one link
    std::vector<bool> below;  ///< by cluster
    /// As how many links 1, 2, 4, ... equal messages may fill it without more than one has; of one link empty.
    std::vector<double> effective_links{};
};

/// Bytes of wire time per second, of each direction; clusters have numbers.
struct NetworkLinks {
    std::vector<std::string> clusters;
    std::vector<double> host_bytes_per_s;  ///< by cluster
    std::vector<TrunkLink> trunks;
    double part_for_larger_pieces = 1;  ///< of all of these, where a piece has several frames

    /// Not known, if the answer lacks them or they do not fit together.
    [[nodiscard]] static NetworkLinks read(const JsonObject& answer);

    [[nodiscard]] bool are_known() const { return !host_bytes_per_s.empty(); }
    [[nodiscard]] std::size_t number_of(const std::string& cluster) const {
        return static_cast<std::size_t>(std::find(clusters.begin(), clusters.end(), cluster) -
                                        clusters.begin());
    }
};

/// What hosts send each other, and how long the fullest link has to carry it.  Allocates only when it is
/// made.
class LinkLoads {
public:
    /// `links` have to be there as long as the object.  `cluster_of_host`: numbers of theirs.
    LinkLoads(const NetworkLinks& links, std::vector<int> cluster_of_host)
        : links_(&links),
          cluster_of_host_(std::move(cluster_of_host)),
          out_(cluster_of_host_.size()),
          in_(cluster_of_host_.size()),
          up_(links.trunks.size()),
          down_(links.trunks.size()) {}

    void clear();
    /// Of a connection.
    void add(std::size_t from, std::size_t to, std::uint64_t wire_bytes);
    /// `has_larger_pieces`: of several frames.
    [[nodiscard]] std::chrono::nanoseconds duration(bool has_larger_pieces) const;

private:
    [[nodiscard]] std::size_t cluster_of(std::size_t host) const {
        return static_cast<std::size_t>(cluster_of_host_[host]);
    }

    const NetworkLinks* links_;
    std::vector<int> cluster_of_host_;
    std::vector<std::uint64_t> out_, in_;   ///< by host, bytes
    /// What crosses a trunk in one direction, and the most of one connection, bytes.
    struct Crossing {
        std::uint64_t sum = 0, largest = 0;

        void add(std::uint64_t bytes) {
            sum += bytes;
            largest = std::max(largest, bytes);
        }
    };
    [[nodiscard]] static double seconds(const Crossing& crossing, const TrunkLink& trunk, double bytes_per_s);
    std::vector<Crossing> up_, down_;  ///< by trunk
};

}  // namespace headway::glue
