// SPDX-License-Identifier: Apache-2.0
// The service manager's store, as systemd has it: copies of descriptors by name.
#pragma once

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "daemon/fd_store.hpp"

namespace headway::test {

class FakeFdStore final : public FdStore {
public:
    Result<void> put(const std::string& name, std::span<const int> fds) override {
        if (is_stuck) return system_failure(EAGAIN, "nobody reads");
        for (const int fd : fds) {
            entries_.push_back({name, FileDescriptor(fcntl(fd, F_DUPFD_CLOEXEC, 0))});
        }
        return {};
    }
    Result<void> remove(const std::string& name) override {
        if (is_stuck || refused_name == name) return system_failure(EAGAIN, "nobody reads");
        std::erase_if(entries_, [&](const Entry& one) { return one.name == name; });
        return {};
    }

    /// Returns what a new process gets; the store keeps all.
    [[nodiscard]] std::vector<StoredDescriptor> received() {
        std::vector<StoredDescriptor> all;
        for (const Entry& one : entries_) {
            all.push_back({one.name, FileDescriptor(fcntl(one.fd.get(), F_DUPFD_CLOEXEC, 0))});
        }
        return all;
    }
    [[nodiscard]] std::size_t size() const { return entries_.size(); }
    void lose(const std::string& name) {
        std::erase_if(entries_, [&](const Entry& one) { return one.name == name; });
    }
    [[nodiscard]] int fd_of(const std::string& name) const {
        const auto found = std::find_if(entries_.begin(), entries_.end(),
                                        [&](const Entry& one) { return one.name == name; });
        return found == entries_.end() ? -1 : found->fd.get();
    }

    bool is_stuck = false;
    std::string refused_name;  ///< not removed: the store had no room for the request just then

private:
    struct Entry {
        std::string name;
        FileDescriptor fd;
    };
    std::vector<Entry> entries_;
};

}  // namespace headway::test
