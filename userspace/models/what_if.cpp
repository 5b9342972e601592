// SPDX-License-Identifier: Apache-2.0
#include "models/what_if.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

#include "base/nearest.hpp"
#include "base/units.hpp"

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

Result<void> set_count(std::string_view text, std::uint32_t& target, std::uint32_t most) {
    std::uint32_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error != std::errc() || end != text.data() + text.size() || count == 0 || count > most)
        return failure("\"{}\" is no number from 1 to {}", text, most);
    target = count;
    return {};
}

/// Either of every trunk or of every cluster's hosts.
struct Key {
    std::string_view name;
    Result<void> (*set_trunk)(TrunkSwitch&, std::string_view);
    Result<void> (*set_hosts)(Cluster&, std::string_view);
};

constexpr std::array keys{
    Key{"trunk", [](TrunkSwitch& t, std::string_view text) {
            return set_rate(text, {&t.trunk_up_rate, &t.trunk_down_rate});
        }, nullptr},
    Key{"trunk_up", [](TrunkSwitch& t, std::string_view text) {
            return set_rate(text, {&t.trunk_up_rate});
        }, nullptr},
    Key{"trunk_down", [](TrunkSwitch& t, std::string_view text) {
            return set_rate(text, {&t.trunk_down_rate});
        }, nullptr},
    Key{"host", nullptr, [](Cluster& c, std::string_view text) {
            return set_rate(text, {&c.host_rate});
        }},
    Key{"delay", [](TrunkSwitch& t, std::string_view text) -> Result<void> {
            const auto delay = parse_duration(text);
            if (!delay) return tl::unexpected(delay.error());
            t.trunk_delay = *delay;
            return {};
        }, nullptr},
    Key{"trunk_buffer", [](TrunkSwitch& t, std::string_view text) {
            return set_buffer(text, t.trunk_buffer_bytes);
        }, nullptr},
    Key{"host_buffer", nullptr, [](Cluster& c, std::string_view text) {
            return set_buffer(text, c.host_buffer_bytes);
        }},
    Key{"uplinks", [](TrunkSwitch& t, std::string_view text) {
            return set_count(text, t.trunk_links.count, ParallelLinks::count_max);
        }, nullptr},
};

std::vector<std::string> names_of_keys() {
    std::vector<std::string> names;
    for (const Key& key : keys) names.emplace_back(key.name);
    return names;
}

/// The parts of a topology that a change may set.
struct Parts {
    std::vector<Cluster> clusters;
    std::vector<TrunkSwitch> switches;
};

/// Sets it of every part of that name, or of all; false if there is none.
Result<bool> set(const Key& key, Parts& parts, const std::optional<std::string_view>& name,
                 std::string_view value) {
    bool found = false;
    const auto apply = [&](auto& all, auto setter) -> Result<void> {
        for (auto& one : all) {
            if (setter == nullptr || (name && one.name != *name)) continue;
            found = true;
            if (auto done = setter(one, value); !done) return done;
        }
        return {};
    };
    for (auto& done : {apply(parts.clusters, key.set_hosts), apply(parts.clusters, key.set_trunk),
                       apply(parts.switches, key.set_trunk)}) {
        if (!done) return tl::unexpected(done.error().within(std::string(key.name)));
    }
    return found;
}

Result<void> apply_change(Parts& parts, std::string_view change) {
    const std::size_t equals = change.find('=');
    if (equals == std::string_view::npos) {
        return failure("\"{}\" is no change; write one such as trunk=20gbit", change);
    }
    std::string_view name = change.substr(0, equals);
    std::optional<std::string_view> part;
    if (const std::size_t at = name.find('@'); at != std::string_view::npos) {
        part = name.substr(at + 1);
        name = name.substr(0, at);
    }
    const auto* key = std::find_if(keys.begin(), keys.end(),
                                   [&](const Key& known) { return known.name == name; });
    if (key == keys.end()) {
        return failure("\"{}\" cannot be changed; {}", name, did_you_mean(name, names_of_keys()));
    }
    const auto found = set(*key, parts, part, change.substr(equals + 1));
    if (!found) return tl::unexpected(found.error());
    if (!*found) return failure("there is no cluster \"{}\"", part.value_or(""));
    return {};
}

}  // namespace

Result<void> apply_what_if(Topology& topology, const std::vector<std::string>& changes) {
    if (changes.empty()) return {};
    Parts parts{topology.clusters(), topology.switches()};
    for (const std::string& change : changes) {
        if (const auto applied = apply_change(parts, change); !applied) {
            return tl::unexpected(applied.error().within("--what-if"));
        }
    }
    auto changed = Topology::make(std::move(parts.clusters), std::move(parts.switches));
    if (!changed) return tl::unexpected(changed.error().within("--what-if"));
    topology = std::move(*changed);
    return {};
}

}  // namespace headway
