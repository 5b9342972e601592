// SPDX-License-Identifier: Apache-2.0
// Hosts and switches joined by cables, in any order and direction, on the way to
// a NetworkTree.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "formats/file_mistakes.hpp"
#include "network/network_tree.hpp"

namespace headway {

class CableGraph {
public:
    /// One direction of a cable.
    struct Direction {
        BitsPerSecond rate;
        std::chrono::nanoseconds delay{};
    };

    explicit CableGraph(FileMistakes& mistakes) : mistakes_(mistakes) {}

    void add_point(std::uint32_t line, NetworkNodeKind kind, const std::string& name);
    [[nodiscard]] bool has_point(const std::string& name) const { return by_name_.contains(name); }
    /// Joins two points that were added before.
    void add_direction(std::uint32_t line, const std::string& from, const std::string& to,
                       const Direction& direction);

    /// The tree below the first switch.  Nothing, and mistakes with their lines,
    /// if the cables are no tree with hosts at its ends.
    [[nodiscard]] std::optional<NetworkTree> tree();

private:
    struct Point {
        std::uint32_t line;
        NetworkNodeKind kind;
        std::string name;
        std::vector<std::size_t> cables;
    };
    struct Cable {
        std::uint32_t line;
        std::size_t a;
        std::size_t b;
        std::optional<Direction> a_to_b;
        std::optional<Direction> b_to_a;
    };

    std::optional<std::size_t> find(std::uint32_t line, const std::string& name);
    void check_cables();
    [[nodiscard]] NetworkItem item_of(std::size_t point, std::size_t above,
                                      const Cable* cable) const;
    [[nodiscard]] std::vector<NetworkItem> walk(std::size_t root);

    FileMistakes& mistakes_;
    std::vector<Point> points_;
    std::vector<Cable> cables_;
    std::unordered_map<std::string, std::size_t> by_name_;
    std::unordered_map<std::uint64_t, std::size_t> by_ends_;
};

}  // namespace headway
