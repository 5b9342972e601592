// SPDX-License-Identifier: Apache-2.0
// Options that plan and predict share: which network, and who sends what to whom.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/command_line.hpp"
#include "config/config.hpp"
#include "formats/traffic_matrix.hpp"
#include "models/exchange_operation.hpp"
#include "models/fitted_parameters.hpp"
#include "plan/planned_operation.hpp"

namespace headway {

struct PatternOptions {
    std::string config;
    std::string network;  ///< a line, instead of the file
    std::string operation = "alltoall";
    std::vector<std::string> hosts{"all"};  ///< host lists; "all": every host of the file
    std::string root;                       ///< a host; empty: the first that takes part
    std::uint32_t ranks_per_host = 1;
    std::vector<std::string> matrix;        ///< files; empty: an operation
    std::string map_by = "slot";            ///< see formats/rank_placement.hpp
    std::vector<std::string> what_if;       ///< see models/what_if.hpp
};

void add_pattern_options(const Verb& verb, PatternOptions& options);

/// The hosts that a matrix is planned for at most: each is planned by itself.
inline constexpr std::size_t matrix_hosts_max = 128;

struct ChosenPattern {
    Config config;  ///< with the changes of --what-if
    std::vector<std::string> what_if;  ///< these changes, as they were given
    const PlannedOperation* planned = nullptr;  ///< never none
    std::vector<std::size_t> hosts;  ///< in the order in which they were named
    HostCounts counts;
    std::optional<std::size_t> root;   ///< of a rooted operation
    std::optional<Exchange> measured;  ///< of --matrix: a group for each of `hosts`

    /// "alltoall", "gather", "matrix".
    [[nodiscard]] std::string_view name() const;
    [[nodiscard]] const std::string& host_name(std::size_t host) const;
    /// The operation as the models know it; none: they do not know it.
    [[nodiscard]] std::optional<Operation> operation() const { return parse_operation(planned->name); }
};

/// By the names of the files.
[[nodiscard]] FileResult<TrafficMatrix> load_matrix(const std::vector<std::string>& names);

/// Returns nothing if the options are wrong, having told why on standard error.
[[nodiscard]] std::optional<ChosenPattern> choose_pattern(std::string_view verb,
                                                          const PatternOptions& options);

/// Returns the models' parameters from the measurements that headway.toml names, or none.
[[nodiscard]] FittedParameters measured_parameters(const Config& config);

/// "65536" bytes, "64KiB".
[[nodiscard]] Result<std::uint64_t> parse_size_or_bytes(std::string_view text);

/// The same; 1 byte .. 1 TiB.  Fails naming --bytes.
[[nodiscard]] Result<std::uint64_t> parse_message_size(std::string_view text);

/// The name of a file that stands for it.
inline constexpr const char* standard_output = "-";

/// Writes it all; false, having told so, if that fails.
[[nodiscard]] bool write_file(std::string_view verb, const std::string& name,
                              const std::string& content);

}  // namespace headway
