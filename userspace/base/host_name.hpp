// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace headway {

/// Returns the name that this machine (or this UTS namespace) has given itself.
[[nodiscard]] std::string host_name();

/// Numbers of hosts by name.  Names are compared as name services do, without regard to case, and
/// files and nodes need not agree on the domain: "n1" is "N1.cluster.example", unless that is
/// another host.  Addresses have no domain.
class HostNames {
public:
    /// False if that name is there already.
    bool add(std::string_view name, std::size_t number);
    /// A name without a domain finds no host if several hosts differ in their domains alone.
    [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;

private:
    struct NameHash : std::hash<std::string_view> {
        using is_transparent = void;
    };

    /// In small letters.
    std::unordered_map<std::string, std::size_t, NameHash, std::equal_to<>> whole_;
    /// Names without their domains; none if several hosts have that name.
    std::unordered_map<std::string, std::optional<std::size_t>> short_;
};

}  // namespace headway
