// SPDX-License-Identifier: Apache-2.0
// The keys of one trunk (Documentation/coordination.rst, "In the store"):
//
//   PREFIX record/HOST   a member's record, attached to its lease
//   PREFIX ack/HOST      the epoch that it has acknowledged, the same
//   PREFIX settled       the lease of who put it
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace headway {

struct EtcdKeys {
    std::string prefix;

    [[nodiscard]] std::string record(std::string_view host) const {
        return prefix + "record/" + std::string(host);
    }
    [[nodiscard]] std::string acknowledgement(std::string_view host) const {
        return prefix + "ack/" + std::string(host);
    }
    [[nodiscard]] std::string settled() const { return prefix + "settled"; }

    /// The key after all that begin with the prefix.
    [[nodiscard]] std::string end() const {
        std::string end = prefix;
        ++end.back();  // a '/'
        return end;
    }

    enum class Kind { record, acknowledgement, settled, other };
    struct Parsed {
        Kind kind = Kind::other;
        std::string host;
    };
    [[nodiscard]] Parsed parse(std::string_view key) const {
        if (!key.starts_with(prefix)) return {};
        key.remove_prefix(prefix.size());
        if (key == "settled") return {Kind::settled, {}};
        if (key.starts_with("record/")) return {Kind::record, std::string(key.substr(7))};
        if (key.starts_with("ack/")) return {Kind::acknowledgement, std::string(key.substr(4))};
        return {};
    }
};

/// Returns 0 if the text is no number from 1.
[[nodiscard]] inline std::int64_t number_in(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() && number > 0 ? number : 0;
}

}  // namespace headway
