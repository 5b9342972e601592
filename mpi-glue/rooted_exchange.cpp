// SPDX-License-Identifier: MIT
#include "rooted_exchange.hpp"

#include "block_copy.hpp"

namespace headway::glue {

int RootedExchange::carry_out(const OwnCall& call) const {
    const Place place = place_in(call.communicator);
    Messages messages(call);
    if (place.rank == root_) {
        at_root(place, messages);
    } else if (!is_empty(own_)) {
        elsewhere(messages);
    }
    return messages.wait_for_all();
}

void RootedExchange::elsewhere(Messages& messages) const {
    if (direction_ == Direction::to_root) messages.send(own_, root_);
    else messages.receive(own_, root_);
}

void RootedExchange::at_root(Place place, Messages& messages) const {
    // from the next rank on, so that its own message does not hold up the others'
    for (int step = 1; step < place.ranks; ++step) {
        const int rank = (root_ + step) % place.ranks;
        const Block block = of_(rank);
        if (is_empty(block)) continue;
        if (direction_ == Direction::from_root) messages.send(block, rank);
        else messages.receive(block, rank);
    }
    if (!in_place_) own_message(place, messages);
}

void RootedExchange::own_message(Place place, Messages& messages) const {
    const Block at_root = of_(place.rank);
    const bool sends = direction_ == Direction::from_root;
    const Block& from = sends ? at_root : own_;
    const Block& to = sends ? own_ : at_root;
    if (!is_empty(to)) messages.receive(to, place.rank);
    if (!is_empty(from)) messages.send(from, place.rank);
}

}  // namespace headway::glue
