// SPDX-License-Identifier: Apache-2.0
// The daemon's socket in the file system, and the locks that keep a second
// daemon off it and off the interface.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "jobs/control_session.hpp"

namespace headway {

/// An exclusive lock of an interface of this network namespace, held as long as the descriptor
/// is open.  Fails with EWOULDBLOCK if another process holds it.
[[nodiscard]] Result<FileDescriptor> lock_interface(const std::string& interface);

class ControlSocket {
public:
    /// Binds the socket, replacing one that a dead daemon left.  The folder is
    /// made if it is missing.  Members of `group`, or everybody, may connect.
    /// Nobody can connect before listen().
    [[nodiscard]] static Result<ControlSocket> bind(const std::string& path,
                                                    const std::optional<std::string>& group);

    ControlSocket(ControlSocket&&) = default;  // and no other way to copy or move it
    ~ControlSocket();  ///< removes it from the file system

    [[nodiscard]] Result<void> listen();
    [[nodiscard]] int fd() const { return socket_.get(); }

private:
    ControlSocket(FileDescriptor lock, FileDescriptor socket, std::string path)
        : lock_(std::move(lock)), socket_(std::move(socket)), path_(std::move(path)) {}

    FileDescriptor lock_;
    FileDescriptor socket_;
    std::string path_;
};

/// A client's connection: never blocks, closed on exec.
struct Connection {
    FileDescriptor socket;
    Peer peer;
    /// Readable once the process has ended.  None if it cannot be seen from here
    /// (as in another pid namespace), or had ended before.
    FileDescriptor process;
};

/// A pidfd of the process that has that number now, if it is that user's: it may be another
/// than the one that had it before.  None: it is not, or there is none.
[[nodiscard]] FileDescriptor process_of(pid_t pid, uid_t uid);

/// `key` is what names the group, for the failure.
[[nodiscard]] Result<gid_t> group_number(const std::string& name, const char* key);

/// Returns the process that made the connection.
[[nodiscard]] Result<Peer> peer_of(int socket);

/// Accepts a connection; none: nobody waits any more.  Fails with the errno of accept(), as when
/// the process runs out of descriptors.
[[nodiscard]] Result<std::optional<Connection>> accept_client(int listening_fd);

/// One datagram, with copies of `fds`, to whom the socket is connected or else to `address`, which
/// are the bytes of one.  Never waits.  False, with errno, unless all of it could be sent.
[[nodiscard]] bool send_datagram(int socket, std::string_view text, std::span<const int> fds,
                                 std::string_view address = {});

}  // namespace headway
