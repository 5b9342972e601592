// SPDX-License-Identifier: MIT
#include "rooted_exchange.hpp"

#include "block_copy.hpp"

namespace headway::glue {
namespace {

/// Of nothing, to who has sent a message or from who has received one.
const Block receipt{nullptr, 0, MPI_BYTE};

}  // namespace

int RootedExchange::carry_out(const OwnCall& call) const {
    const Place place = place_in(call.communicator);
    Messages messages(call, Senders::are_asked_for);
    if (place.rank == root_) {
        at_root(place, messages);
    } else if (!is_empty(own_)) {
        elsewhere(messages);
    }
    return messages.wait_for_all();
}

void RootedExchange::elsewhere(Messages& messages) const {
    if (direction_ == Direction::to_root) {
        messages.send(own_, root_);
        messages.receive(receipt, root_, MessageKind::receipt);
    } else {
        messages.wait_for(messages.receive(own_, root_));
        messages.send(receipt, root_, MessageKind::receipt);
    }
}

void RootedExchange::at_root(Place place, Messages& messages) const {
    const bool sends = direction_ == Direction::from_root;
    // from the next rank on, so that its own message does not hold up the others'
    for (int step = 1; step < place.ranks; ++step) {
        const int rank = (root_ + step) % place.ranks;
        const Block block = of_(rank);
        if (is_empty(block)) continue;
        if (sends) {
            messages.receive(receipt, rank, MessageKind::receipt);
            messages.send(block, rank);
        } else {
            messages.receive(block, rank);
            give_receipts(messages);
        }
    }
    if (!in_place_) own_message(place, messages);
    if (sends) return;
    while (const auto sender = messages.wait_for_received()) {
        if (*sender != root_) messages.send(receipt, *sender, MessageKind::receipt);
    }
}

void RootedExchange::own_message(Place place, Messages& messages) const {
    const Block at_root = of_(place.rank);
    const bool sends = direction_ == Direction::from_root;
    const Block& from = sends ? at_root : own_;
    const Block& to = sends ? own_ : at_root;
    if (!is_empty(to)) messages.receive(to, place.rank);
    if (!is_empty(from)) messages.send(from, place.rank);
}

/// Each sender may go on when its own message is here, even one that is too long.
void RootedExchange::give_receipts(Messages& messages) const {
    while (const auto sender = messages.next_received())
        messages.send(receipt, *sender, MessageKind::receipt);
}

}  // namespace headway::glue
