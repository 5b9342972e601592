// SPDX-License-Identifier: Apache-2.0
// A member's record as it stands in the store.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "trunk/coordination_config.hpp"
#include "trunk/store_view.hpp"

namespace headway {

/// More demands than that of one host are no record of ours.  So many of the longest names fit
/// into record_text_max_bytes.
inline constexpr std::size_t demands_per_host_max = 256;

/// FNV-1a: the same number for the same text on every host and in every build.
[[nodiscard]] std::uint64_t text_digest(std::string_view text);

/// {"configuration": "<16 hexadecimal digits>", "fallback": <bytes per second>,
///  "demands": [[uid, start, name, weight, wanted], ...]}
[[nodiscard]] std::string record_to_text(const MemberRecord& record);

/// Any text gives a record: of what is none, as of another version's, one with configuration 0.
/// That is nobody's, and if most are of that kind nobody shares.
[[nodiscard]] MemberRecord record_from_text(std::string_view text, HostNumber host);

[[nodiscard]] std::string configuration_text(std::uint64_t digest);

/// Digests all that members must be configured with alike, and the form of records; never 0.
[[nodiscard]] std::uint64_t configuration_digest(const SharedTrunk& trunk, const LeaseTiming& timing,
                                                 std::span<const std::string> hosts);

}  // namespace headway
