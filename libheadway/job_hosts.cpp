// SPDX-License-Identifier: MIT
#include "job_hosts.hpp"

#include <unistd.h>

#include <array>

namespace headway::glue {

std::vector<std::string> JobHosts::names_of(const HostSet& hosts) const {
    std::vector<std::string> names;
    names.reserve(hosts.size());
    for (const int host : hosts) names.push_back(names_[static_cast<std::size_t>(host)]);
    return names;
}

std::string own_host_name() {
    std::array<char, 256> name{};  // a DNS name is no longer
    if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
    return name.data();
}

}  // namespace headway::glue
