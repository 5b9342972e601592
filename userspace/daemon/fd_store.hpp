// SPDX-License-Identifier: Apache-2.0
// Descriptors that outlive the daemon: the service manager's store
// (FDSTORE=1 of sd_notify(3)), or a test's.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"

namespace headway {

class FdStore {
public:
    virtual ~FdStore() = default;

    /// Under that name, all of them or none, even if they say that they are hung up.
    /// Never waits; fails where it would have to.
    [[nodiscard]] virtual Result<void> put(const std::string& name, std::span<const int> fds) = 0;
    /// All of that name; none is no failure.
    [[nodiscard]] virtual Result<void> remove(const std::string& name) = 0;
};

/// The service manager's, at the other end of $NOTIFY_SOCKET; null: there is no service manager.
/// Whether the unit has a store at all, and whether it has room, the manager does not say.
[[nodiscard]] std::unique_ptr<FdStore> service_manager_store();

struct StoredDescriptor {
    std::string name;
    FileDescriptor fd;
};

/// Takes the descriptors that the service manager gave this process at its start, closed on exec
/// from now on.  It works once: afterwards the environment names none.
[[nodiscard]] std::vector<StoredDescriptor> received_descriptors();

}  // namespace headway
