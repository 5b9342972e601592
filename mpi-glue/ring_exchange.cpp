// SPDX-License-Identifier: MIT
#include "ring_exchange.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "block_run.hpp"
#include "message_size.hpp"
#include "packed_block.hpp"

namespace headway::glue {
namespace {

Block elements_at(const void* data, std::size_t first, std::size_t count,
                  const Reduction& reduction) {
    return {static_cast<const char*>(data) + first * reduction.element_bytes,
            static_cast<int>(count), reduction.type};
}

void receive(Messages& messages, const Block& block, int from) {
    if (!is_empty(block)) messages.receive(block, from);
}

void send(Messages& messages, const Block& block, int to) {
    if (!is_empty(block)) messages.send(block, to);
}

/// To the next leader, from the one before; both waited for.
void pass_on(const HostRing& ring, Messages& messages, const Block& sent, const Block& received) {
    receive(messages, received, ring.leader(-1));
    send(messages, sent, ring.leader(1));
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

/// Segments of a tree: short, so that the last rank does not begin much later than
/// the first, but not so short that messages cost more than their bytes.
Parts segments(std::size_t elements, std::size_t element_bytes, int hosts) {
    constexpr std::size_t least_bytes = 4096;
    constexpr std::size_t most_bytes = 65536;
    constexpr std::size_t most_segments = 1024;
    const std::size_t bytes = elements * element_bytes;
    const std::size_t wanted =
        std::clamp(bytes / (4 * static_cast<std::size_t>(hosts)), least_bytes, most_bytes);
    const std::size_t count = std::clamp<std::size_t>(bytes / wanted, 1, most_segments);
    return {elements, std::max<std::size_t>(1, std::min(count, elements))};
}

/// Down a tree: each part goes on as soon as it has come.  Parts are received in time:
/// as far ahead of those sent as the window allows.
void pass_down(const TreePlace& place, std::size_t parts, const auto& block_of,
               Messages& messages) {
    std::array<Messages::Ticket, receives_ahead + 1> coming;
    std::size_t receiving = 0;
    for (std::size_t part = 0; part < parts; ++part) {
        for (; place.parent != nobody && receiving < std::min(parts, part + coming.size());
             ++receiving) {
            const Block block = block_of(receiving);
            coming[receiving % coming.size()] =
                is_empty(block) ? Messages::Ticket{} : messages.receive(block, place.parent);
        }
        messages.wait_for(coming[part % coming.size()]);
        for (const int child : place.children) send(messages, block_of(part), child);
    }
    messages.wait_for_all();
}

/// Up a tree, of which each rank adds its own data to what comes from its children.
class ReduceUp {
public:
    /// All memory is there before the first message.  `sum`: of this rank's `data` and those
    /// below it, for elements_ of them; only the root has to give one, which may be `data`.
    ReduceUp(const TreePlace& place, const Parts& parts, const Reduction& reduction,
             std::size_t elements, const void* data, void* sum)
        : place_(place), parts_(parts), reduction_(reduction), data_(data), sum_(sum) {
        for (std::size_t child = 0; child < place.children.size(); ++child)
            come_.emplace_back(slots * parts.largest() * reduction.element_bytes);
        coming_.resize(place.children.size());
        if (sum_ != nullptr || place.children.empty()) return;
        own_sum_.resize(elements * reduction.element_bytes);
        sum_ = own_sum_.data();
    }

    void run(Messages& messages) {
        std::size_t receiving = 0;
        for (std::size_t part = 0; part < parts_.count(); ++part) {
            for (; receiving < std::min(parts_.count(), part + slots); ++receiving)
                receive_of_all(receiving, messages);
            const Block own = at(data_, part);
            if (!place_.children.empty()) add_up(part, own, messages);
            if (place_.parent != nobody)
                send(messages, place_.children.empty() ? own : at(sum_, part), place_.parent);
        }
        messages.wait_for_all();
    }

private:
    /// Of a child, parts that have come and are not added yet.
    static constexpr std::size_t slots = 4;

    [[nodiscard]] Block at(const void* data, std::size_t part) const {
        return elements_at(data, parts_.first(part), parts_.size(part), reduction_);
    }
    [[nodiscard]] Block slot(std::size_t child, std::size_t part) const {
        return elements_at(come_[child].data(), part % slots * parts_.largest(), parts_.size(part),
                           reduction_);
    }

    void receive_of_all(std::size_t part, Messages& messages) {
        for (std::size_t child = 0; child < coming_.size(); ++child)
            coming_[child][part % slots] = messages.receive(slot(child, part), place_.children[child]);
    }

    void add_up(std::size_t part, const Block& own, Messages& messages) {
        const Block sum = at(sum_, part);
        if (sum.data != own.data) std::memcpy(sum.room(), own.data, bytes_of(own));
        for (std::size_t child = 0; child < coming_.size(); ++child) {
            messages.wait_for(coming_[child][part % slots]);
            messages.note(reduction_.combine(slot(child, part).data, sum.room(), parts_.size(part)));
        }
    }

    const TreePlace& place_;
    Parts parts_;
    Reduction reduction_;
    const void* data_;
    void* sum_;
    std::vector<char> own_sum_;
    std::vector<std::vector<char>> come_;  ///< by child
    std::vector<std::array<Messages::Ticket, slots>> coming_;
};

/// Between like machines packed data are the same bytes for all.
int bytes_from_root(const HostRing& ring, const OwnCall& call, char* data, std::size_t bytes) {
    const Parts parts = segments(bytes, 1, ring.hosts());
    const auto segment = [&](std::size_t part) {
        return Block{data + parts.first(part), static_cast<int>(parts.size(part)), MPI_BYTE};
    };
    Messages messages(call);
    pass_down(ring.from_root(), parts.count(), segment, messages);
    return messages.status();
}

/// The elements for the ranks of the hosts, in the order of the ring: those for a host
/// lie side by side.  A copy, but where they do so anyway and nothing is added to them.
class HostOrder {
public:
    HostOrder(const HostRing& ring, const ReducedBlocks& blocks, const Reduction& reduction,
              const void* data)
        : ring_(ring), reduction_(reduction), data_(const_cast<void*>(data)) {
        first_.push_back(0);
        bool is_in_order = true;
        for (int host = 0; host < ring.hosts(); ++host) {
            std::size_t end = first_.back();
            for (const int rank : ranks_at(host)) {
                is_in_order = is_in_order && blocks.first[static_cast<std::size_t>(rank)] == end;
                end += blocks.of(rank);
            }
            first_.push_back(end);
        }
        if (ring.is_leader() || !is_in_order) copy(blocks, data);
    }

    [[nodiscard]] void* data() { return data_; }
    [[nodiscard]] std::size_t elements() const { return first_.back(); }
    [[nodiscard]] std::size_t most_of_a_host() const {
        std::size_t most = 0;
        for (std::size_t at = 0; at + 1 < first_.size(); ++at)
            most = std::max(most, first_[at + 1] - first_[at]);
        return most;
    }
    [[nodiscard]] Block for_host(int steps) const {
        const auto place = static_cast<std::size_t>(ring_.place(steps));
        return elements_at(data_, first_[place], first_[place + 1] - first_[place], reduction_);
    }

private:
    [[nodiscard]] const std::vector<int>& ranks_at(int place) const {
        return ring_.ranks_on(place - ring_.place(0));
    }

    void copy(const ReducedBlocks& blocks, const void* data) {
        copy_.resize(first_.back() * reduction_.element_bytes);
        char* to = copy_.data();
        for (int host = 0; host < ring_.hosts(); ++host) {
            for (const int rank : ranks_at(host)) {
                const Block block = elements_at(data, blocks.first[static_cast<std::size_t>(rank)],
                                                blocks.of(rank), reduction_);
                to = std::copy_n(static_cast<const char*>(block.data), bytes_of(block), to);
            }
        }
        data_ = copy_.data();
    }

    const HostRing& ring_;
    Reduction reduction_;
    std::vector<std::size_t> first_;  ///< by place of a host in the ring, and the end
    void* data_;
    std::vector<char> copy_;
};

/// The leader's host's part of the sum of all hosts, in `going`, which has room for any
/// host's, as `coming` has.
Block reduce_around(const HostRing& ring, Messages& messages, const Reduction& reduction,
                    const HostOrder& own, std::vector<char>& going, std::vector<char>& coming) {
    Block sent = own.for_host(-1);
    for (int step = 1; step < ring.hosts(); ++step) {
        const Block part = own.for_host(-step - 1);
        pass_on(ring, messages, sent, {coming.data(), part.count, part.type});
        messages.note(reduction.combine(part.data, coming.data(),
                                        static_cast<std::size_t>(part.count)));
        going.swap(coming);
        sent = {going.data(), part.count, part.type};
    }
    return sent;
}

/// Of `sum`, which the leader has for the ranks of its host one after the other.
void hand_out(const HostRing& ring, Messages& messages, const Reduction& reduction,
              const ReducedBlocks& blocks, const Block& sum, void* result) {
    const Block own = elements_at(result, 0, blocks.of(ring.own_rank()), reduction);
    if (!ring.is_leader()) {
        receive(messages, own, ring.leader(0));
    } else {
        std::size_t at = 0;
        for (const int rank : ring.ranks_on(0)) {
            const Block block = elements_at(sum.data, at, blocks.of(rank), reduction);
            at += blocks.of(rank);
            if (rank != ring.own_rank()) {
                send(messages, block, rank);
            } else if (!is_empty(block)) {
                std::memcpy(result, block.data, bytes_of(block));
            }
        }
    }
    messages.wait_for_all();
}

/// Of each host, the blocks of its ranks as one message; by steps behind this host.
std::vector<BlockRun> blocks_by_host(const HostRing& ring, const Exchange::BlockOf& of) {
    std::vector<BlockRun> hosts;
    hosts.reserve(static_cast<std::size_t>(ring.hosts()));
    for (int steps = 0; steps < ring.hosts(); ++steps) {
        std::vector<Block> blocks;
        for (const int rank : ring.ranks_on(-steps)) blocks.push_back(of(rank));
        hosts.emplace_back(blocks);
    }
    return hosts;
}

}  // namespace

int ring_allgather(const HostRing& ring, const OwnCall& call, const Block* own,
                   const Exchange::BlockOf& of) {
    const std::vector<BlockRun> hosts = blocks_by_host(ring, of);
    const auto block_of = [&](std::size_t steps) { return hosts[steps].block(); };
    const TreePlace within = ring.within_host();
    Messages messages(call);
    for (const BlockRun& host : hosts) messages.note(host.status());
    if (own != nullptr) {
        messages.receive(of(ring.own_rank()), ring.own_rank());
        messages.send(*own, ring.own_rank());
        messages.wait_for_all();
    }
    if (!ring.is_leader()) {
        send(messages, of(ring.own_rank()), ring.leader(0));
        messages.wait_for_all();
        pass_down(within, hosts.size(), block_of, messages);
        return messages.status();
    }
    for (const int rank : ring.ranks_on(0)) {
        if (rank != ring.own_rank()) receive(messages, of(rank), rank);
    }
    messages.wait_for_all();
    for (std::size_t steps = 0; steps < hosts.size(); ++steps) {
        for (const int child : within.children) send(messages, block_of(steps), child);
        if (steps + 1 < hosts.size()) pass_on(ring, messages, block_of(steps), block_of(steps + 1));
    }
    return messages.wait_for_all();
}

int ring_allreduce(const HostRing& ring, const OwnCall& call, const Reduction& reduction,
                   void* data, std::size_t elements) {
    const TreePlace within = ring.within_host();
    const Parts of_tree = segments(elements, reduction.element_bytes, ring.hosts());
    const Parts parts(elements, static_cast<std::size_t>(ring.hosts()));
    const auto block = [&](int steps) {
        const auto part = static_cast<std::size_t>(ring.place(steps));
        return elements_at(data, parts.first(part), parts.size(part), reduction);
    };
    ReduceUp up(within, of_tree, reduction, elements, data, ring.is_leader() ? data : nullptr);
    std::vector<char> partial(ring.is_leader() ? parts.largest() * reduction.element_bytes : 0);
    Messages messages(call);
    up.run(messages);
    if (ring.is_leader()) {
        for (int step = 0; step < ring.hosts() - 1; ++step) {
            const Block mine = block(-step - 1);
            pass_on(ring, messages, block(-step), {partial.data(), mine.count, mine.type});
            messages.note(reduction.combine(partial.data(), mine.room(),
                                            static_cast<std::size_t>(mine.count)));
        }
        // the block of the next one's place is complete here
        for (int step = 0; step < ring.hosts() - 1; ++step)
            pass_on(ring, messages, block(1 - step), block(-step));
    }
    const auto segment = [&](std::size_t part) {
        return elements_at(data, of_tree.first(part), of_tree.size(part), reduction);
    };
    pass_down(within, of_tree.count(), segment, messages);
    return messages.status();
}

int ring_reduce_scatter(const HostRing& ring, const OwnCall& call, const Reduction& reduction,
                        const void* data, const ReducedBlocks& blocks, void* result) {
    const TreePlace within = ring.within_host();
    HostOrder own(ring, blocks, reduction, data);
    const Parts parts = segments(own.elements(), reduction.element_bytes, ring.hosts());
    ReduceUp up(within, parts, reduction, own.elements(), own.data(),
                ring.is_leader() ? own.data() : nullptr);
    const std::size_t room = ring.is_leader() ? own.most_of_a_host() * reduction.element_bytes : 0;
    std::vector<char> going(room);
    std::vector<char> coming(room);
    Messages messages(call);
    up.run(messages);
    Block sum;
    if (ring.is_leader()) sum = reduce_around(ring, messages, reduction, own, going, coming);
    hand_out(ring, messages, reduction, blocks, sum, result);
    return messages.status();
}

int ring_bcast(const HostRing& ring, const OwnCall& call, int root, const Block& block) {
    const HostRing led = ring.led_by(root);
    const std::size_t bytes = bytes_of(block);
    if (is_packed_already(block.type))
        return bytes_from_root(led, call, static_cast<char*>(block.room()), bytes);
    std::vector<char> packed(bytes);
    int status = MPI_SUCCESS;
    if (ring.own_rank() == root) status = pack(block, packed.data(), bytes, call.communicator);
    keep_first_error(status, bytes_from_root(led, call, packed.data(), packed.size()));
    if (ring.own_rank() != root)
        keep_first_error(status, unpack(packed.data(), bytes, block, call.communicator));
    return status;
}

int ring_reduce(const HostRing& ring, const OwnCall& call, int root, const Reduction& reduction,
                void* data, std::size_t elements) {
    const TreePlace place = ring.led_by(root).to_root();
    const Parts parts = segments(elements, reduction.element_bytes, ring.hosts());
    ReduceUp up(place, parts, reduction, elements, data,
                ring.own_rank() == root ? data : nullptr);
    Messages messages(call);
    up.run(messages);
    return messages.status();
}

}  // namespace headway::glue
