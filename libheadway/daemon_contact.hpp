// SPDX-License-Identifier: MIT
// Being in contact with headwayd: connected, greeted, and with a slot for phases
// where the daemon has them.  Made once while MPI is initialised, when waiting
// does no harm; and sought again after it was lost, when nobody may wait.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "daemon_link.hpp"
#include "phase_slot.hpp"

namespace headway::glue {

/// How to reach the daemon, and who asks.
struct ContactPlan {
    std::string socket_path;
    std::chrono::milliseconds timeout{};
    std::string job;
    std::uint64_t job_start = 0;  ///< 0: nobody has drawn it
    int rank = 0;
};

struct Contact {
    DaemonLink link;
    std::string node;               ///< as headway.toml knows it; "" if it was not told
    std::string cluster;            ///< the same
    std::uint64_t min_message_bytes = 0;  ///< smaller messages are not paced
    std::uint64_t port_buffer_bytes = 0;  ///< the smallest in front of a host; 0: none is known
    std::optional<PhaseSlot> slot;  ///< none: rates change by requests
};

/// Waits for the daemon's answers.
[[nodiscard]] LinkResult<Contact> make_contact(const ContactPlan& plan);

/// Finds a daemon that went away: at growing pauses it tries to connect, and
/// between two calls it waits for the answers.
class ContactSeeker {
public:
    using Clock = std::chrono::steady_clock;
    using Now = std::function<Clock::time_point()>;

    static constexpr std::chrono::seconds first_pause{1};
    static constexpr std::chrono::seconds longest_pause{30};

    /// There is a contact.
    ContactSeeker(ContactPlan plan, Now now);

    /// The contact is lost.  One that did not last does not make the pauses
    /// short again: its daemon may answer a greeting and nothing else.
    void lost();

    /// A new one, once there is one.  Never waits, and between attempts costs
    /// one look at the clock.
    [[nodiscard]] std::optional<Contact> seek();

private:
    struct Attempt {
        DaemonLink link;
        Clock::time_point deadline;
        std::uint64_t hello = 0;  ///< ids of its requests
        std::uint64_t join = 0;
        std::optional<DaemonLink::Json> greeted;  ///< the answer to hello
    };

    void begin();
    [[nodiscard]] std::optional<Contact> proceed();
    void pause();

    ContactPlan plan_;
    Now now_;
    Clock::time_point since_;  ///< of the contact, while there is one
    Clock::time_point next_attempt_;
    std::chrono::seconds pause_ = first_pause;
    std::optional<Attempt> attempt_;
};

}  // namespace headway::glue
