// SPDX-License-Identifier: MIT
#include "rooted_exchange.hpp"

#include "block_copy.hpp"

namespace headway::glue {
namespace {

/// Of nothing, to who has sent a message or from who has received one.
const Block receipt{nullptr, 0, MPI_BYTE};

/// TCP passes four segments on to the qdisc at once, with a window that is open: larger messages
/// may still be with TCP when MPI has let go of them.
constexpr std::uint64_t without_receipt_max_bytes = 4096;

bool wants_receipt(std::uint64_t bytes) { return bytes > without_receipt_max_bytes; }

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
        send(messages, own_, root_);
    } else {
        messages.wait_for(messages.receive(own_, root_));
        give_receipts(messages);
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
            send(messages, block, rank);
        } else {
            messages.receive(block, rank);
            give_receipts(messages);
        }
    }
    if (!in_place_) own_message(place, messages);
    if (sends) return;
    while (const auto arrival = messages.wait_for_received()) give_receipt(messages, *arrival);
}

void RootedExchange::own_message(Place place, Messages& messages) const {
    const Block at_root = of_(place.rank);
    const bool sends = direction_ == Direction::from_root;
    const Block& from = sends ? at_root : own_;
    const Block& to = sends ? own_ : at_root;
    if (!is_empty(to)) messages.receive(to, place.rank);
    if (!is_empty(from)) messages.send(from, place.rank);
}

void RootedExchange::send(Messages& messages, const Block& block, int to) const {
    const auto sent = messages.send(block, to);
    if (sent.is_as_asked && wants_receipt(message_bytes(block.count, block.type)))
        messages.receive(receipt, to, MessageKind::receipt);
}

/// Each sender may go on when its own message is here, even one that is too long.
void RootedExchange::give_receipts(Messages& messages) const {
    while (const auto arrival = messages.next_received()) give_receipt(messages, *arrival);
}

/// By what the sender has sent, as the sender does, and not by the room for it.
void RootedExchange::give_receipt(Messages& messages, const Messages::Arrival& arrival) const {
    const bool is_own = direction_ == Direction::to_root && arrival.peer == root_;
    if (!is_own && wants_receipt(arrival.bytes)) messages.send(receipt, arrival.peer, MessageKind::receipt);
}

}  // namespace headway::glue
