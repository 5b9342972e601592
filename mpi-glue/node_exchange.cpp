// SPDX-License-Identifier: MIT
#include "node_exchange.hpp"

#include <cstring>

#include "packed_block.hpp"

namespace headway::glue {
namespace {

using Bytes = std::vector<char>;
using Ranks = std::vector<int>;
using Nodes = std::vector<std::size_t>;

Block block_of(Bytes& bytes) { return {bytes.data(), int_of(bytes.size()), MPI_BYTE}; }

/// One rank's part.  With an error it goes through all of it like the others, who wait
/// for its messages; all memory is there before the first of these.
class NodeExchange {
public:
    NodeExchange(const Exchange& exchange, const ExchangeOrder& order, const OwnCall& call)
        : exchange_(exchange),
          ranks_of_(order.ranks_of_host()),
          own_node_(order.own_host()),
          own_index_(order.own_index()),
          communicator_(call.communicator),
          messages_(call) {
        const Block block = exchange.received(own_ranks()[own_index_]);
        block_bytes_ = bytes_of(block);
        sends_bytes_ = is_packed_already(exchange.sent(own_ranks()[own_index_]).type);
        receives_bytes_ = is_packed_already(block.type);
        for (std::size_t index = 0; index < own_ranks().size(); ++index)
            stands_for_.push_back(nodes_of(index));
        for (const Nodes& nodes : stands_for_) {
            own_blocks_.emplace_back(ranks_on(nodes) * block_bytes_);
            passing_.emplace_back(ranks_on(stands_for_[own_index_]) * block_bytes_);
        }
        for (const std::size_t node : stands_for_[own_index_]) {
            const std::size_t bytes = ranks_of_[node].size() * own_ranks().size() * block_bytes_;
            going_.emplace_back(bytes);
            arrived_.emplace_back(bytes);
        }
    }

    int run() {
        for (const int rank : own_ranks()) messages_.receive(exchange_.received(rank), rank);
        for (const int rank : own_ranks()) messages_.send(exchange_.sent(rank), rank);
        pack_own_blocks();
        swap_within_node(own_blocks_, passing_);
        between_nodes();
        sort_arrived();
        swap_within_node(passing_, own_blocks_);
        unpack_own_blocks();
        return messages_.status();
    }

private:
    [[nodiscard]] const Ranks& own_ranks() const { return ranks_of_[own_node_]; }

    /// The nodes that the rank of that index on this node stands for; first those that come
    /// after this one, so that not all nodes send to the same one first.
    [[nodiscard]] Nodes nodes_of(std::size_t index) const {
        Nodes nodes;
        for (std::size_t distance = 1; distance < ranks_of_.size(); ++distance) {
            const std::size_t node = (own_node_ + distance) % ranks_of_.size();
            if (node % own_ranks().size() == index) nodes.push_back(node);
        }
        return nodes;
    }

    [[nodiscard]] std::size_t ranks_on(const Nodes& nodes) const {
        std::size_t ranks = 0;
        for (const std::size_t node : nodes) ranks += ranks_of_[node].size();
        return ranks;
    }

    /// The rank there that stands for this node.
    [[nodiscard]] int counterpart_on(std::size_t node) const {
        return ranks_of_[node][own_node_ % ranks_of_[node].size()];
    }

    /// Of each rank of this node in turn; what has no bytes is not sent.
    void swap_within_node(std::vector<Bytes>& sent, std::vector<Bytes>& received) {
        for (std::size_t index = 0; index < received.size(); ++index) {
            if (!received[index].empty())
                messages_.receive(block_of(received[index]), own_ranks()[index]);
        }
        for (std::size_t index = 0; index < sent.size(); ++index) {
            if (!sent[index].empty()) messages_.send(block_of(sent[index]), own_ranks()[index]);
        }
        messages_.wait_for_all();
    }

    /// Calls `transfer(rank, place)` of all ranks of other nodes, where `place` in
    /// own_blocks_ is that of the block to or from that rank.
    void for_each_own_block(const auto& transfer) {
        for (std::size_t index = 0; index < own_blocks_.size(); ++index) {
            char* place = own_blocks_[index].data();
            for (const std::size_t node : stands_for_[index]) {
                for (const int rank : ranks_of_[node]) {
                    transfer(rank, place);
                    place += block_bytes_;
                }
            }
        }
    }

    void pack_own_blocks() {
        for_each_own_block([&](int rank, char* place) {
            const Block block = exchange_.sent(rank);
            if (sends_bytes_) {
                std::memcpy(place, block.data, block_bytes_);
            } else {
                messages_.note(pack(block, place, block_bytes_, communicator_));
            }
        });
    }

    void unpack_own_blocks() {
        for_each_own_block([&](int rank, const char* place) {
            const Block block = exchange_.received(rank);
            if (receives_bytes_) {
                std::memcpy(block.room(), place, block_bytes_);
            } else {
                messages_.note(unpack(place, block_bytes_, block, communicator_));
            }
        });
    }

    /// One message has, of each rank of the one node, its blocks for all ranks of the other.
    void between_nodes() {
        const Nodes& nodes = stands_for_[own_index_];
        std::size_t from = 0;
        for (std::size_t at = 0; at < nodes.size(); ++at) {
            messages_.receive(block_of(arrived_[at]), counterpart_on(nodes[at]));
            const std::size_t bytes = ranks_of_[nodes[at]].size() * block_bytes_;
            char* to = going_[at].data();
            for (const Bytes& blocks : passing_) {
                std::memcpy(to, blocks.data() + from, bytes);
                to += bytes;
            }
            from += bytes;
        }
        for (std::size_t at = 0; at < nodes.size(); ++at)
            messages_.send(block_of(going_[at]), counterpart_on(nodes[at]));
        messages_.wait_for_all();
    }

    /// For each rank of this node what has come for it, in the order of those who sent it.
    void sort_arrived() {
        const Nodes& nodes = stands_for_[own_index_];
        for (std::size_t index = 0; index < passing_.size(); ++index) {
            char* to = passing_[index].data();
            for (std::size_t at = 0; at < nodes.size(); ++at) {
                for (std::size_t source = 0; source < ranks_of_[nodes[at]].size(); ++source) {
                    const std::size_t block = source * own_ranks().size() + index;
                    std::memcpy(to, arrived_[at].data() + block * block_bytes_, block_bytes_);
                    to += block_bytes_;
                }
            }
        }
    }

    const Exchange& exchange_;
    const std::vector<Ranks>& ranks_of_;  ///< by node
    std::size_t own_node_;
    std::size_t own_index_;  ///< among the ranks of the own node
    std::size_t block_bytes_ = 0;
    bool sends_bytes_ = false;     ///< what is sent lies in memory as it is packed
    bool receives_bytes_ = false;  ///< the same of what is received
    std::vector<Nodes> stands_for_;  ///< by rank of this node

    // By rank of this node: blocks to the nodes that it stands for, and later from them;
    // and its blocks for the nodes that this rank stands for, and later those for it.
    std::vector<Bytes> own_blocks_;
    std::vector<Bytes> passing_;
    // By node that this rank stands for.
    std::vector<Bytes> going_;
    std::vector<Bytes> arrived_;

    MPI_Comm communicator_;
    Messages messages_;  ///< last, for its messages end before their memory does
};

}  // namespace

int exchange_by_nodes(const Exchange& exchange, const ExchangeOrder& order, const OwnCall& call) {
    return NodeExchange(exchange, order, call).run();
}

}  // namespace headway::glue
