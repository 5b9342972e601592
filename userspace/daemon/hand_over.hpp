// SPDX-License-Identifier: Apache-2.0
// From one run of the daemon to the next: what processes that have joined hang on.
//
// In a store that outlives the daemon (FdStore) are
//
//   headway-state        StateMemory with a HandedState
//   headway-job-J        the array that job J's processes have mapped
//   headway-client-J-S   of the process in slot S: its connection and its pidfd
//   headway-sent, ...    what the classifier remembers (PhaseMaps::memory())
//
// and nothing when nobody has joined.  So it holds at most four, and 64 arrays, and
// 2 x 64 descriptors of processes.  The next run goes on with all whose processes
// live.  At every moment a run that ends leaves what is right: who was being served
// just then may have no answer, and is disconnected.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <spdlog/fwd.h>

#include "daemon/control_service.hpp"
#include "daemon/control_socket.hpp"
#include "daemon/fd_store.hpp"
#include "daemon/state_memory.hpp"

namespace headway {

/// The service's state as text.  What has not changed since the last time is not written
/// anew: an `enter` changes a few words of one process, whatever else there is.
class HandedText {
public:
    /// Empty: it is too much to be kept.
    [[nodiscard]] const std::string& of(const ControlService& service);
    [[nodiscard]] bool has_jobs_of(const ControlService& service) const {
        return job_changes_ == service.handed_job_changes();
    }

private:
    std::optional<std::uint64_t> job_changes_;  ///< of jobs_ and clients_
    std::string jobs_, whole_;
    /// Each with its changes so far.
    std::map<ControlService::SessionId, std::pair<std::uint64_t, std::string>> clients_;
};

class HandOver {
public:
    /// `store` (null: nothing outlives this run) and `log` must outlive this object.
    HandOver(FdStore* store, spdlog::logger& log) : store_(store), log_(log) {}
    HandOver(HandOver&&) = delete;

    struct Client {
        ControlService::SessionId session;
        Connection connection;
    };
    struct TakenUp {
        std::vector<Client> clients;  ///< of an earlier run, whose connections go on
        /// Nobody who lives is missing: the classifier of the earlier run can go.
        bool is_complete = false;
    };
    /// Before `service` has any client.  The store keeps what it has until update().
    [[nodiscard]] TakenUp take_up(ControlService& service, std::vector<StoredDescriptor> received);

    using Joined = std::map<PhaseSeat, const Client*>;
    /// True if the service is another than at the last update(), and it matters.
    [[nodiscard]] bool is_behind(const ControlService& service) const {
        return store_ != nullptr && (is_behind_ || service.handed_changes() != seen_);
    }
    /// Keeps what there is now.  Before an answer that tells of it.  `joined` is asked only
    /// where jobs or processes have come or gone.
    void update(const ControlService& service, const std::function<Joined()>& joined);

    /// From now on, what `seat` asks for may be half done; none: nothing of those who have joined.
    void begin_request(const std::optional<PhaseSeat>& seat);

    /// There is no next run.
    void forget_all();

private:
    struct Wanted {
        std::vector<int> fds;
        ControlService::SessionId owner;
    };
    using AllWanted = std::map<std::string, Wanted>;
    struct Found;

    Result<TakenUp> take_up_state(ControlService& service, Found& found);
    Result<void> keep(const ControlService& service, const Joined& joined);
    Result<void> put(const std::string& name, const Wanted& what);
    Result<void> write(const ControlService& service);
    Result<void> remove_others(const AllWanted& wanted);

    FdStore* store_;
    spdlog::logger& log_;
    std::optional<StateMemory> memory_;
    HandedText text_;
    std::uint64_t served_ = 0;  ///< the mark that memory_ has, or is to have
    std::map<std::string, ControlService::SessionId> stored_;  ///< names, and whose they are
    std::uint64_t seen_ = 0;
    bool is_behind_ = false;
    std::string last_warning_;
};

}  // namespace headway
