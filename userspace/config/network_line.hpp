// SPDX-License-Identifier: Apache-2.0
// A network in one line, as people say it:
//
//   a[0-7] | b[0-7] : 2.5gbit                         two clusters, and the link of each towards the other
//   a[0-7] | b[0-7] : 4x2.5gbit                       four such links, chosen by a hash
//   a[0-7] 1gbit | b[0-3],c0 10gbit : 2.5gbit         with the rates of their hosts' links
//   a[0-7] 1gbit                                      hosts of one switch
//
// Nothing else is known of it: no delay, no address, and of no port how much waits in front of it.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "config/config.hpp"

namespace headway {

/// The rate of a host's link, where the line does not say; none: it cannot be found out.
using FindHostRate = std::function<std::optional<BitsPerSecond>()>;

/// Fails, naming the part of the line, for anything else than the above and for hosts that are in
/// two clusters.
[[nodiscard]] Result<Config> parse_network_line(std::string_view line,
                                                const FindHostRate& find_host_rate);

}  // namespace headway
