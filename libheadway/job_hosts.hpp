// SPDX-License-Identifier: MIT
// The hosts of a job, as headwayd is told of them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace headway::glue {

/// Hosts as places in JobHosts::names(), ascending, each once.
using HostSet = std::vector<int>;

class JobHosts {
public:
    JobHosts() = default;
    /// `names`: each host once.  `ranks_per_host`: the most ranks of the job on any host.
    JobHosts(std::vector<std::string> names, std::size_t ranks_per_host)
        : names_(std::move(names)), ranks_per_host_(ranks_per_host) {}

    [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
    [[nodiscard]] std::vector<std::string> names_of(const HostSet& hosts) const;
    [[nodiscard]] std::size_t ranks_per_host() const { return ranks_per_host_; }

private:
    std::vector<std::string> names_;
    std::size_t ranks_per_host_ = 1;
};

/// The kernel's name for this host.
[[nodiscard]] std::string own_host_name();

}  // namespace headway::glue
