// SPDX-License-Identifier: MIT
#include "exchange_by_clock.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <vector>

#include "packed_block.hpp"
#include "told_sizes.hpp"

namespace headway::glue {
namespace {

/// What goes to and comes from each rank; none: there is no message.
class RankBlocks {
public:
    virtual ~RankBlocks() = default;
    [[nodiscard]] virtual std::optional<Block> goes_to(int rank) const = 0;
    [[nodiscard]] virtual std::optional<Block> comes_from(int rank) const = 0;
    /// What comes overwrites what goes.
    [[nodiscard]] virtual bool is_in_place() const { return false; }
};

class ExchangeBlocks final : public RankBlocks {
public:
    explicit ExchangeBlocks(const Exchange& exchange) : exchange_(exchange) {}

    [[nodiscard]] std::optional<Block> goes_to(int rank) const override { return exchange_.goes_to(rank); }
    [[nodiscard]] std::optional<Block> comes_from(int rank) const override { return exchange_.received.of(rank); }
    [[nodiscard]] bool is_in_place() const override { return exchange_.in_place; }

private:
    const Exchange& exchange_;
};

/// Between the root and every other rank.
class RootedBlocks final : public RankBlocks {
public:
    RootedBlocks(const RootedExchange& exchange, int own) : exchange_(exchange), own_(own) {}

    [[nodiscard]] std::optional<Block> goes_to(int rank) const override { return block(rank, is_root() != is_gather()); }
    [[nodiscard]] std::optional<Block> comes_from(int rank) const override { return block(rank, is_root() == is_gather()); }

private:
    [[nodiscard]] bool is_root() const { return own_ == exchange_.root; }
    [[nodiscard]] bool is_gather() const { return exchange_.direction == RootedExchange::Direction::to_root; }
    [[nodiscard]] std::optional<Block> block(int rank, bool is_there) const {
        const bool is_between = is_root() ? rank != own_ : rank == exchange_.root;
        if (!is_there || !is_between) return std::nullopt;
        return is_root() ? exchange_.of_root.of(rank) : exchange_.own;
    }

    const RootedExchange& exchange_;
    int own_;
};

/// Of which nothing has to be copied.
class PlainMessages final : public CallMessages {
public:
    explicit PlainMessages(const RankBlocks& blocks) : blocks_(blocks) {}

    [[nodiscard]] MessageBytes goes_to(int rank) const override { return bytes_of_block(blocks_.goes_to(rank)); }
    [[nodiscard]] MessageBytes comes_from(int rank) const override { return bytes_of_block(blocks_.comes_from(rank)); }

private:
    [[nodiscard]] static MessageBytes bytes_of_block(const std::optional<Block>& block) {
        if (!block) return MessageBytes::none();
        return {static_cast<const char*>(block->data), bytes_of(*block)};
    }

    const RankBlocks& blocks_;
};

/// Of which copies are made.  A message for which there is no memory is empty.
class PackedMessages final : public CallMessages {
public:
    PackedMessages(const RankBlocks& blocks, const OwnCall& call) noexcept : blocks_(blocks), call_(call) {
        try {
            const auto ranks = static_cast<std::size_t>(call.ranks);
            sent_.reserve(ranks);
            received_.reserve(ranks);
            for (int rank = 0; rank < call.ranks; ++rank) {
                sent_.emplace_back(blocks.goes_to(rank).value_or(Block{}), blocks.is_in_place());
                received_.emplace_back(blocks.comes_from(rank).value_or(Block{}), false);
            }
        } catch (const std::exception&) {
            sent_.clear();
            received_.clear();
        }
    }

    [[nodiscard]] MessageBytes goes_to(int rank) const override { return bytes_of_copy(blocks_.goes_to(rank), sent_, rank); }
    [[nodiscard]] MessageBytes comes_from(int rank) const override {
        return bytes_of_copy(blocks_.comes_from(rank), received_, rank);
    }

    /// The program's data into the copies; a status of MPI, as that of the next.
    int read() {
        Messages messages(call_);
        const auto has_memory = [](const PackedBlock& block) { return block.has_memory(); };
        if (sent_.empty() || !std::all_of(sent_.begin(), sent_.end(), has_memory) ||
            !std::all_of(received_.begin(), received_.end(), has_memory))
            messages.note(MPI_ERR_NO_MEM);
        for (PackedBlock& block : sent_) block.read(messages);
        return messages.wait_for_all();
    }
    int write() {
        Messages messages(call_);
        for (PackedBlock& block : received_) block.write(messages);
        return messages.wait_for_all();
    }

private:
    using PackedBlocks = std::vector<PackedBlock>;

    [[nodiscard]] static MessageBytes bytes_of_copy(const std::optional<Block>& block, const PackedBlocks& copies, int rank) {
        if (!block) return MessageBytes::none();
        if (copies.empty()) return {};
        const PackedBlock& copy = copies[static_cast<std::size_t>(rank)];
        return copy.has_memory() ? MessageBytes{copy.data(), copy.bytes()} : MessageBytes{};
    }

    const RankBlocks& blocks_;
    OwnCall call_;
    PackedBlocks sent_, received_;
};

bool has_to_be_copied(const std::optional<Block>& block) {
    return block && !is_empty(*block) && !is_contiguous(block->type);
}

bool need_copies(const RankBlocks& blocks, const OwnCall& call) {
    if (blocks.is_in_place()) return true;
    for (int rank = 0; rank < call.ranks; ++rank) {
        if (has_to_be_copied(blocks.goes_to(rank)) || has_to_be_copied(blocks.comes_from(rank))) return true;
    }
    return false;
}

ClockedOutcome carry_out(const RankBlocks& blocks, const ClockedPlace& place, const CallRates& rates,
                         const OwnCall& call) noexcept {
    if (!need_copies(blocks, call)) return carry_out_by_clock(place, rates, call, PlainMessages(blocks));
    PackedMessages packed(blocks, call);
    int status = packed.read();
    const ClockedOutcome outcome = carry_out_by_clock(place, rates, call, packed);
    keep_first_error(status, outcome.status);
    keep_first_error(status, packed.write());
    return {status, outcome.left_pieces};
}

}  // namespace

bool needs_copies(const Exchange& exchange, const OwnCall& call) noexcept { return need_copies(ExchangeBlocks(exchange), call); }

bool needs_copies(const RootedExchange& exchange, const OwnCall& call) noexcept {
    return need_copies(RootedBlocks(exchange, call.rank), call);
}

ClockedOutcome exchange_by_clock(const Exchange& exchange, const ClockedPlace& place, const CallRates& rates,
                                 const OwnCall& call) noexcept {
    return carry_out(ExchangeBlocks(exchange), place, rates, call);
}

ClockedOutcome rooted_by_clock(const RootedExchange& exchange, const ClockedPlace& place, const CallRates& rates,
                               const OwnCall& call) noexcept {
    if (!call.has_rank(exchange.root)) return {carry_out(exchange, call), true};
    Messages own(call);
    if (exchange.root == call.rank) copy_at_root(exchange, own);
    int status = own.wait_for_all();
    const ClockedOutcome outcome = carry_out(RootedBlocks(exchange, call.rank), place, rates, call);
    keep_first_error(status, outcome.status);
    return {status, outcome.left_pieces};
}

}  // namespace headway::glue
