// SPDX-License-Identifier: Apache-2.0
#include "daemon/control_socket.hpp"

#include <fcntl.h>
#include <grp.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace headway {
namespace {

constexpr const char* run_dir = "/run/headway";
constexpr mode_t dir_mode = 0755;
constexpr mode_t lock_mode = 0600;
constexpr mode_t everybody_mode = 0666;
constexpr mode_t group_mode = 0660;
constexpr int listen_backlog = 512;

Result<void> make_dir(const std::string& dir) {
    if (mkdir(dir.c_str(), dir_mode) == 0 || errno == EEXIST) return {};
    return errno_failure("creating " + dir);
}

/// Fails with EWOULDBLOCK if another process holds it.
Result<FileDescriptor> lock_file(const std::string& path) {
    FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, lock_mode));
    if (!file) return errno_failure("opening " + path);
    if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
    if (errno == EWOULDBLOCK) {
        return system_failure(EWOULDBLOCK, "another headwayd runs already (it holds {})", path);
    }
    return errno_failure("locking " + path);
}

sockaddr_un address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    return address;
}

FileDescriptor new_socket() {
    return FileDescriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

/// Removes a socket that nobody listens on (its lock is ours).  Anything else
/// at that place is left alone.
Result<void> remove_stale(const std::string& path) {
    struct stat found {};
    if (lstat(path.c_str(), &found) != 0) {
        if (errno == ENOENT) return {};
        return errno_failure(path);
    }
    if (!S_ISSOCK(found.st_mode)) {
        return system_failure(EEXIST, "{} exists and is no socket; remove it or name another path "
                              "in [daemon] socket", path);
    }
    const FileDescriptor probe = new_socket();
    const sockaddr_un address = address_of(path);
    const int connected =
        connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
    if (connected == 0 || errno != ECONNREFUSED) {
        return system_failure(EADDRINUSE, "{} belongs to another program that runs", path);
    }
    if (unlink(path.c_str()) != 0) return errno_failure("removing stale " + path);
    return {};
}

Result<void> set_permissions(const std::string& path, const std::optional<std::string>& group) {
    if (group) {
        const auto number = group_number(*group, "[daemon] group");
        if (!number) return tl::unexpected(number.error());
        if (chown(path.c_str(), static_cast<uid_t>(-1), *number) != 0) {
            return errno_failure(fmt::format("giving {} to group {}", path, *group));
        }
    }
    if (chmod(path.c_str(), group ? group_mode : everybody_mode) != 0) {
        return errno_failure("permissions of " + path);
    }
    return {};
}

/// Opens the process behind the socket; the kernel tells it itself since 6.5.
FileDescriptor process_behind(int socket, const Peer& peer) {
    constexpr int so_peerpidfd = 77;  // newer than the C library's headers
    int fd = -1;
    socklen_t length = sizeof(fd);
    if (getsockopt(socket, SOL_SOCKET, so_peerpidfd, &fd, &length) == 0) return FileDescriptor(fd);
    // any other failure is about this process, such as that it has ended
    return errno == ENOPROTOOPT ? process_of(peer.pid, peer.uid) : FileDescriptor();
}

/// All that the process had when it connected.
std::vector<gid_t> groups_of(int socket, gid_t own) {
    socklen_t length = 0;  // of which the first call tells how much is needed
    (void)getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, nullptr, &length);
    std::vector<gid_t> groups(length / sizeof(gid_t));
    if (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &length) != 0) groups.clear();
    groups.push_back(own);
    return groups;
}

/// The kernel's number of a socket's network namespace, 0 where it tells none.
std::uint64_t network_of(int socket) {
    std::uint64_t number = 0;
    socklen_t length = sizeof(number);
    return getsockopt(socket, SOL_SOCKET, SO_NETNS_COOKIE, &number, &length) == 0 ? number : 0;
}

}  // namespace

/// Namespaces may share /run, so that the name alone would not do.
Result<FileDescriptor> lock_interface(const std::string& interface) {
    if (auto made = make_dir(run_dir); !made) return tl::unexpected(made.error());
    struct stat net {};
    if (stat("/proc/self/ns/net", &net) != 0) return errno_failure("/proc/self/ns/net");
    return lock_file(fmt::format("{}/{}.{}.lock", run_dir, interface, net.st_ino));
}

Result<ControlSocket> ControlSocket::bind(const std::string& path,
                                          const std::optional<std::string>& group) {
    if (auto made = make_dir(std::filesystem::path(path).parent_path()); !made) {
        return tl::unexpected(made.error());
    }
    auto lock = lock_file(path + ".lock");
    if (!lock) return tl::unexpected(lock.error());
    if (auto removed = remove_stale(path); !removed) return tl::unexpected(removed.error());

    FileDescriptor socket = new_socket();
    if (!socket) return errno_failure("opening a socket");
    const sockaddr_un address = address_of(path);
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
        return errno_failure("binding " + path);
    }
    ControlSocket bound(std::move(*lock), std::move(socket), path);
    if (auto set = set_permissions(path, group); !set) return tl::unexpected(set.error());
    return bound;
}

ControlSocket::~ControlSocket() {
    // While the lock is held, so that it is not a successor's.
    if (socket_) unlink(path_.c_str());
}

Result<void> ControlSocket::listen() {
    if (::listen(socket_.get(), listen_backlog) == 0) return {};
    return errno_failure("listening on " + path_);
}

FileDescriptor process_of(pid_t pid, uid_t uid) {
    if (pid <= 0) return FileDescriptor();
    FileDescriptor process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    struct stat owner {};
    const std::string folder = fmt::format("/proc/{}", pid);
    if (!process || stat(folder.c_str(), &owner) != 0 || owner.st_uid != uid) return FileDescriptor();
    return process;
}

Result<gid_t> group_number(const std::string& name, const char* key) {
    std::array<char, 16384> buffer{};
    struct group entry {};
    struct group* found = nullptr;
    const int error = getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
    if (found == nullptr) return system_failure(error, "{}: there is no group \"{}\"", key, name);
    return found->gr_gid;
}

Result<Peer> peer_of(int socket) {
    ucred credentials{};
    socklen_t length = sizeof(credentials);
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) {
        return errno_failure("credentials of a client");
    }
    Peer peer{credentials.pid, credentials.uid};
    peer.groups = groups_of(socket, credentials.gid);
    // The connection is of the namespace in which the client has made its end.
    const FileDescriptor own = new_socket();
    peer.has_own_network = own && network_of(socket) != network_of(own.get());
    return peer;
}

Result<std::optional<Connection>> accept_client(int listening_fd) {
    FileDescriptor socket(accept4(listening_fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
        // A client that gave up while it waited is no error of ours.
        if (errno == EAGAIN || errno == ECONNABORTED || errno == EINTR) return std::nullopt;
        return errno_failure("accepting a client");
    }
    auto peer = peer_of(socket.get());
    if (!peer) return tl::unexpected(peer.error());
    FileDescriptor process = process_behind(socket.get(), *peer);
    peer->is_watched = static_cast<bool>(process);
    peer->process = process.get();
    return Connection{std::move(socket), *peer, std::move(process)};
}

bool send_datagram(int socket, std::string_view text, std::span<const int> fds,
                   std::string_view address) {
    iovec piece{const_cast<char*>(text.data()), text.size()};
    msghdr message{};
    message.msg_name = const_cast<char*>(address.data());
    message.msg_namelen = static_cast<socklen_t>(address.size());
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    std::vector<char> control(fds.empty() ? 0 : CMSG_SPACE(fds.size_bytes()));
    if (!fds.empty()) {
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        cmsghdr* header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(fds.size_bytes());
        std::memcpy(CMSG_DATA(header), fds.data(), fds.size_bytes());
    }
    return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) ==
           static_cast<ssize_t>(text.size());
}

}  // namespace headway
