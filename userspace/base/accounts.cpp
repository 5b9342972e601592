// SPDX-License-Identifier: Apache-2.0
#include "base/accounts.hpp"

#include <pwd.h>

#include <array>
#include <fstream>
#include <iterator>

#include "base/text_lines.hpp"

namespace headway {

std::optional<uid_t> user_number(const std::string& user) {
    if (const auto number = to_number<uid_t>(user)) return number;
    std::array<char, 16384> buffer{};
    passwd entry{};
    passwd* found = nullptr;
    getpwnam_r(user.c_str(), &entry, buffer.data(), buffer.size(), &found);
    return found == nullptr ? std::nullopt : std::optional(found->pw_uid);
}

Accounts::Accounts(std::string_view subuid, const UserNumber& user_number) {
    for (TextLines lines(subuid); lines.next();) {
        const auto fields = split_words(lines.line(), ":");
        if (fields.size() != 3) continue;
        const auto owner = user_number(std::string(fields[0]));
        const auto first = to_number<uid_t>(fields[1]);
        const auto count = to_number<std::uint64_t>(fields[2]);
        if (owner && first && *first != 0 && count) ranges_[*first] = {*count, *owner};
    }
}

uid_t Accounts::of(uid_t user) const {
    const auto after = ranges_.upper_bound(user);
    if (after == ranges_.begin()) return user;
    const auto& [first, range] = *std::prev(after);
    return user - first < range.count ? range.owner : user;
}

Accounts read_accounts(const std::string& file) {
    std::ifstream in(file);
    return {std::string(std::istreambuf_iterator<char>(in), {}), user_number};
}

}  // namespace headway
