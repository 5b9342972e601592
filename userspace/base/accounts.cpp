// SPDX-License-Identifier: Apache-2.0
#include "base/accounts.hpp"

#include <pwd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iterator>

namespace headway {
namespace {

template <class Number>
std::optional<Number> to_whole(std::string_view text) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

/// Up to the separator, which goes as well.
std::string_view take_field(std::string_view& text, char separator) {
    const auto end = std::min(text.find(separator), text.size());
    const std::string_view field = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return field;
}

std::optional<uid_t> user_id(const std::string& name) {
    std::array<char, 16384> buffer{};
    passwd entry{};
    passwd* found = nullptr;
    getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
    return found != nullptr ? found->pw_uid : to_whole<uid_t>(name);
}

}  // namespace

Accounts::Accounts(std::string_view subuid, const UserId& user_id) {
    while (!subuid.empty()) {
        std::string_view line = take_field(subuid, '\n');
        const std::string owner(take_field(line, ':'));
        const auto first = to_whole<uid_t>(take_field(line, ':'));
        const auto count = to_whole<std::uint64_t>(line);
        const auto id = owner.empty() ? std::nullopt : user_id(owner);
        if (id && first && *first != 0 && count) ranges_[*first] = {*count, *id};
    }
}

uid_t Accounts::of(uid_t user) const {
    auto after = ranges_.upper_bound(user);
    if (after == ranges_.begin()) return user;
    const auto& [first, range] = *std::prev(after);
    return user - first < range.count ? range.owner : user;
}

Accounts read_accounts(const std::string& file) {
    std::ifstream in(file);
    return {std::string(std::istreambuf_iterator<char>(in), {}), user_id};
}

}  // namespace headway
