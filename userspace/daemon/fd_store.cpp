// SPDX-License-Identifier: Apache-2.0
#include "daemon/fd_store.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>

#include <cstddef>
#include <cstdlib>

#include "daemon/control_socket.hpp"

namespace headway {
namespace {

/// A path, or a name in the abstract namespace with a '@' before it.
std::string unix_address(std::string_view name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (name.size() < 2 || name.size() >= sizeof(address.sun_path)) return {};
    if (name[0] != '/' && name[0] != '@') return {};
    name.copy(address.sun_path, name.size());
    if (name[0] == '@') address.sun_path[0] = '\0';
    const std::size_t end = name[0] == '/' ? 1 : 0;  // of a path
    return {reinterpret_cast<const char*>(&address),
            offsetof(sockaddr_un, sun_path) + name.size() + end};
}

class ServiceManagerStore final : public FdStore {
public:
    /// `address` is a sockaddr_un, as many bytes as it has.
    ServiceManagerStore(FileDescriptor socket, std::string address)
        : socket_(std::move(socket)), address_(std::move(address)) {}

    /// systemd, without FDPOLL=0, forgets what is hung up: every array of BPF's is, to poll(), and
    /// since Linux 6.9 the pidfd of a process that has been waited for.
    Result<void> put(const std::string& name, std::span<const int> fds) override {
        return send(fmt::format("FDSTORE=1\nFDNAME={}\nFDPOLL=0\n", name), fds);
    }
    Result<void> remove(const std::string& name) override {
        return send(fmt::format("FDSTOREREMOVE=1\nFDNAME={}\n", name), {});
    }

private:
    /// sd_pid_notify_with_fds() would wait for a manager that does not read.
    Result<void> send(const std::string& text, std::span<const int> fds) {
        if (send_datagram(socket_.get(), text, fds, address_)) return {};
        return errno_failure("the service manager's socket");
    }

    FileDescriptor socket_;
    std::string address_;
};

}  // namespace

std::unique_ptr<FdStore> service_manager_store() {
    const char* name = std::getenv("NOTIFY_SOCKET");
    std::string address = name == nullptr ? "" : unix_address(name);
    if (address.empty()) return nullptr;
    FileDescriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return nullptr;
    return std::make_unique<ServiceManagerStore>(std::move(socket), std::move(address));
}

std::vector<StoredDescriptor> received_descriptors() {
    std::vector<StoredDescriptor> received;
    char** names = nullptr;
    const int count = sd_listen_fds_with_names(/*unset_environment=*/1, &names);
    for (int i = 0; i < count; ++i) {
        received.push_back({names[i], FileDescriptor(SD_LISTEN_FDS_START + i)});
        std::free(names[i]);
    }
    std::free(names);
    return received;
}

}  // namespace headway
