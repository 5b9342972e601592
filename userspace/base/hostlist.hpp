// SPDX-License-Identifier: Apache-2.0
// Lists of hosts in short form, as Slurm and other cluster tools write them:
//
//   a0            one host
//   a[0-3,7]      a0 a1 a2 a3 a7
//   n[008-011]    n008 n009 n010 n011; n[08-101] n08 n09 ... n99 n100 n101: a leading zero of
//                 the first number sets the least width
//   r[1-2]n[0-3]  every combination, the last group running fastest; of three groups or more
//                 then the first, the second and so on, which is Slurm's order
//   a0,b[0-1] c   several items; what separates them is commas outside brackets, and blanks
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace headway {

inline constexpr std::size_t hosts_max = 65536;
inline constexpr std::string_view hostlist_separators = ", \t\r\n";
inline constexpr std::size_t host_name_max_bytes = 253;  // DNS's limit

/// The hosts in the order written; a host written twice comes twice, and an empty item is none.
/// Fails, naming the place, on anything outside the grammar above, on names
/// with characters other than letters, digits, '.', '-', '_', on names longer
/// than host_name_max_bytes, on more than 8 brackets in a name, and on lists of no host or of more
/// than `limit`.
[[nodiscard]] Result<std::vector<std::string>> parse_hostlist(std::string_view text,
                                                              std::size_t limit = hosts_max);

/// Says whether a suffix such as "-ib" or a domain may follow brackets; Slurm reads no such lists.
enum class AfterBrackets { anything, nothing };

/// Writes the hosts in short form, in the same order: neighbours that differ in their last number
/// only share brackets.
[[nodiscard]] std::string format_hostlist(std::span<const std::string> hosts,
                                          AfterBrackets after = AfterBrackets::anything);

/// Returns what all names have before their first digit, without '-', '_' and '.' at its end: "a"
/// of a0 and a7. The text is empty if they have nothing there, or differ.
[[nodiscard]] std::string common_name(std::span<const std::string> hosts);

}  // namespace headway
