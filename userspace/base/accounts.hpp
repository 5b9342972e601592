// SPDX-License-Identifier: Apache-2.0
// Whose quota a user takes from: his own, or that of the user to whom his id was delegated.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace headway {

/// Returns the id of a user, who is named or numbered in decimal; none if there is no such user.
[[nodiscard]] std::optional<uid_t> user_number(const std::string& user);

/// Subordinate ids, of which a user's rootless containers have tens of thousands, are their owner's.
class Accounts {
public:
    using UserNumber = std::function<std::optional<uid_t>(const std::string&)>;  ///< user_number()

    Accounts() = default;
    /// The text of /etc/subuid, lines of OWNER:FIRST:COUNT (subuid(5)).  Other lines are left out, as
    /// newuidmap does it.
    Accounts(std::string_view subuid, const UserNumber& user_number);

    /// The user himself, if the id is nobody's subordinate one.
    [[nodiscard]] uid_t of(uid_t user) const;

private:
    struct Range {
        std::uint64_t count = 0;
        uid_t owner = 0;
    };
    std::map<uid_t, Range> ranges_;  ///< by the first id
};

/// This machine's.
[[nodiscard]] Accounts read_accounts(const std::string& file = "/etc/subuid");

}  // namespace headway
