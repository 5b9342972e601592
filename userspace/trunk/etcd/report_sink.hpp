// SPDX-License-Identifier: Apache-2.0
// The way to headwayd, for all threads.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "trunk/etcd_link.hpp"

namespace headway {

class ReportSink {
public:
    explicit ReportSink(int socket) : socket_(socket) {}

    /// Waits while headwayd is slow.  Without it there is nothing left to do.
    void send(const EtcdReport& report) const { send_packet(to_packet(report)); }

    void send_packet(const std::string& packet) const {
        ssize_t sent = 0;
        do {
            sent = ::send(socket_, packet.data(), packet.size(), MSG_NOSIGNAL);
        } while (sent < 0 && errno == EINTR);
        if (sent < 0) _exit(0);
    }

private:
    int socket_;
};

}  // namespace headway
