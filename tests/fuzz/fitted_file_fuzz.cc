// SPDX-License-Identifier: Apache-2.0
// What `headway fit --json` and `headway measure` write, read back: parameters or a reason,
// and never both.
#include "fuzz_text.hh"
#include "models/fitted_file.hpp"
#include "plan/planner_measured.hpp"

namespace {

headway::Topology two_hosts() {
    headway::Cluster cluster;
    cluster.name = "a";
    cluster.hosts = {"a0", "a1"};
    cluster.host_rate = cluster.trunk_up_rate = cluster.trunk_down_rate = {1'000'000'000};
    return *headway::Topology::make({cluster});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace headway;
    static const Topology topology = two_hosts();
    const auto text = fuzz::text_of(data, size);
    FittedParameters parameters;
    const auto read = read_fitted(text, "f", parameters);
    const int known = parameters.contention.has_value() + parameters.many_to_one.has_value() +
                      parameters.plogpt.has_value();
    fuzz::require(read ? known >= 1 : known == 0 && !read.error().empty(), "parameters or a mistake");
    const auto costs = read_measured_costs(text, "f", topology);
    fuzz::require(costs ? costs->gather.spread.total() == costs->hosts.size() : !costs.error().empty(),
                  "hosts of the topology, or a mistake");
    return 0;
}
