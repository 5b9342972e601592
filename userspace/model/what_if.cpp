// SPDX-License-Identifier: Apache-2.0
#include "model/what_if.hpp"

#include <algorithm>
#include <array>

#include "model/byte_size.hpp"
#include "model/duration.hpp"

namespace headway {
namespace {

Result<void> set_rate(std::string_view text, std::initializer_list<BitsPerSecond*> targets) {
    const auto rate = parse_rate(text);
    if (!rate) return tl::unexpected(rate.error());
    for (BitsPerSecond* target : targets) *target = *rate;
    return {};
}

Result<void> set_buffer(std::string_view text, std::optional<std::uint64_t>& target) {
    const auto bytes = parse_byte_size(text);
    if (!bytes) return tl::unexpected(bytes.error());
    target = *bytes;
    return {};
}

struct Key {
    std::string_view name;
    Result<void> (*set)(Cluster&, std::string_view);
};

constexpr std::array keys{
    Key{"trunk", [](Cluster& c, std::string_view text) {
            return set_rate(text, {&c.trunk_up_rate, &c.trunk_down_rate});
        }},
    Key{"trunk_up", [](Cluster& c, std::string_view text) {
            return set_rate(text, {&c.trunk_up_rate});
        }},
    Key{"trunk_down", [](Cluster& c, std::string_view text) {
            return set_rate(text, {&c.trunk_down_rate});
        }},
    Key{"host", [](Cluster& c, std::string_view text) { return set_rate(text, {&c.host_rate}); }},
    Key{"delay", [](Cluster& c, std::string_view text) -> Result<void> {
            const auto delay = parse_duration(text);
            if (!delay) return tl::unexpected(delay.error());
            c.trunk_delay = *delay;
            return {};
        }},
    Key{"trunk_buffer", [](Cluster& c, std::string_view text) {
            return set_buffer(text, c.trunk_buffer_bytes);
        }},
    Key{"host_buffer", [](Cluster& c, std::string_view text) {
            return set_buffer(text, c.host_buffer_bytes);
        }},
};

std::string names_of_keys() {
    std::string names;
    for (const Key& key : keys) names += fmt::format("{}{}", names.empty() ? "" : ", ", key.name);
    return names;
}

Result<void> apply_change(std::vector<Cluster>& clusters, std::string_view change) {
    const std::size_t equals = change.find('=');
    if (equals == std::string_view::npos) {
        return failure("\"{}\" is no change; write one such as trunk=20gbit", change);
    }
    std::string_view name = change.substr(0, equals);
    std::optional<std::string_view> cluster;
    if (const std::size_t at = name.find('@'); at != std::string_view::npos) {
        cluster = name.substr(at + 1);
        name = name.substr(0, at);
    }
    const auto* key = std::find_if(keys.begin(), keys.end(),
                                   [&](const Key& known) { return known.name == name; });
    if (key == keys.end()) {
        return failure("\"{}\" cannot be changed; {} can", name, names_of_keys());
    }
    bool found = false;
    for (Cluster& one : clusters) {
        if (cluster && one.name != *cluster) continue;
        found = true;
        if (const auto set = key->set(one, change.substr(equals + 1)); !set) {
            return tl::unexpected(set.error().within(std::string(name)));
        }
    }
    if (!found) return failure("there is no cluster \"{}\"", *cluster);
    return {};
}

}  // namespace

Result<void> apply_what_if(Topology& topology, const std::vector<std::string>& changes) {
    std::vector<Cluster> clusters = topology.clusters();
    for (const std::string& change : changes) {
        if (const auto applied = apply_change(clusters, change); !applied) {
            return tl::unexpected(applied.error().within("--what-if"));
        }
    }
    auto changed = Topology::make(std::move(clusters));
    if (!changed) return tl::unexpected(changed.error().within("--what-if"));
    topology = std::move(*changed);
    return {};
}

}  // namespace headway
