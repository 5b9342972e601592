// SPDX-License-Identifier: Apache-2.0
// The started jobs in a file beside the control socket, which systemd keeps over
// a restart of the daemon, and not over one of the machine.
#pragma once

#include <optional>
#include <string>

#include "model/error.hpp"

namespace headway {

class JobFile {
public:
    explicit JobFile(const std::string& socket) : path_(socket + ".jobs") {}

    [[nodiscard]] const std::string& path() const { return path_; }
    /// None: there is no such file.
    [[nodiscard]] Result<std::optional<std::string>> read() const;
    /// At any moment there is the old text or the new one.
    [[nodiscard]] Result<void> write(const std::string& text) const;
    void remove() const;

private:
    std::string path_;
};

}  // namespace headway
