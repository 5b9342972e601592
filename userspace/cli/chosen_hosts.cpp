// SPDX-License-Identifier: Apache-2.0
#include "cli/chosen_hosts.hpp"

#include "model/hostlist.hpp"

namespace headway {

Result<HostSet> chosen_hosts(const Topology& topology, const std::vector<std::string>& lists) {
    std::vector<std::string> names;
    for (const std::string& list : lists) {
        if (list == "all") return topology.all_hosts();
        auto some = parse_hostlist(list);
        if (!some) return tl::unexpected(some.error().within("--hosts"));
        names.insert(names.end(), some->begin(), some->end());
    }
    auto hosts = topology.resolve(names);
    if (!hosts) return tl::unexpected(hosts.error().within("--hosts"));
    return hosts;
}

}  // namespace headway
