// SPDX-License-Identifier: MIT
// Being in contact with headwayd: connected, greeted, and with a slot for phases.
// A daemon that gives no slot is like one that is not there, but for what it has
// told in its greeting.  Contact is made once while MPI is initialised, when waiting
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

/// The daemon's answer to "hello".
struct Greeting {
    std::string node;               ///< as headway.toml knows it; "" if it was not told
    std::string cluster;            ///< the same
    std::uint64_t min_message_bytes = 0;  ///< smaller messages are not paced
    std::uint64_t port_buffer_bytes = 0;  ///< the smallest in front of a host; 0: none is known
};

struct Contact {
    DaemonLink link;
    PhaseSlot slot;
    Greeting greeting;
};

/// Waits for the daemon's answers.  `greeted` becomes what it says of itself, also if no
/// contact comes of it.
[[nodiscard]] LinkResult<Contact> make_contact(const ContactPlan& plan,
                                               std::optional<Greeting>& greeted);

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

    /// The contact is lost, or could not be made.  One that did not last does not make the
    /// pauses short again: its daemon may answer a greeting and nothing else.
    void lost(std::string why);
    /// Why there is no contact, as far as the last attempt showed; for people.
    [[nodiscard]] const std::string& why() const { return why_; }

    /// A new one, once there is one.  Never waits, and between attempts costs
    /// one look at the clock.
    [[nodiscard]] std::optional<Contact> seek();

private:
    struct Attempt {
        DaemonLink link;
        Clock::time_point deadline;
        std::uint64_t hello = 0;  ///< ids of its requests
        std::uint64_t join = 0;
        std::optional<Greeting> greeted;
    };

    void begin();
    [[nodiscard]] LinkResult<std::optional<Contact>> proceed();
    void pause(std::string why);

    ContactPlan plan_;
    Now now_;
    Clock::time_point since_;  ///< of the contact, while there is one
    Clock::time_point next_attempt_;
    std::chrono::seconds pause_ = first_pause;
    std::string why_;
    std::optional<Attempt> attempt_;
};

}  // namespace headway::glue
