// SPDX-License-Identifier: MIT
#include "grid_exchange.hpp"

#include <algorithm>
#include <cstdint>
#include <map>

#include "block_copy.hpp"
#include "packed_block.hpp"

namespace headway::glue {
namespace {

using Ranks = std::vector<int>;

/// A message is at most this long, for MPI's counts are ints.
constexpr std::size_t piece_bytes = std::size_t{1} << 30;

/// Who belongs where, and who collects what.
class Grid {
public:
    explicit Grid(const Clusters& clusters) : clusters_(clusters) {
        for (int rank = 0; rank < static_cast<int>(clusters.size()); ++rank) {
            Ranks& members = members_[cluster_of(rank)];
            place_.push_back(members.size());
            members.push_back(rank);
        }
    }

    [[nodiscard]] int cluster_of(int rank) const { return clusters_[static_cast<std::size_t>(rank)]; }
    [[nodiscard]] bool are_together(int a, int b) const { return cluster_of(a) == cluster_of(b); }
    [[nodiscard]] const Ranks& members(int rank) const { return members_.at(cluster_of(rank)); }

    /// The member of `source`'s cluster that sends its block on to `target`, a
    /// rank of another cluster.
    [[nodiscard]] int collector(int source, int target) const {
        const Ranks& ours = members(source);
        const std::size_t theirs = members(target).size();
        const std::size_t at = place_[static_cast<std::size_t>(target)];
        if (ours.size() <= theirs) return ours[at % ours.size()];
        // several of ours for each of theirs: at, at + theirs, at + 2 theirs...
        const std::size_t partners = (ours.size() - at + theirs - 1) / theirs;
        return ours[at + theirs * (place_[static_cast<std::size_t>(source)] % partners)];
    }

    /// Those whose blocks for `target` go by `collector`, ascending.
    [[nodiscard]] Ranks sources_by(int collecting, int target) const {
        Ranks sources;
        for (const int source : members(collecting)) {
            if (collector(source, target) == collecting) sources.push_back(source);
        }
        return sources;
    }

    /// The ranks elsewhere that get what `source` hands to `collecting`, ascending.
    [[nodiscard]] Ranks targets_by(int source, int collecting) const {
        Ranks targets;
        for (int target = 0; target < static_cast<int>(clusters_.size()); ++target) {
            if (!are_together(source, target) && collector(source, target) == collecting)
                targets.push_back(target);
        }
        return targets;
    }

private:
    const Clusters& clusters_;
    std::map<int, Ranks> members_;
    std::vector<std::size_t> place_;  ///< of each rank among its cluster's members
};

/// Several blocks as one: how long each is, and their bytes one after the other.
struct Parcel {
    std::vector<std::uint64_t> lengths;
    std::vector<char> bytes;

    void add(const std::vector<char>& data) {
        lengths.push_back(data.size());
        bytes.insert(bytes.end(), data.begin(), data.end());
    }
    [[nodiscard]] std::size_t total() const {
        std::size_t sum = 0;
        for (const std::uint64_t length : lengths) sum += length;
        return sum;
    }
};

void in_pieces(std::vector<char>& bytes, const auto& transfer) {
    for (std::size_t at = 0; at < bytes.size(); at += piece_bytes)
        transfer(Block{&bytes[at], static_cast<int>(std::min(piece_bytes, bytes.size() - at)),
                       MPI_BYTE});
}

Block block_of(std::vector<std::uint64_t>& lengths) {
    return {lengths.data(), static_cast<int>(lengths.size()), MPI_UINT64_T};
}

using Parcels = std::map<int, Parcel>;

/// One rank's part in the exchange.  With an error it goes through all of it like the
/// others, who wait for its messages.
class GridExchange {
public:
    GridExchange(const Exchange& exchange, Place place, const OwnCall& call,
                 const Clusters& clusters)
        : exchange_(exchange), place_(place), call_(call), grid_(clusters), messages_(call) {}

    int run() {
        within_cluster();
        across();
        unpack_arrived();
        return messages_.status();
    }

private:
    /// The step of a message is the same at both ends: how far its receiver is behind
    /// its sender.
    [[nodiscard]] int after(int step) const { return (place_.rank + step) % place_.ranks; }
    [[nodiscard]] int before(int step) const {
        return (place_.rank + place_.ranks - step) % place_.ranks;
    }

    /// Calls `receive` and `send` with parcel and peer, of all that there are.
    void in_steps_of(Parcels& outgoing, Parcels& incoming, const auto& receive, const auto& send) {
        const auto transfer = [](Parcels& parcels, int peer, const auto& how) {
            if (const auto found = parcels.find(peer); found != parcels.end())
                how(found->second, peer);
        };
        in_steps(
            place_.ranks, [&](int step) { transfer(incoming, before(step), receive); },
            [&](int step) { transfer(outgoing, after(step), send); });
        messages_.wait_for_all();
    }

    /// Whole parcels: lengths, then bytes.
    void exchange_parcels(Parcels& outgoing, Parcels& incoming) {
        in_steps_of(
            outgoing, incoming,
            [&](Parcel& parcel, int from) {
                messages_.receive(block_of(parcel.lengths), from, MessageKind::lengths);
            },
            [&](Parcel& parcel, int to) {
                messages_.send(block_of(parcel.lengths), to, MessageKind::lengths);
            });
        in_steps_of(
            outgoing, incoming,
            [&](Parcel& parcel, int from) {
                parcel.bytes.resize(parcel.total());
                in_pieces(parcel.bytes, [&](const Block& piece) {
                    messages_.receive(piece, from, MessageKind::bytes);
                });
            },
            [&](Parcel& parcel, int to) {
                in_pieces(parcel.bytes, [&](const Block& piece) {
                    messages_.send(piece, to, MessageKind::bytes);
                });
            });
    }

    /// Blocks for members go to them at once.
    void exchange_direct() {
        const auto is_member = [&](int rank) { return grid_.are_together(rank, place_.rank); };
        in_steps(
            place_.ranks,
            [&](int step) {
                const int from = before(step);
                if (!is_member(from)) return;
                const Block block = exchange_.received(from);
                if (!is_empty(block)) messages_.receive(block, from);
            },
            [&](int step) {
                const int to = after(step);
                if (!is_member(to)) return;
                const Block block = exchange_.sent(to);
                if (!is_empty(block)) messages_.send(block, to);
            });
        messages_.wait_for_all();
    }

    /// Blocks for ranks elsewhere go to the member that collects them.
    void within_cluster() {
        Parcels outgoing;
        for (const int member : grid_.members(place_.rank)) {
            for (const int target : grid_.targets_by(place_.rank, member))
                outgoing[member].add(packed(exchange_.sent(target)));
            const auto count = grid_.targets_by(member, place_.rank).size();
            if (count > 0) collected_[member].lengths.resize(count);
        }
        exchange_direct();
        exchange_parcels(outgoing, collected_);
    }

    [[nodiscard]] std::vector<char> packed(const Block& block) {
        std::vector<char> data(message_bytes(block.count, block.type));
        if (!data.empty()) messages_.note(pack(block, data, call_.communicator));
        return data;
    }

    /// What was collected for each rank elsewhere, as one message.
    void across() {
        Parcels outgoing;
        for (auto& [source, parcel] : collected_) {
            auto data = parcel.bytes.begin();
            std::size_t at = 0;
            for (const int target : grid_.targets_by(source, place_.rank)) {
                const auto end = data + static_cast<std::ptrdiff_t>(parcel.lengths[at++]);
                outgoing[target].add({data, end});
                data = end;
            }
        }
        collected_.clear();
        for (int collector = 0; collector < place_.ranks; ++collector) {
            if (grid_.are_together(collector, place_.rank)) continue;
            const auto count = grid_.sources_by(collector, place_.rank).size();
            if (count > 0) arrived_[collector].lengths.resize(count);
        }
        exchange_parcels(outgoing, arrived_);
    }

    void unpack_arrived() {
        for (auto& [collector, parcel] : arrived_) {
            const char* data = parcel.bytes.data();
            std::size_t at = 0;
            for (const int source : grid_.sources_by(collector, place_.rank)) {
                const std::size_t size = parcel.lengths[at++];
                if (size > 0) unpack_block(data, size, exchange_.received(source));
                data += size;
            }
        }
    }

    void unpack_block(const char* data, std::size_t size, const Block& block) {
        if (size > message_bytes(block.count, block.type)) messages_.note(MPI_ERR_TRUNCATE);
        if (!is_empty(block)) messages_.note(unpack(data, size, block, call_.communicator));
    }

    const Exchange& exchange_;
    Place place_;
    const OwnCall& call_;
    Grid grid_;
    Messages messages_;
    Parcels collected_;  ///< by source
    Parcels arrived_;    ///< by collector
};

}  // namespace

int grid_exchange(const Exchange& exchange, Place place, const OwnCall& call,
                  const Clusters& clusters) {
    return GridExchange(exchange, place, call, clusters).run();
}

}  // namespace headway::glue
