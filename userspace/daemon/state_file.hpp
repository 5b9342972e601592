// SPDX-License-Identifier: Apache-2.0
// A text that the next run of the daemon finds: the started jobs in a file beside the
// control socket, which systemd keeps over a restart of the daemon and not over one of
// the machine; that pacing is off, in a folder that outlives both.
#pragma once

#include <optional>
#include <string>

#include "base/error.hpp"

namespace headway {

class StateFile {
public:
    explicit StateFile(std::string path) : path_(std::move(path)) {}

    [[nodiscard]] const std::string& path() const { return path_; }
    /// Returns the file's text; none: there is no such file.
    [[nodiscard]] Result<std::optional<std::string>> read() const;
    /// At any moment there is the old text or the new one, also after a power cut.  Makes the folder
    /// if it is missing, not those above it.
    [[nodiscard]] Result<void> write(const std::string& text) const;
    /// True if there is none any more.
    bool remove() const;

private:
    [[nodiscard]] Result<void> store_names() const;

    std::string path_;
};

/// The file of jobs that were started while the daemon had this socket.
[[nodiscard]] StateFile jobs_file(const std::string& socket);

/// There as long as pacing is off.  Its folder is the service manager's
/// ($STATE_DIRECTORY), or else /var/lib/headway; its name is the socket's path, which no
/// other daemon of the machine has.
[[nodiscard]] StateFile off_file(const std::string& socket);

}  // namespace headway
