// SPDX-License-Identifier: MIT
#include "exchange.hpp"

#include <algorithm>
#include <exception>
#include <vector>

#include "piecewise_exchange.hpp"

namespace headway::glue {
namespace {

int linear(const Exchange& exchange, const ExchangeOrder& order, const OwnCall& call) {
    Messages messages(call);
    const auto receive = [&](int step) {
        if (const int from = order.from(step); from != nobody) messages.receive(exchange.received.of(from), from);
    };
    const auto send = [&](int step) {
        if (const int to = order.to(step); to != nobody) messages.send(exchange.sent.of(to), to);
    };
    in_steps(order.steps(), receive, send);
    return messages.wait_for_all();
}

/// A copy of a block, of the same type.
class BlockCopy {
public:
    /// Memory for it, and nothing in it yet; may throw std::bad_alloc.
    explicit BlockCopy(const Block& like) : block_(like) {
        if (is_empty(like)) return;
        MPI_Aint first_byte = 0, bytes = 0;
        PMPI_Type_get_true_extent(like.type, &first_byte, &bytes);
        // extents may be negative
        const MPI_Aint last_element = (like.count - 1) * extent_of(like.type);
        const MPI_Aint start = first_byte + std::min<MPI_Aint>(0, last_element);
        const MPI_Aint end = first_byte + bytes + std::max<MPI_Aint>(0, last_element);
        memory_.resize(static_cast<std::size_t>(end - start));
        block_.data = memory_.data() - start;
    }

    [[nodiscard]] const Block& block() const { return block_; }

private:
    Block block_;
    std::vector<char> memory_;
};

/// In place.  In step s rank r exchanges with rank s - r, which has that step with r as well: nobody overwrites what it
/// still has to send.  A rank goes on by groups of steps whose blocks fit into its window.  Whoever has the lowest step of
/// all that are not complete has completed all earlier groups, so that step is posted at both its ends, and completes.
class InPlaceExchange {
public:
    InPlaceExchange(const Exchange& exchange, const OwnCall& call)
        : exchange_(exchange), call_(call), messages_(call) {}

    int run() noexcept {
        for (int step = 0; step < call_.ranks;) step = exchange_group(step, group_end(step));
        return messages_.status();
    }

private:
    [[nodiscard]] int partner_in(int step) const { return wrapped(step - call_.rank, call_.ranks); }
    [[nodiscard]] Block block_in(int step) const { return exchange_.received.of(partner_in(step)); }

    /// The step after those that have been exchanged: all of the group, or its first one if memory is short.
    int exchange_group(int first, int end) noexcept {
        std::vector<BlockCopy> copies;
        try {
            copies.reserve(static_cast<std::size_t>(end - first));
            for (int step = first; step < end; ++step) copies.emplace_back(block_in(step));
        } catch (const std::exception&) {
            return end - first > 1 ? exchange_group(first, first + 1) : exchange_without_memory(first);
        }
        for (int step = first; step < end; ++step) messages_.copy(block_in(step), copy_of(copies, step - first));
        messages_.wait_for_all();
        for (int step = first; step < end; ++step) messages_.receive(block_in(step), partner_in(step));
        for (int step = first; step < end; ++step) messages_.send(copy_of(copies, step - first), partner_in(step));
        messages_.wait_for_all();
        return end;
    }

    [[nodiscard]] static const Block& copy_of(const std::vector<BlockCopy>& copies, int at) {
        return copies[static_cast<std::size_t>(at)].block();
    }

    /// At most as many steps as the window of messages holds, so that no receive waits for another.
    [[nodiscard]] int group_end(int first) const {
        std::uint64_t bytes = bytes_of(block_in(first));
        int end = first + 1;
        while (end < call_.ranks && end - first < window_sends / 2) {
            bytes += bytes_of(block_in(end));
            if (bytes > in_place_window_bytes) break;
            ++end;
        }
        return end;
    }

    /// One step, in which this rank has nothing to send.
    int exchange_without_memory(int step) noexcept {
        messages_.note(MPI_ERR_NO_MEM);
        messages_.receive(block_in(step), partner_in(step));
        messages_.send({}, partner_in(step));
        messages_.wait_for_all();
        return step + 1;
    }

    const Exchange& exchange_;
    OwnCall call_;
    Messages messages_;
};

}  // namespace

int carry_out(const Exchange& exchange, const OwnPlace& place, const ToldCall& told,
              const OwnCall& call) noexcept {
    if (told.sizes != nullptr) return exchange_in_pieces(exchange, place, told, call);
    return exchange.in_place ? InPlaceExchange(exchange, call).run() : linear(exchange, *place.order, call);
}

}  // namespace headway::glue
