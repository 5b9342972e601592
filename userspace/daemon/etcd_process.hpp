// SPDX-License-Identifier: Apache-2.0
// headway-etcd as a child: started, listened to, and started again when it ends,
// hangs or talks nonsense.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include <spdlog/fwd.h>

#include "base/file_descriptor.hpp"
#include "daemon/event_loop.hpp"
#include "trunk/store_link.hpp"

namespace headway {

class EtcdProcess {
public:
    struct Handler {
        /// An error ends the process.
        std::function<Result<void>(const StoreReport&)> report;
        std::function<void()> gone;
    };

    /// The references must outlive the process; `command` is the program and its
    /// arguments.  `hosts` numbers the hosts that reports name.
    EtcdProcess(EventLoop& loop, std::vector<std::string> command, HostNumbers& hosts, Handler handler,
                spdlog::logger& log);
    EtcdProcess(const EtcdProcess&) = delete;
    EtcdProcess& operator=(const EtcdProcess&) = delete;
    ~EtcdProcess();

    /// Once; what is sent before goes nowhere.
    [[nodiscard]] Result<void> start();

    /// Never blocks; a process that does not read is ended.
    void send(const std::string& packet);

    /// Lets it do what it was asked, so long at most, and waits for its end.
    void finish(std::chrono::milliseconds within);

private:
    Result<void> read_packets();
    void end(const std::string& why);
    void kill_child();
    void reap();
    void restart();
    void restart_later();

    EventLoop& loop_;
    std::vector<std::string> command_;
    HostNumbers& hosts_;
    Handler handler_;
    spdlog::logger& log_;
    FileDescriptor socket_;
    pid_t child_ = 0;
    std::vector<pid_t> killed_;  ///< whose end has not been seen yet
    std::chrono::milliseconds pause_;
    EventSource packets_;
    EventSource restart_;
};

}  // namespace headway
