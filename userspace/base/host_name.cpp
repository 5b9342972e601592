// SPDX-License-Identifier: Apache-2.0
#include "base/host_name.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>

namespace headway {
namespace {

/// Host names have no others.
char small_letter(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string in_small_letters(std::string_view name) {
    std::string small(name);
    std::ranges::transform(small, small.begin(), small_letter);
    return small;
}

/// Returns the name up to its domain; none if it has no domain.
std::optional<std::string> without_domain(const std::string& name) {
    const auto dot = name.find('.');
    if (dot == std::string::npos || name.find_first_not_of("0123456789.") == std::string::npos)
        return std::nullopt;
    return name.substr(0, dot);
}

}  // namespace

std::string host_name() {
    std::array<char, 256> name{};
    gethostname(name.data(), name.size() - 1);
    return name.data();
}

bool HostNames::add(std::string_view name, std::size_t number) {
    const std::string whole = in_small_letters(name);
    if (!whole_.emplace(whole, number).second) return false;
    if (const auto in_front = without_domain(whole)) {
        const auto [known, is_new] = short_.emplace(*in_front, number);
        if (!is_new) known->second.reset();
    }
    return true;
}

std::optional<std::size_t> HostNames::find(std::string_view name) const {
    // nearly all are written as they are kept
    if (const auto found = whole_.find(name); found != whole_.end()) return found->second;
    const std::string whole = in_small_letters(name);
    if (const auto found = whole_.find(whole); found != whole_.end()) return found->second;
    if (const auto in_front = without_domain(whole)) {
        const auto found = whole_.find(*in_front);
        return found == whole_.end() ? std::nullopt : std::optional(found->second);
    }
    const auto found = short_.find(whole);
    return found == short_.end() ? std::nullopt : found->second;
}

}  // namespace headway
