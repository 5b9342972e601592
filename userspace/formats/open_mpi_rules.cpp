// SPDX-License-Identifier: Apache-2.0
#include "formats/open_mpi_rules.hpp"

#include <iterator>

#include <fmt/core.h>

namespace headway {
namespace {

constexpr int alltoall_number = 3;  // in Open MPI's list of collectives

Result<void> check(const OpenMpiCommunicatorRule& rule) {
    if (rule.messages.empty() || rule.messages.front().sent_bytes != 0) {
        return failure("the rules for {} processes do not begin with messages of 0 bytes",
                       rule.processes);
    }
    for (std::size_t i = 1; i < rule.messages.size(); ++i) {
        if (rule.messages[i].sent_bytes > rule.messages[i - 1].sent_bytes) continue;
        return failure("the message sizes for {} processes do not rise at {}", rule.processes,
                       rule.messages[i].sent_bytes);
    }
    return {};
}

}  // namespace

Result<std::string> write_open_mpi_alltoall_rules(std::span<const OpenMpiCommunicatorRule> rules) {
    std::string text = fmt::format("1 # collectives with rules\n{} # is MPI_Alltoall\n{} # sizes of "
                                   "communicators\n",
                                   alltoall_number, rules.size());
    for (std::size_t i = 0; i < rules.size(); ++i) {
        const OpenMpiCommunicatorRule& rule = rules[i];
        if (i > 0 && rule.processes <= rules[i - 1].processes) {
            return failure("the sizes of communicators do not rise at {}", rule.processes);
        }
        if (auto good = check(rule); !good) return tl::unexpected(good.error());
        const auto out = std::back_inserter(text);
        fmt::format_to(out, "{} # processes or more\n{} # sizes of messages\n", rule.processes,
                       rule.messages.size());
        for (const OpenMpiMessageRule& message : rule.messages) {
            fmt::format_to(out, "{} {} 0 0 # bytes or more, algorithm, fan-out, segment\n",
                           message.sent_bytes, static_cast<int>(message.algorithm));
        }
    }
    return text;
}

}  // namespace headway
