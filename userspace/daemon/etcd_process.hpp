// SPDX-License-Identifier: Apache-2.0
// headway-etcd as a child: started, listened to, and started again when it ends,
// hangs or talks nonsense.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <spdlog/fwd.h>

#include "base/file_descriptor.hpp"
#include "daemon/event_source.hpp"
#include "trunk/store_link.hpp"

namespace headway {

class EtcdProcess {
public:
    struct Handler {
        /// An error ends the process.
        std::function<Result<void>(const StoreReport&)> report;
        std::function<void()> gone;
    };

    /// `event` and `log` must outlive the process; `command` is the program and its
    /// arguments, `hosts` are those of the trunk, sorted.
    [[nodiscard]] static Result<std::unique_ptr<EtcdProcess>> start(
        sd_event* event, std::vector<std::string> command, std::vector<std::string> hosts,
        Handler handler, spdlog::logger& log);
    EtcdProcess(const EtcdProcess&) = delete;
    EtcdProcess& operator=(const EtcdProcess&) = delete;
    ~EtcdProcess();

    /// Never blocks; a process that does not read is ended.
    void send(const std::string& packet);

    /// Lets it do what it was asked, so long at most, and waits for its end.
    void finish(std::chrono::milliseconds within);

private:
    EtcdProcess(sd_event* event, std::vector<std::string> command, std::vector<std::string> hosts,
                Handler handler, spdlog::logger& log);

    Result<void> spawn();
    Result<void> read_packets();
    void end(const std::string& why);
    void restart_later();

    static int on_packets(sd_event_source*, int, std::uint32_t, void* process);
    static int on_restart(sd_event_source*, std::uint64_t, void* process);

    sd_event* event_;
    std::vector<std::string> command_;
    std::vector<std::string> hosts_;
    Handler handler_;
    spdlog::logger& log_;
    FileDescriptor socket_;
    pid_t child_ = 0;
    std::chrono::milliseconds pause_;
    EventSource packets_;
    EventSource restart_;
};

}  // namespace headway
