// SPDX-License-Identifier: Apache-2.0
#include "formats/collective_messages.hpp"

namespace headway {

using Kind = PlogptOperationKind;

std::optional<std::uint32_t> CollectiveMessages::send(std::uint32_t peer, double bytes) {
    return builder_.add(line_, rank_, Kind::isend, peer, bytes, ProgramBuilder::collective_tag);
}

std::optional<std::uint32_t> CollectiveMessages::receive(std::uint32_t peer) {
    return builder_.add(line_, rank_, Kind::irecv, peer, 0, ProgramBuilder::collective_tag);
}

void CollectiveMessages::barrier() {
    for (std::uint64_t step = 1; step < ranks_; step *= 2) {
        const auto distance = static_cast<std::uint32_t>(step);
        const auto received = receive((rank_ + ranks_ - distance) % ranks_);
        const auto sent = send((rank_ + distance) % ranks_, 0);
        wait(received);
        wait(sent);
    }
}

// Rank r, counted from the root, gets it from r without its highest bit, and
// then sends it to r with each higher bit set, the farthest first.
void CollectiveMessages::broadcast(std::uint32_t root, double bytes) {
    const std::uint64_t own = relative(root);
    std::uint64_t bit = 1;
    while (bit <= own) bit *= 2;
    const auto absolute = [&](std::uint64_t r) {
        return static_cast<std::uint32_t>((r + root) % ranks_);
    };
    if (own > 0) wait(receive(absolute(own - bit / 2)));
    for (; own + bit < ranks_; bit *= 2) wait(send(absolute(own + bit), bytes));
}

void CollectiveMessages::reduce(std::uint32_t root, double bytes) {
    const std::uint64_t own = relative(root);
    std::uint64_t first = 1;
    while (first <= own) first *= 2;
    const auto absolute = [&](std::uint64_t r) {
        return static_cast<std::uint32_t>((r + root) % ranks_);
    };
    std::uint64_t bit = first;
    while (own + bit < ranks_) bit *= 2;
    while (bit > first) {
        bit /= 2;
        wait(receive(absolute(own + bit)));
    }
    if (own > 0) wait(send(absolute(own - first / 2), bytes));
}

void CollectiveMessages::gather(std::uint32_t root, double bytes) {
    if (rank_ != root) {
        wait(send(root, bytes));
        return;
    }
    std::vector<std::optional<std::uint32_t>> received;
    for (std::uint32_t i = 1; i < ranks_ && !builder_.is_full(); ++i) {
        received.push_back(receive((root + i) % ranks_));
    }
    for (const auto& one : received) wait(one);
}

void CollectiveMessages::scatter(std::uint32_t root, double bytes) {
    if (rank_ != root) {
        wait(receive(root));
        return;
    }
    std::vector<std::optional<std::uint32_t>> sent;
    for (std::uint32_t i = 1; i < ranks_ && !builder_.is_full(); ++i) {
        sent.push_back(send((root + i) % ranks_, bytes));
    }
    for (const auto& one : sent) wait(one);
}

void CollectiveMessages::allgather(double bytes) {
    for (std::uint32_t i = 1; i < ranks_ && !builder_.is_full(); ++i) {
        const auto received = receive((rank_ + ranks_ - 1) % ranks_);
        const auto sent = send((rank_ + 1) % ranks_, bytes);
        wait(received);
        wait(sent);
    }
}

void CollectiveMessages::alltoall(const std::function<double(std::uint32_t)>& bytes_to) {
    std::vector<std::optional<std::uint32_t>> all;
    for (std::uint32_t i = 1; i < ranks_ && !builder_.is_full(); ++i) {
        all.push_back(receive((rank_ + ranks_ - i) % ranks_));
    }
    for (std::uint32_t i = 1; i < ranks_ && !builder_.is_full(); ++i) {
        const std::uint32_t peer = (rank_ + i) % ranks_;
        all.push_back(send(peer, bytes_to(peer)));
    }
    for (const auto& one : all) wait(one);
}

}  // namespace headway
