// SPDX-License-Identifier: MIT
#include "grid_exchange.hpp"

#include <algorithm>
#include <cstdint>
#include <map>

#include "packed_block.hpp"
#include "real.hpp"

namespace headway::glue {
namespace {

using Ranks = std::vector<int>;

// Two tags for each phase: lengths first, then the data they tell of.
constexpr int direct_tag = 2;
constexpr int collect_tag = 3;
constexpr int cross_tag = 5;

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

    void add(const char* data, std::size_t size) {
        lengths.push_back(size);
        bytes.insert(bytes.end(), data, data + size);
    }
    [[nodiscard]] std::size_t total() const {
        std::size_t sum = 0;
        for (const std::uint64_t length : lengths) sum += length;
        return sum;
    }
};

/// Messages under way at once.  The first error counts.
class Transfers {
public:
    explicit Transfers(MPI_Comm own) : own_(own) {}

    void receive(void* data, int count, MPI_Datatype type, int from, int tag) {
        if (status_ == MPI_SUCCESS)
            status_ = PMPI_Irecv(data, count, type, from, tag, own_, &request());
    }
    void send(const void* data, int count, MPI_Datatype type, int to, int tag) {
        if (status_ == MPI_SUCCESS)
            status_ = real::Isend(data, count, type, to, tag, own_, &request());
    }
    void receive_lengths(Parcel& parcel, int from, int tag) {
        receive(parcel.lengths.data(), static_cast<int>(parcel.lengths.size()), MPI_UINT64_T, from,
                tag);
    }
    void send_lengths(const Parcel& parcel, int to, int tag) {
        send(parcel.lengths.data(), static_cast<int>(parcel.lengths.size()), MPI_UINT64_T, to, tag);
    }
    void receive_bytes(Parcel& parcel, int from, int tag) {
        parcel.bytes.resize(parcel.total());
        in_pieces(parcel.bytes, [&](char* piece, int size) {
            receive(piece, size, MPI_BYTE, from, tag + 1);
        });
    }
    void send_bytes(Parcel& parcel, int to, int tag) {
        in_pieces(parcel.bytes,
                  [&](char* piece, int size) { send(piece, size, MPI_BYTE, to, tag + 1); });
    }

    int wait() {
        if (status_ == MPI_SUCCESS)
            status_ = real::Waitall(static_cast<int>(requests_.size()), requests_.data(),
                                    MPI_STATUSES_IGNORE);
        requests_.clear();
        return status_;
    }

private:
    MPI_Request& request() { return requests_.emplace_back(MPI_REQUEST_NULL); }

    template <class Transfer>
    static void in_pieces(std::vector<char>& bytes, const Transfer& transfer) {
        for (std::size_t at = 0; at < bytes.size(); at += piece_bytes)
            transfer(&bytes[at], static_cast<int>(std::min(piece_bytes, bytes.size() - at)));
    }

    MPI_Comm own_;
    std::vector<MPI_Request> requests_;
    int status_ = MPI_SUCCESS;
};

using Parcels = std::map<int, Parcel>;

/// Sends and receives whole parcels: lengths, then bytes.
int exchange_parcels(Parcels& outgoing, Parcels& incoming, int tag, Transfers& transfers) {
    for (auto& [from, parcel] : incoming) transfers.receive_lengths(parcel, from, tag);
    for (auto& [to, parcel] : outgoing) transfers.send_lengths(parcel, to, tag);
    if (const int status = transfers.wait(); status != MPI_SUCCESS) return status;
    for (auto& [from, parcel] : incoming) transfers.receive_bytes(parcel, from, tag);
    for (auto& [to, parcel] : outgoing) transfers.send_bytes(parcel, to, tag);
    return transfers.wait();
}

/// One rank's part in the exchange.
class GridExchange {
public:
    GridExchange(const Exchange& exchange, Place place, MPI_Comm own, const Clusters& clusters)
        : exchange_(exchange), place_(place), own_(own), grid_(clusters), transfers_(own) {}

    int run() {
        if (const int status = within_cluster(); status != MPI_SUCCESS) return status;
        if (const int status = across(); status != MPI_SUCCESS) return status;
        return unpack();
    }

private:
    /// Blocks for members go to them at once, those for others to who collects them.
    int within_cluster() {
        for (const int member : grid_.members(place_.rank)) {
            const Block block = exchange_.received(member);
            transfers_.receive(block.room(), block.count, block.type, member, direct_tag);
        }
        Parcels outgoing;
        for (const int member : grid_.members(place_.rank)) {
            const Block block = exchange_.sent(member);
            transfers_.send(block.data, block.count, block.type, member, direct_tag);
            for (const int target : grid_.targets_by(place_.rank, member)) {
                const PackedBlock packed(exchange_.sent(target), own_);
                outgoing[member].add(packed.bytes().data(), packed.bytes().size());
            }
            const auto count = grid_.targets_by(member, place_.rank).size();
            if (count > 0) collected_[member].lengths.resize(count);
        }
        return exchange_parcels(outgoing, collected_, collect_tag, transfers_);
    }

    /// What was collected for each rank elsewhere, as one message.
    int across() {
        Parcels outgoing;
        for (auto& [source, parcel] : collected_) {
            const char* data = parcel.bytes.data();
            std::size_t at = 0;
            for (const int target : grid_.targets_by(source, place_.rank)) {
                outgoing[target].add(data, parcel.lengths[at]);
                data += parcel.lengths[at++];
            }
        }
        collected_.clear();
        for (int collector = 0; collector < place_.ranks; ++collector) {
            if (grid_.are_together(collector, place_.rank)) continue;
            const auto count = grid_.sources_by(collector, place_.rank).size();
            if (count > 0) arrived_[collector].lengths.resize(count);
        }
        return exchange_parcels(outgoing, arrived_, cross_tag, transfers_);
    }

    int unpack() {
        int status = MPI_SUCCESS;
        for (auto& [collector, parcel] : arrived_) {
            char* data = parcel.bytes.data();
            std::size_t at = 0;
            for (const int source : grid_.sources_by(collector, place_.rank)) {
                const int size = static_cast<int>(parcel.lengths[at++]);
                const Block block = exchange_.received(source);
                int used = 0;
                if (size > 0 && status == MPI_SUCCESS)
                    status = PMPI_Unpack(data, size, &used, block.room(), block.count, block.type,
                                         own_);
                data += size;
            }
        }
        return status;
    }

    const Exchange& exchange_;
    Place place_;
    MPI_Comm own_;
    Grid grid_;
    Transfers transfers_;
    Parcels collected_;  ///< by source
    Parcels arrived_;    ///< by collector
};

}  // namespace

int grid_exchange(const Exchange& exchange, Place place, MPI_Comm own, const Clusters& clusters) {
    return GridExchange(exchange, place, own, clusters).run();
}

}  // namespace headway::glue
