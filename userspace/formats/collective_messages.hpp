// SPDX-License-Identifier: Apache-2.0
// Collective operations of a trace as the messages of one rank.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "formats/program_builder.hpp"

namespace headway {

/// Adds the messages of one rank's collective calls to its program.
class CollectiveMessages {
public:
    CollectiveMessages(ProgramBuilder& builder, std::uint32_t line, std::uint32_t rank)
        : builder_(builder), line_(line), rank_(rank), ranks_(builder.ranks()) {}

    void barrier();                                    ///< dissemination
    void broadcast(std::uint32_t root, double bytes);  ///< binomial tree
    void reduce(std::uint32_t root, double bytes);     ///< the same tree upwards
    void gather(std::uint32_t root, double bytes);     ///< straight
    void scatter(std::uint32_t root, double bytes);
    void allgather(double bytes);                      ///< ring
    /// To rank r goes bytes_to(r); what arrives is for the senders to say.
    void alltoall(const std::function<double(std::uint32_t)>& bytes_to);

private:
    std::optional<std::uint32_t> send(std::uint32_t peer, double bytes);
    std::optional<std::uint32_t> receive(std::uint32_t peer);
    void wait(std::optional<std::uint32_t> operation) { builder_.wait(line_, rank_, operation); }
    [[nodiscard]] std::uint32_t relative(std::uint32_t root) const {
        return (rank_ + ranks_ - root) % ranks_;
    }

    ProgramBuilder& builder_;
    std::uint32_t line_;
    std::uint32_t rank_;
    std::uint32_t ranks_;
};

}  // namespace headway
