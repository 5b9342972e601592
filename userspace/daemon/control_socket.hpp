// SPDX-License-Identifier: Apache-2.0
// The daemon's socket in the file system, and the locks that keep a second
// daemon off it and off the interface.
#pragma once

#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "jobs/control_session.hpp"

namespace headway {

/// An exclusive lock on a file, held as long as the object lives.
class LockFile {
public:
    /// Fails with EWOULDBLOCK if another process holds it.
    [[nodiscard]] static Result<LockFile> acquire(const std::string& path);

private:
    explicit LockFile(FileDescriptor file) : file_(std::move(file)) {}
    FileDescriptor file_;
};

/// Where the lock of an interface of this network namespace is.  Namespaces
/// may share /run, so that the name alone would not do.
[[nodiscard]] Result<std::string> interface_lock_path(const std::string& interface);

class ControlSocket {
public:
    /// Binds the socket, replacing one that a dead daemon left.  The folder is
    /// made if it is missing.  Members of `group`, or everybody, may connect.
    /// Nobody can connect before listen().
    [[nodiscard]] static Result<ControlSocket> bind(const std::string& path,
                                                    const std::optional<std::string>& group);

    ControlSocket(ControlSocket&&) = default;
    ControlSocket(const ControlSocket&) = delete;
    ControlSocket& operator=(ControlSocket&&) = delete;
    ControlSocket& operator=(const ControlSocket&) = delete;
    ~ControlSocket();  ///< removes it from the file system

    [[nodiscard]] Result<void> listen();
    [[nodiscard]] int fd() const { return socket_.get(); }

private:
    ControlSocket(LockFile lock, FileDescriptor socket, std::string path)
        : lock_(std::move(lock)), socket_(std::move(socket)), path_(std::move(path)) {}

    LockFile lock_;
    FileDescriptor socket_;
    std::string path_;
};

/// A client's connection: never blocks, closed on exec.
struct AcceptedClient {
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

/// Who made the connection.
[[nodiscard]] Result<Peer> peer_of(int socket);

/// None: there is nobody waiting any more.  Fails with the errno of accept(),
/// as when the process runs out of descriptors.
[[nodiscard]] Result<std::optional<AcceptedClient>> accept_client(int listening_fd);

}  // namespace headway
