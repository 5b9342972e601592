// SPDX-License-Identifier: MIT
#include "neighbours.hpp"

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

std::vector<int> in_graph(MPI_Comm communicator) {
    int own = 0;
    int count = 0;
    PMPI_Comm_rank(communicator, &own);
    PMPI_Graph_neighbors_count(communicator, own, &count);
    std::vector<int> ranks(static_cast<std::size_t>(count));
    PMPI_Graph_neighbors(communicator, own, count, ranks.data());
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
    if (kind == MPI_GRAPH) return in_graph(communicator);
    if (kind == MPI_DIST_GRAPH) return in_distributed_graph(communicator);
    return {};
}

}  // namespace headway::glue
