// SPDX-License-Identifier: MIT
#include "exchange_order.hpp"

#include <algorithm>

namespace headway::glue {

ExchangeOrder::ExchangeOrder(const RanksByCluster& clusters, int own_rank) {
    for (const auto& hosts : clusters) {
        for (const auto& ranks : hosts) {
            const auto own = std::find(ranks.begin(), ranks.end(), own_rank);
            if (own != ranks.end()) {
                own_cluster_ = this->clusters();
                own_place_ = static_cast<int>(ranks_of_host_.size() - first_host_.back());
                own_index_ = static_cast<int>(own - ranks.begin());
            }
            most_on_a_host_ = std::max(most_on_a_host_, static_cast<int>(ranks.size()));
            ranks_of_host_.push_back(ranks);
        }
        first_host_.push_back(ranks_of_host_.size());
        most_in_a_cluster_ = std::max(most_in_a_cluster_, static_cast<int>(hosts.size()));
    }
}

int ExchangeOrder::peer(int step, int direction) const {
    const int turn = step / most_on_a_host_;
    const int cluster_distance = 1 + turn % clusters();  // the own cluster is the last
    const int host_distance = turn / clusters() + (cluster_distance == clusters() ? 1 : 0);
    const auto cluster =
        static_cast<std::size_t>(wrapped(own_cluster_ + direction * cluster_distance, clusters()));
    const auto host = first_host_[cluster] + static_cast<std::size_t>(wrapped(
                                                 own_place_ + direction * host_distance, most_in_a_cluster_));
    if (host >= first_host_[cluster + 1]) return nobody;
    const auto& ranks = ranks_of_host_[host];
    const auto index = static_cast<std::size_t>(
        wrapped(own_index_ + direction * (step % most_on_a_host_), most_on_a_host_));
    return index < ranks.size() ? ranks[index] : nobody;
}

}  // namespace headway::glue
