// SPDX-License-Identifier: Apache-2.0
#include "config/doubts.hpp"

#include <algorithm>

#include "base/limits.hpp"
#include "base/text_lines.hpp"

namespace headway {
namespace {

using Node = NetworkTree::Node;

constexpr BitsPerSecond slow_link{1'000'000};
constexpr std::chrono::seconds long_delay{1};
constexpr std::uint64_t small_buffer_bytes = 1538;  // a full frame, with its gap and preamble
/// Many times as fast as the trunk of all of them.
constexpr std::uint64_t fast_host = 100;
constexpr std::uint32_t low_utilisation_millionths = 100'000;

class Doubts {
public:
    explicit Doubts(const NetworkTree& tree) : tree_(tree) {}

    /// Adds a sentence on the first node below the root of which `what` says something, and on how
    /// many more there are.
    template <class What>
    void look(const What& what) {
        std::string sentence;
        std::size_t more = 0;
        for (Node node = 1; node < tree_.size(); ++node) {
            const std::string said = what(node);
            if (said.empty()) continue;
            if (sentence.empty()) sentence = called(node) + said;
            else ++more;
        }
        if (more > 0) sentence += fmt::format(" (and of {})", counted(more, "other link"));
        if (!sentence.empty()) sentences_.push_back(std::move(sentence));
    }

    std::vector<std::string> take() { return std::move(sentences_); }

private:
    [[nodiscard]] std::string called(Node node) const {
        return fmt::format("the {} of \"{}\" ", tree_.is_host(node) ? "link" : "trunk", tree_.name(node));
    }

    const NetworkTree& tree_;
    std::vector<std::string> sentences_;
};

}  // namespace

std::vector<std::string> doubts_of(const NetworkTree& tree) {
    Doubts doubts(tree);
    doubts.look([&](Node node) -> std::string {
        const BitsPerSecond rate = std::min(tree.edge(node).up_rate, tree.edge(node).down_rate);
        if (rate >= slow_link) return "";
        return fmt::format("has {}, less than {}", rate_to_text(rate), rate_to_text(slow_link));
    });
    doubts.look([&](Node node) -> std::string {
        const auto delay = tree.edge(node).delay;
        if (delay < long_delay) return "";
        return fmt::format("delays a packet by {}, more than a way around the earth", duration_to_text(delay));
    });
    doubts.look([&](Node node) -> std::string {
        const NetworkEdge& edge = tree.edge(node);
        const auto least = std::min(edge.up_buffer_bytes.value_or(UINT64_MAX), edge.down_buffer_bytes.value_or(UINT64_MAX));
        if (least >= small_buffer_bytes) return "";
        return fmt::format("has a buffer of {}, which holds no whole packet", byte_size_to_text(least));
    });
    doubts.look([&](Node node) -> std::string {
        if (!tree.is_host(node) || tree.parent(node) == NetworkTree::root) return "";
        const NetworkEdge& trunk = tree.edge(tree.parent(node));
        const std::uint64_t rate = tree.edge(node).up_rate.value;
        if (rate / fast_host < trunk.up_rate.value * trunk.links.count) return "";
        return fmt::format("has {}, {} times as much as the whole trunk of \"{}\"", rate_to_text({rate}),
                           rate / (trunk.up_rate.value * trunk.links.count), tree.name(tree.parent(node)));
    });
    auto sentences = doubts.take();
    if (tree.host_count() > hosts_per_request_max) {
        sentences.push_back(fmt::format("there are {} hosts, and one job can be planned on {} of them at most",
                                        tree.host_count(), hosts_per_request_max));
    }
    return sentences;
}

std::vector<std::string> doubts_of(const PolicyConfig& policy) {
    const std::uint32_t used = policy.plan.target_utilisation_millionths;
    if (used >= low_utilisation_millionths) return {};
    return {fmt::format("policy.target_utilisation = {} leaves the most part of every link unused; 0.99 is the default",
                        used / 1e6)};
}

}  // namespace headway
