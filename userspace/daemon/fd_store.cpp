// SPDX-License-Identifier: Apache-2.0
#include "daemon/fd_store.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace headway {
namespace {

constexpr std::size_t fds_max = 4;  ///< of one name, here

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

}  // namespace

std::unique_ptr<ServiceManagerStore> ServiceManagerStore::open() {
    const char* name = std::getenv("NOTIFY_SOCKET");
    std::string address = name == nullptr ? "" : unix_address(name);
    if (address.empty()) return nullptr;
    FileDescriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return nullptr;
    return std::unique_ptr<ServiceManagerStore>(
        new ServiceManagerStore(std::move(socket), std::move(address)));
}

/// Without FDPOLL=0 systemd forgets what is hung up: every array of BPF's is, to
/// poll(), and since Linux 6.9 the pidfd of a process that has been waited for.
Result<void> ServiceManagerStore::put(const std::string& name, std::span<const int> fds) {
    return send(fmt::format("FDSTORE=1\nFDNAME={}\nFDPOLL=0\n", name), fds);
}

Result<void> ServiceManagerStore::remove(const std::string& name) {
    return send(fmt::format("FDSTOREREMOVE=1\nFDNAME={}\n", name), {});
}

/// Not sd_pid_notify_with_fds(), which waits for a manager that does not read.
Result<void> ServiceManagerStore::send(const std::string& text, std::span<const int> fds) {
    if (fds.size() > fds_max) return failure("more than {} descriptors of one name", fds_max);
    iovec piece{const_cast<char*>(text.data()), text.size()};
    msghdr message{};
    message.msg_name = address_.data();
    message.msg_namelen = static_cast<socklen_t>(address_.size());
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(fds_max * sizeof(int))> control{};
    if (!fds.empty()) {
        message.msg_control = control.data();
        message.msg_controllen = CMSG_SPACE(fds.size_bytes());
        cmsghdr* header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(fds.size_bytes());
        std::memcpy(CMSG_DATA(header), fds.data(), fds.size_bytes());
    }
    if (sendmsg(socket_.get(), &message, MSG_NOSIGNAL) >= 0) return {};
    return system_failure(errno, "the service manager's socket: {}", std::strerror(errno));
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
