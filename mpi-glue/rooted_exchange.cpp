// SPDX-License-Identifier: MIT
#include "rooted_exchange.hpp"

#include "exchange_order.hpp"

namespace headway::glue {
namespace {

void at_root(const RootedExchange& exchange, const OwnCall& call, Messages& messages) {
    const bool sends = exchange.direction == RootedExchange::Direction::from_root;
    // from the next rank on, so that its own message does not hold up the others'
    for (int step = 1; step < call.ranks; ++step) {
        const int rank = wrapped(exchange.root + step, call.ranks);
        const Block block = exchange.of_root.of(rank);
        sends ? messages.send(block, rank) : messages.receive(block, rank);
    }
    copy_at_root(exchange, messages);
}

void without_root(const RootedExchange& exchange, const OwnCall& call, Messages& messages) {
    const bool may_get_all = exchange.direction == RootedExchange::Direction::to_root;
    for (int step = 1; step < call.ranks; ++step) {
        if (may_get_all || step == 1) messages.let_come(MessageKind::data);
        messages.send({}, wrapped(call.rank + step, call.ranks));
    }
}

}  // namespace

void copy_at_root(const RootedExchange& exchange, Messages& messages) {
    if (exchange.in_place) return;
    const bool sends = exchange.direction == RootedExchange::Direction::from_root;
    const Block at_root = exchange.of_root.of(exchange.root);
    sends ? messages.copy(at_root, exchange.own) : messages.copy(exchange.own, at_root);
}

int carry_out(const RootedExchange& exchange, const OwnCall& call) noexcept {
    Messages messages(call);
    if (!call.has_rank(exchange.root)) {
        without_root(exchange, call, messages);
    } else if (exchange.root == call.rank) {
        at_root(exchange, call, messages);
    } else if (exchange.direction == RootedExchange::Direction::to_root) {
        messages.send(exchange.own, exchange.root);
    } else {
        messages.receive(exchange.own, exchange.root);
    }
    return messages.wait_for_all();
}

}  // namespace headway::glue
