// SPDX-License-Identifier: Apache-2.0
// The collectives that a client may name, as what each is planned, and the algorithms that
// rates can be for.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "plan/ring_plan.hpp"

namespace headway {

enum class PlannedAs {
    alltoall,    ///< every host to every other, all at once
    gather,      ///< every host to the root
    scatter,     ///< the root to every host
    neighbours,  ///< who sends to whom is not known: as all-to-all
    nothing,     ///< which messages the library makes of it is not known: not paced
};

struct PlannedOperation {
    std::string_view name;  ///< as the protocol spells it
    PlannedAs as;
    bool has_root = false;
    /// All ranks name the same message size.
    bool sizes_agree = true;
    /// There are rates for messages under way at once only.
    bool is_linear_only = false;
    /// The operation that a ring would carry out; none: a ring cannot carry out this one.
    std::optional<RingOperation> ring{};

    [[nodiscard]] constexpr bool can_be_linear() const {
        return is_linear_only || as == PlannedAs::alltoall;
    }
};

/// nullptr: there is no such operation.  The result lives for ever.
[[nodiscard]] const PlannedOperation* find_operation(std::string_view name);

/// "alltoall, alltoallv, ...", for messages.
[[nodiscard]] std::string operation_names();

enum class ClientAlgorithm {
    linear,  ///< every message is under way at once
    ring,    ///< ring_plan.hpp
};

/// Returns the name as the control protocol spells it.
[[nodiscard]] constexpr std::string_view name_of(ClientAlgorithm algorithm) {
    return algorithm == ClientAlgorithm::linear ? "linear" : "ring";
}

/// The algorithm is the MPI library's if it is none of the three, whatever that takes.
struct AlgorithmChoice {
    bool is_linear = false;       ///< it will be carried out so: the plan is for that
    bool able_to_linear = false;  ///< the plan may say that it should
    bool able_to_ring = false;

    friend auto operator<=>(const AlgorithmChoice&, const AlgorithmChoice&) = default;
};

}  // namespace headway
