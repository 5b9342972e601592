// SPDX-License-Identifier: Apache-2.0
// What may be asked on the control socket, and by whom: one row for each kind of request.
// Documentation/security.rst says what follows from it.
#pragma once

#include <span>
#include <string_view>

#include "control/protocol.hpp"
#include "jobs/control_session.hpp"

namespace headway {

class ControlService;

enum class Authority {
    anybody,        ///< who may connect: it changes nothing that is another's
    own_job,        ///< of the job's user
    administrator,  ///< root, and the group that [access] names
};

/// Whether its time counts for its user (UserTime).
enum class Cost { little, planning };

struct RequestKind {
    std::string_view name;
    Authority who;
    Cost cost;
    Result<Json> (*serve)(ControlService&, ControlSession&, const RequestBody&, Json answer);
    std::string_view timed_as{};  ///< in the status; empty: not told
    bool is_handed_on = false;    ///< it changes what a HandedClient tells
    bool needs_phases = false;
    bool gives_slots = false;     ///< a descriptor of the job's slots goes with the answer
};

[[nodiscard]] std::span<const RequestKind> request_kinds();
/// Null: there is none of that name.
[[nodiscard]] const RequestKind* find_request(std::string_view name);

/// Why only an administrator may ask this of the job of that user; none: the user may.
[[nodiscard]] std::optional<std::string> beyond_own_job(const RequestBody& body, uid_t user);

}  // namespace headway
