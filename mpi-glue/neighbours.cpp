// SPDX-License-Identifier: MIT
#include "neighbours.hpp"

#include "message_size.hpp"

namespace headway::glue {
namespace {

std::vector<int> in_cartesian_grid(MPI_Comm communicator) {
    int dimensions = 0;
    PMPI_Cartdim_get(communicator, &dimensions);
    std::vector<int> ranks(2 * static_cast<std::size_t>(dimensions));
    for (int dimension = 0; dimension < dimensions; ++dimension) {
        const auto at = 2 * static_cast<std::size_t>(dimension);
        PMPI_Cart_shift(communicator, dimension, 1, &ranks[at], &ranks[at + 1]);
    }
    return ranks;
}

class CartesianGrid {
public:
    explicit CartesianGrid(MPI_Comm communicator) : communicator_(communicator) {
        int dimensions = 0;
        PMPI_Cartdim_get(communicator, &dimensions);
        const auto size = static_cast<std::size_t>(dimensions);
        sizes_.resize(size);
        periodic_.resize(size);
        std::vector<int> own(size);
        PMPI_Cart_get(communicator, dimensions, sizes_.data(), periodic_.data(), own.data());
    }

    [[nodiscard]] std::vector<int> neighbours_of(int rank) const {
        std::vector<int> at(sizes_.size());
        PMPI_Cart_coords(communicator_, rank, static_cast<int>(at.size()), at.data());
        std::vector<int> ranks;
        for (std::size_t dimension = 0; dimension < at.size(); ++dimension) {
            for (const int step : {-1, 1}) {
                auto to = at;
                to[dimension] += step;
                if (is_within(to[dimension], dimension)) ranks.push_back(rank_at(to));
            }
        }
        return ranks;
    }

private:
    [[nodiscard]] bool is_within(int place, std::size_t dimension) const {
        return periodic_[dimension] != 0 || (place >= 0 && place < sizes_[dimension]);
    }
    /// MPI takes places beyond a periodic edge, too.
    [[nodiscard]] int rank_at(const std::vector<int>& place) const {
        int rank = 0;
        PMPI_Cart_rank(communicator_, place.data(), &rank);
        return rank;
    }

    MPI_Comm communicator_;
    std::vector<int> sizes_;
    std::vector<int> periodic_;
};

std::vector<int> in_graph(MPI_Comm communicator, int rank) {
    int count = 0;
    PMPI_Graph_neighbors_count(communicator, rank, &count);
    std::vector<int> ranks(static_cast<std::size_t>(count));
    PMPI_Graph_neighbors(communicator, rank, count, ranks.data());
    return ranks;
}

std::vector<int> in_distributed_graph(MPI_Comm communicator) {
    int in = 0;
    int out = 0;
    int weighted = 0;
    PMPI_Dist_graph_neighbors_count(communicator, &in, &out, &weighted);
    const auto in_size = static_cast<std::size_t>(in);
    const auto out_size = static_cast<std::size_t>(out);
    // MPICH refuses null pointers, even for no neighbours
    std::vector<int> sources(in_size + 1), source_weights(in_size + 1);
    std::vector<int> ranks(out_size + 1), weights(out_size + 1);
    PMPI_Dist_graph_neighbors(communicator, in, sources.data(), source_weights.data(), out,
                              ranks.data(), weights.data());
    ranks.resize(out_size);
    return ranks;
}

}  // namespace

std::vector<int> destinations_of(MPI_Comm communicator) {
    int kind = MPI_UNDEFINED;
    PMPI_Topo_test(communicator, &kind);
    if (kind == MPI_CART) return in_cartesian_grid(communicator);
    if (kind == MPI_GRAPH) return in_graph(communicator, place_in(communicator).rank);
    if (kind == MPI_DIST_GRAPH) return in_distributed_graph(communicator);
    return {};
}

std::vector<std::vector<int>> destinations_of_all(MPI_Comm communicator) {
    int kind = MPI_UNDEFINED;
    PMPI_Topo_test(communicator, &kind);
    std::vector<std::vector<int>> destinations;
    if (kind != MPI_CART && kind != MPI_GRAPH) return destinations;
    const int ranks = place_in(communicator).ranks;
    if (kind == MPI_GRAPH) {
        for (int rank = 0; rank < ranks; ++rank)
            destinations.push_back(in_graph(communicator, rank));
        return destinations;
    }
    const CartesianGrid grid(communicator);
    for (int rank = 0; rank < ranks; ++rank) destinations.push_back(grid.neighbours_of(rank));
    return destinations;
}

}  // namespace headway::glue
