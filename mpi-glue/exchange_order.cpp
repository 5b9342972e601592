// SPDX-License-Identifier: MIT
#include "exchange_order.hpp"

#include <algorithm>
#include <map>

namespace headway::glue {

ExchangeOrder::ExchangeOrder(const std::vector<int>& host_of_rank, int own_rank) {
    std::map<int, std::vector<int>> ranks;
    for (int rank = 0; rank < static_cast<int>(host_of_rank.size()); ++rank)
        ranks[host_of_rank[static_cast<std::size_t>(rank)]].push_back(rank);
    for (auto& [host, on_it] : ranks) {
        const auto own = std::find(on_it.begin(), on_it.end(), own_rank);
        if (own != on_it.end()) {
            own_host_ = hosts();
            own_index_ = static_cast<int>(own - on_it.begin());
        }
        most_on_a_host_ = std::max(most_on_a_host_, static_cast<int>(on_it.size()));
        ranks_of_host_.push_back(std::move(on_it));
    }
}

int ExchangeOrder::peer(int step, int direction) const {
    const int host_distance = 1 + step / most_on_a_host_;
    const int host = (own_host_ + direction * host_distance + 2 * hosts()) % hosts();
    const int index =
        (own_index_ + direction * (step % most_on_a_host_) + most_on_a_host_) % most_on_a_host_;
    const auto& there = ranks_of_host_[static_cast<std::size_t>(host)];
    return index < static_cast<int>(there.size()) ? there[static_cast<std::size_t>(index)] : nobody;
}

}  // namespace headway::glue
