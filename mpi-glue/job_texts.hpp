// SPDX-License-Identifier: MIT
// What the ranks of the job tell each other once: yes or no, and texts.  All functions are collective over MPI_COMM_WORLD.
// A rank without the memory for its part takes every step all the same, and all ranks come to the same result.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "own_network.hpp"
#include "short_memory.hpp"

namespace headway::glue {

/// A rank's own text; none: it has no memory for one.
using OwnText = std::optional<std::string>;

/// Calls `make` and returns its text; none: there is no memory for it.
[[nodiscard]] OwnText own_text(const auto& make) {
    OwnText text;
    if (!has_memory_for([&] { text = make(); })) text.reset();
    return text;
}

[[nodiscard]] bool all_agree(bool own) noexcept;

/// By rank, without null bytes; none: a rank has no memory.  No more is sent than the longest text needs: it goes
/// unpaced at the start of a job, and a frame that is lost then leaves its connection with a small window.
[[nodiscard]] std::optional<std::vector<std::string>> allgather_texts(const OwnText& own) noexcept;

/// Gathers the texts, of any bytes, at rank 0; others get as many empty ones.  None also if they
/// have 2 GiB and more together.
[[nodiscard]] std::optional<std::vector<std::string>> gather_texts(const OwnText& own) noexcept;

/// That of rank 0.  None: a rank has no memory.
[[nodiscard]] std::optional<std::string> text_of_rank_0(const OwnText& own) noexcept;

/// Those of all ranks' network namespaces.  None: a rank has no memory, which need not be this one's.
[[nodiscard]] std::optional<std::set<Address>> addresses_of_all() noexcept;

}  // namespace headway::glue
