// SPDX-License-Identifier: MIT
#include "ring_exchange.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "block_copy.hpp"
#include "message_size.hpp"
#include "packed_block.hpp"

namespace headway::glue {
namespace {

Block elements_at(const void* data, std::size_t first, std::size_t count,
                  const Reduction& reduction) {
    return {static_cast<const char*>(data) + first * reduction.element_bytes,
            static_cast<int>(count), reduction.type};
}

/// To the next, from the one before; both waited for.
void pass_on(const Ring& ring, Messages& messages, const Block& sent, const Block& received) {
    if (!is_empty(received)) messages.receive(received, ring.from_here(-1));
    if (!is_empty(sent)) messages.send(sent, ring.from_here(1));
    messages.wait_for_all();
}

/// A whole in parts that all ranks cut alike.
class Parts {
public:
    Parts(std::size_t whole, std::size_t parts) : whole_(whole), parts_(parts) {}

    [[nodiscard]] std::size_t count() const { return parts_; }
    [[nodiscard]] std::size_t first(std::size_t part) const {
        return part * (whole_ / parts_) + std::min(part, whole_ % parts_);
    }
    [[nodiscard]] std::size_t size(std::size_t part) const { return first(part + 1) - first(part); }
    [[nodiscard]] std::size_t largest() const { return size(0); }

private:
    std::size_t whole_;
    std::size_t parts_;
};

/// Segments of a chain: short, so that the last rank does not begin much later than
/// the first, but not so short that messages cost more than their bytes.
Parts segments(std::size_t elements, std::size_t element_bytes, int ranks) {
    constexpr std::size_t least_bytes = 4096;
    constexpr std::size_t most_bytes = 65536;
    constexpr std::size_t most_segments = 1024;
    const std::size_t bytes = elements * element_bytes;
    const std::size_t wanted = std::clamp(bytes / (4 * static_cast<std::size_t>(ranks)),
                                          least_bytes, most_bytes);
    const std::size_t count = std::clamp<std::size_t>(bytes / wanted, 1, most_segments);
    return {elements, std::min(count, elements)};
}

/// The segments' way along a chain: `take` makes of a segment that has come what
/// goes on.  `in` and `out` are where each segment comes to and goes from.
class Chain {
public:
    Chain(const Ring& ring, const OwnCall& call, const Parts& parts, bool receives, bool sends)
        : ring_(ring), call_(call), parts_(parts), receives_(receives), sends_(sends) {}

    /// Segments are received in time: as far ahead of those sent as the window allows.
    [[nodiscard]] int run(const auto& in, const auto& take, const auto& out) const {
        Messages messages(call_);
        std::array<Messages::Ticket, receives_ahead + 1> coming;
        std::size_t receiving = 0;
        for (std::size_t part = 0; part < parts_.count(); ++part) {
            for (; receives_ && receiving < parts_.count() && receiving < part + coming.size();
                 ++receiving)
                coming[receiving % coming.size()] =
                    messages.receive(in(receiving), ring_.from_here(-1));
            messages.wait_for(coming[part % coming.size()]);
            messages.note(take(part));
            if (sends_) messages.send(out(part), ring_.from_here(1));
        }
        return messages.wait_for_all();
    }

private:
    const Ring& ring_;
    const OwnCall& call_;
    const Parts& parts_;
    bool receives_;
    bool sends_;
};

/// Between like machines packed data are the same bytes for all.
int bytes_along_chain(const Ring& ring, const OwnCall& call, int root, char* data, std::size_t bytes) {
    const Parts parts = segments(bytes, 1, ring.ranks());
    const int place = ring.steps_behind(root);
    const auto segment = [&](std::size_t part) {
        return Block{data + parts.first(part), static_cast<int>(parts.size(part)), MPI_BYTE};
    };
    const auto take = [](std::size_t) { return MPI_SUCCESS; };
    return Chain(ring, call, parts, place > 0, place < ring.ranks() - 1)
        .run(segment, take, segment);
}

}  // namespace

Ring::Ring(const std::vector<int>& order, int own_rank)
    : order_(&order),
      own_place_(static_cast<int>(std::find(order.begin(), order.end(), own_rank) -
                                  order.begin())) {}

int Ring::place_from_here(int steps) const {
    return ((own_place_ + steps) % ranks() + ranks()) % ranks();
}

int Ring::steps_behind(int rank) const {
    const auto place = std::find(order_->begin(), order_->end(), rank) - order_->begin();
    return place_from_here(-static_cast<int>(place));
}

std::size_t ReducedBlocks::largest() const {
    std::size_t most = 0;
    for (std::size_t at = 0; at + 1 < first.size(); ++at)
        most = std::max(most, first[at + 1] - first[at]);
    return most;
}

int ring_allgather(const Ring& ring, Messages& messages, const Exchange::BlockOf& of) {
    messages.wait_for_all();
    for (int step = 0; step < ring.ranks() - 1; ++step)
        pass_on(ring, messages, of(ring.from_here(-step)), of(ring.from_here(-step - 1)));
    return messages.status();
}

int ring_allreduce(const Ring& ring, const OwnCall& call, const Reduction& reduction, void* data,
                   std::size_t elements) {
    const Parts parts(elements, static_cast<std::size_t>(ring.ranks()));
    const auto block = [&](int steps) {
        const auto part = static_cast<std::size_t>(ring.place_from_here(steps));
        return elements_at(data, parts.first(part), parts.size(part), reduction);
    };
    std::vector<char> partial(parts.largest() * reduction.element_bytes);
    Messages messages(call);
    for (int step = 0; step < ring.ranks() - 1; ++step) {
        const Block mine = block(-step - 1);
        pass_on(ring, messages, block(-step), {partial.data(), mine.count, mine.type});
        messages.note(reduction.combine(partial.data(), mine.room(),
                                        static_cast<std::size_t>(mine.count)));
    }
    // the block of the next one's place is complete here
    for (int step = 0; step < ring.ranks() - 1; ++step)
        pass_on(ring, messages, block(1 - step), block(-step));
    return messages.status();
}

int ring_reduce_scatter(const Ring& ring, const OwnCall& call, const Reduction& reduction,
                        const void* data, const ReducedBlocks& blocks, void* result) {
    const auto mine = [&](int steps) {
        const int rank = ring.from_here(steps);
        return elements_at(data, blocks.first[static_cast<std::size_t>(rank)], blocks.of(rank),
                           reduction);
    };
    const std::size_t room = blocks.largest() * reduction.element_bytes;
    std::vector<char> sent(room);
    std::vector<char> received(room);
    Messages messages(call);
    Block going = mine(-1);
    for (int step = 1; step < ring.ranks(); ++step) {
        const Block part = mine(-step - 1);
        pass_on(ring, messages, going, {received.data(), part.count, part.type});
        messages.note(reduction.combine(part.data, received.data(),
                                        static_cast<std::size_t>(part.count)));
        sent.swap(received);
        going = {sent.data(), part.count, part.type};
    }
    std::memcpy(result, sent.data(), blocks.of(ring.own_rank()) * reduction.element_bytes);
    return messages.status();
}

int chain_bcast(const Ring& ring, const OwnCall& call, int root, const Block& block) {
    const std::size_t bytes = bytes_of(block);
    if (is_packed_already(block.type))
        return bytes_along_chain(ring, call, root, static_cast<char*>(block.room()), bytes);
    std::vector<char> packed(bytes);
    int status = MPI_SUCCESS;
    if (ring.own_rank() == root) status = pack(block, packed.data(), bytes, call.communicator);
    keep_first_error(status, bytes_along_chain(ring, call, root, packed.data(), packed.size()));
    if (ring.own_rank() != root)
        keep_first_error(status, unpack(packed.data(), bytes, block, call.communicator));
    return status;
}

int chain_reduce(const Ring& ring, const OwnCall& call, int root, const Reduction& reduction,
                 void* data, std::size_t elements) {
    const Parts parts = segments(elements, reduction.element_bytes, ring.ranks());
    const int place = (ring.steps_behind(root) + ring.ranks() - 1) % ring.ranks();
    const bool is_first = place == 0;
    const bool is_root = place == ring.ranks() - 1;
    std::vector<char> partial(is_first ? 0 : elements * reduction.element_bytes);
    const auto mine = [&](std::size_t part) {
        return elements_at(data, parts.first(part), parts.size(part), reduction);
    };
    const auto others = [&](std::size_t part) {
        return elements_at(partial.data(), parts.first(part), parts.size(part), reduction);
    };
    const auto add = [&](std::size_t part) {
        if (is_first) return MPI_SUCCESS;
        const Block in = is_root ? others(part) : mine(part);
        return reduction.combine(in.data, (is_root ? mine(part) : others(part)).room(),
                                 parts.size(part));
    };
    return Chain(ring, call, parts, !is_first, !is_root)
        .run(others, add, [&](std::size_t part) { return is_first ? mine(part) : others(part); });
}

}  // namespace headway::glue
