// SPDX-License-Identifier: Apache-2.0
// Agents that nobody starts by a launch command of their own: an MPI job's launcher has started
// them in place of its ranks (mpi-glue/become_agent.c), and each calls the coordinator over TCP.
//
// What a caller says first is one line, {"token", "node", "ranks"}; then it is an agent like any
// other (agent.hpp).  Of several ranks on a node the first that calls stays, the others are let go.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "measure/agent_process.hpp"

namespace headway {

/// In which agents find where to call: the token, the port, and this node's addresses.
inline constexpr const char* call_variable = "HEADWAY_MEASURE_AT";

struct CalledAgent {
    std::string node;     ///< as the MPI helper will call it
    std::string address;  ///< from which it calls
    AgentProcess process;
};

/// The coordinator's side.
class AgentCalls {
public:
    [[nodiscard]] static Result<AgentCalls> open();

    /// The value of call_variable.
    [[nodiscard]] const std::string& where() const { return where_; }

    /// The agents of all nodes, as soon as all of the job's ranks have called; none if `launcher`,
    /// a pidfd, ends before any has.  Once one has called the others have `patience`.
    [[nodiscard]] Result<std::vector<CalledAgent>> wait(int launcher,
                                                        std::chrono::milliseconds patience);

private:
    struct Caller {
        FileDescriptor socket;
        std::string address;
        std::string said;
    };

    AgentCalls(FileDescriptor listener, std::string token, std::string where)
        : listener_(std::move(listener)), token_(std::move(token)), where_(std::move(where)) {}

    void hear_all();
    /// False: there is no more to come of it.
    [[nodiscard]] bool hear(Caller& caller);
    void welcome(Caller& caller, std::string_view line);

    FileDescriptor listener_;
    std::string token_, where_;
    std::vector<Caller> callers_;  ///< who have not said all yet
    std::vector<CalledAgent> agents_;
    std::uint64_t ranks_ = 0;  ///< of the job; 0: not known yet
    std::uint64_t heard_ = 0;
};

/// The agent's side: from now on its standard input and output are the coordinator.
[[nodiscard]] Result<void> call_coordinator();

}  // namespace headway
