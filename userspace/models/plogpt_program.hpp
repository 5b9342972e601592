// SPDX-License-Identifier: Apache-2.0
// Programs of the PlogPT simulation: what each process does, and which messages
// that makes.
//
// Source: Nomura et al. (see plogp.hpp), sections III-D and IV-B.
//
// Vocabulary
//   operation  O[n,i], the i-th of process n: Isend, Irecv, or Wait for an
//              earlier Isend or Irecv of the same process
//   message    an Isend with its Irecv.  The k-th Isend from a to b belongs to
//              the k-th Irecv of b from a, in program order.  The sender's size
//              counts
//   step       an operation as the simulation takes it: by message
//
// Messages to oneself are skipped: they cost nothing and need no partner.
//
// Example (Fig. 9 of the paper), process 0 of 4:
//   irecv 2; isend 2; wait 1; wait 0; isend 3; wait 4
//
// Limits: no wildcards, no tags, no collective operations: these have to be
// written as the messages they make.
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.hpp"

namespace headway {

enum class PlogptOperationKind : std::uint8_t { irecv, isend, wait };

struct PlogptOperation {
    PlogptOperationKind kind = PlogptOperationKind::wait;
    std::uint32_t peer = 0;          ///< of irecv the source, of isend the destination
    double message_bytes = 0;        ///< not of wait
    std::uint32_t waited = 0;        ///< of wait: the index of the operation
};

struct PlogptMessage {
    std::uint32_t source = 0;
    std::uint32_t destination = 0;
    double bytes = 0;
};

enum class PlogptStepKind : std::uint8_t { nothing, irecv, isend, wait_irecv, wait_isend };

struct PlogptStep {
    PlogptStepKind kind = PlogptStepKind::nothing;
    std::uint32_t message = 0;  ///< not of nothing, which stands for messages to oneself
};

/// The programs that a simulation runs.  Later Isends of one process have larger numbers.
class PlogptPrograms {
public:
    virtual ~PlogptPrograms() = default;
    [[nodiscard]] virtual std::uint32_t processes() const = 0;
    [[nodiscard]] virtual std::uint32_t messages() const = 0;  ///< numbers are less than this
    [[nodiscard]] virtual std::uint32_t steps(std::uint32_t process) const = 0;
    [[nodiscard]] virtual PlogptStep step(std::uint32_t process, std::uint32_t index) const = 0;
    [[nodiscard]] virtual PlogptMessage message(std::uint32_t number) const = 0;
};

/// Programs given operation by operation.
class PlogptListedPrograms final : public PlogptPrograms {
public:
    /// Fails, naming process and operation, for a peer that does not exist, a
    /// Wait for what is no earlier Isend or Irecv, and a message of which there
    /// is only one end.
    [[nodiscard]] static Result<PlogptListedPrograms> make(
        const std::vector<std::vector<PlogptOperation>>& programs);

    [[nodiscard]] std::uint32_t processes() const override;
    [[nodiscard]] std::uint32_t messages() const override;
    [[nodiscard]] std::uint32_t steps(std::uint32_t process) const override;
    [[nodiscard]] PlogptStep step(std::uint32_t process, std::uint32_t index) const override;
    [[nodiscard]] PlogptMessage message(std::uint32_t number) const override;

private:
    PlogptListedPrograms() = default;

    std::vector<std::vector<PlogptStep>> steps_;
    std::vector<PlogptMessage> messages_;
};

/// Programs whose processes are at other leaves than their own numbers say.  What it is made
/// of lives longer.
class PlogptPlacedPrograms final : public PlogptPrograms {
public:
    /// `leaves[process]`: different ones, less than `tree_leaves`.
    PlogptPlacedPrograms(const PlogptPrograms& programs, std::vector<std::uint32_t> leaves,
                         std::uint32_t tree_leaves);

    [[nodiscard]] std::uint32_t processes() const override {
        return static_cast<std::uint32_t>(process_at_.size());
    }
    [[nodiscard]] std::uint32_t messages() const override { return programs_.messages(); }
    [[nodiscard]] std::uint32_t steps(std::uint32_t leaf) const override;
    [[nodiscard]] PlogptStep step(std::uint32_t leaf, std::uint32_t index) const override;
    [[nodiscard]] PlogptMessage message(std::uint32_t number) const override;

private:
    static constexpr std::uint32_t nobody = UINT32_MAX;

    const PlogptPrograms& programs_;
    std::vector<std::uint32_t> leaves_;
    std::vector<std::uint32_t> process_at_;  ///< by leaf
};

/// The paper's two all-to-alls (Fig. 14), r xor i being the i-th partner of r:
///   A  for i = 1..P-1: irecv, isend, wait for the irecv, wait for the isend
///   B  P-1 irecvs; for i = 1..P-1: isend, wait for it; wait for the irecvs
/// The paper's P is a power of two.  Of other numbers, r sends to r + i and receives from r - i
/// (mod P).
/// The operations are not stored: 4096 processes have 67 millions.
class PlogptAlltoall final : public PlogptPrograms {
public:
    enum class Algorithm : std::uint8_t { a, b };
    static constexpr std::uint32_t processes_max = 4096;

    /// Fails unless there are 1 to processes_max processes.
    [[nodiscard]] static Result<PlogptAlltoall> make(Algorithm algorithm, std::uint32_t processes,
                                                     double message_bytes);

    [[nodiscard]] std::uint32_t processes() const override { return processes_; }
    [[nodiscard]] std::uint32_t messages() const override { return (processes_ - 1) * processes_; }
    [[nodiscard]] std::uint32_t steps(std::uint32_t) const override { return 4 * (processes_ - 1); }
    [[nodiscard]] PlogptStep step(std::uint32_t process, std::uint32_t index) const override;
    [[nodiscard]] PlogptMessage message(std::uint32_t number) const override;

private:
    PlogptAlltoall(Algorithm algorithm, std::uint32_t processes, double message_bytes)
        : algorithm_(algorithm), processes_(processes), message_bytes_(message_bytes) {}

    [[nodiscard]] std::uint32_t destination_of(std::uint32_t source, std::uint32_t i) const;
    [[nodiscard]] std::uint32_t source_of(std::uint32_t destination, std::uint32_t i) const;

    /// To the i-th partner, i from 1.  Numbers of one i are neighbours, as are
    /// the messages that are under way at one time.
    [[nodiscard]] std::uint32_t number(std::uint32_t source, std::uint32_t i) const {
        return (i - 1) * processes_ + source;
    }

    Algorithm algorithm_;
    std::uint32_t processes_;
    double message_bytes_;
};

}  // namespace headway
