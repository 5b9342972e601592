// SPDX-License-Identifier: Apache-2.0
// headway-etcd: etcd for headwayd, which starts it with a socket as standard
// input (trunk/store_link.hpp says what goes over it).  A process of its
// own, so that gRPC and what it reads from the network have none of headwayd's
// privileges.  It ends when headwayd does.
#include <grp.h>
#include <grpc/support/log.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>

#include <fmt/core.h>

#include "base/command_line.hpp"
#include "base/version.hpp"
#include "trunk/etcd/etcd_requests.hpp"
#include "trunk/etcd/etcd_watch.hpp"

namespace headway {
namespace {

constexpr int headwayd_socket = STDIN_FILENO;
/// More than a member has under way; who asks faster is not answered.
constexpr std::size_t requests_waiting_max = 64;

/// A sandbox may forbid the call where there is nothing left to drop.
bool keep_capabilities(std::uint32_t kept) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, 2> sets{};
    sets[0].effective = sets[0].permitted = kept;
    if (syscall(SYS_capset, &header, sets.data()) == 0) return true;
    const int error = errno;
    const bool has_none = syscall(SYS_capget, &header, sets.data()) == 0 &&
                          (sets[0].permitted | sets[1].permitted) == 0;
    errno = error;
    return has_none;
}

/// headway-etcd run by root, by hand or below a headwayd that is root, would have root's files: so
/// it becomes headwayd's own user, if there is one.
class Privileges {
public:
    /// All but what is needed to change the user.
    [[nodiscard]] bool drop() {
        constexpr std::uint32_t to_change_user = 1U << CAP_SETUID | 1U << CAP_SETGID;
        __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
        std::array<__user_cap_data_struct, 2> sets{};
        const bool may_change = geteuid() == 0 && syscall(SYS_capget, &header, sets.data()) == 0 &&
                                (sets[0].permitted & to_change_user) == to_change_user;
        if (const passwd* user = may_change ? getpwnam("headway") : nullptr) {
            user_ = user->pw_uid;
            group_ = user->pw_gid;
        }
        return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
               prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0 &&
               keep_capabilities(user_ != 0 ? to_change_user : 0);
    }
    /// Becomes headwayd's user in all threads, and loses the rest of the capabilities, once the
    /// files that only root may read have been read.
    [[nodiscard]] bool leave_root() const {
        if (user_ == 0) return true;
        return setgroups(0, nullptr) == 0 && setresgid(group_, group_, group_) == 0 &&
               setresuid(user_, user_, user_) == 0 &&
               // the change has cleared it
               prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0;
    }

private:
    uid_t user_ = 0;  ///< 0: it stays who it is
    gid_t group_ = 0;
};

/// Carries out requests one after the other, in a thread of its own.
class Worker {
public:
    Worker(EtcdRequests requests, const ReportSink& sink)
        : requests_(std::move(requests)), sink_(sink), thread_([this] { work(); }) {}

    void add(const StoreRequest& request) {
        const std::lock_guard lock(mutex_);
        if (waiting_.size() >= requests_waiting_max) return;
        waiting_.push_back(request);
        changed_.notify_one();
    }

    /// Returns when all that was added has been done.
    void end() {
        {
            const std::lock_guard lock(mutex_);
            ends_ = true;
            changed_.notify_one();
        }
        thread_.join();
    }

private:
    void work() {
        while (const auto request = next()) {
            const auto answer = requests_.carry_out(*request);
            if (answer) sink_.send(*answer);
        }
    }

    std::optional<StoreRequest> next() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return ends_ || !waiting_.empty(); });
        if (waiting_.empty()) return std::nullopt;
        StoreRequest request = std::move(waiting_.front());
        waiting_.pop_front();
        return request;
    }

    EtcdRequests requests_;
    const ReportSink& sink_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<StoreRequest> waiting_;
    bool ends_ = false;
    std::thread thread_;  // last: it uses the others
};

bool is_about_lease(const StoreRequest& request) {
    return std::holds_alternative<GrantLease>(request.verb) ||
           std::holds_alternative<ProlongLease>(request.verb) ||
           std::holds_alternative<RevokeLease>(request.verb);
}

/// A put that is slow must not hold up the lease.
int serve(EtcdConnection& connection, const EtcdOptions& options) {
    const ReportSink sink(headwayd_socket);
    StoreProgress progress;
    EtcdWatch watch(connection, options, progress, sink);
    std::thread([&watch] { watch.run(); }).detach();
    Worker leases({connection, options, progress}, sink);
    Worker puts({connection, options, progress}, sink);
    std::vector<char> packet(store_packet_max_bytes);
    ssize_t got = 0;
    while ((got = recv(headwayd_socket, packet.data(), packet.size(), 0)) > 0) {
        const auto request = parse_store_request({packet.data(), static_cast<std::size_t>(got)});
        if (!request) {
            fmt::print(stderr, "headway-etcd: {}\n", request.error().message);
            continue;
        }
        (is_about_lease(*request) ? leases : puts).add(*request);
    }
    puts.end();
    leases.end();
    return 0;
}

/// In milliseconds.
struct Waits {
    std::uint32_t timeout_ms = 1000;
    std::uint32_t silence_ms = 3000;
};

void add_options(const Verb& app, EtcdOptions& options, Waits& waits) {
    app.add_option("--endpoint", options.endpoints, "where etcd is; several times").required();
    app.add_option("--prefix", options.prefix, "of all keys, ends with '/'").required();
    app.add_option("--host", options.host, "whose record to put").required();
    app.add_option("--ca-file", options.ca_file, "who signs etcd's certificate");
    app.add_option("--cert-file", options.cert_file, "our certificate");
    app.add_option("--key-file", options.key_file, "its key");
    app.add_option("--user", options.user, "our name to etcd");
    app.add_option("--password-file", options.password_file, "its first line is the password");
    app.add_option("--timeout-ms", waits.timeout_ms, "of a request").shows_default();
    app.add_option("--silence-ms", waits.silence_ms, "after which a watch counts as hanging").shows_default();
}

int run(int argc, char** argv, const Privileges& privileges) {
    EtcdOptions options;
    Waits waits;
    const CommandLine line("headway-etcd", "etcd for headwayd, which starts it", version);
    add_options(line.program(), options, waits);
    if (const auto status = line.read({argv + 1, argv + argc})) return static_cast<int>(*status);
    options.timeout = std::chrono::milliseconds(waits.timeout_ms);
    options.silence = std::chrono::milliseconds(waits.silence_ms);
    if (!options.prefix.ends_with('/')) {
        fmt::print(stderr, "headway-etcd: --prefix must end with '/'\n");
        return static_cast<int>(ExitStatus::bad_config);
    }
    gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
    auto connection = EtcdConnection::make(options);
    if (!connection) {
        ReportSink(headwayd_socket).send(StoreCondition{false, connection.error().message});
        return 1;
    }
    if (!privileges.leave_root()) {
        std::perror("headway-etcd: leaving root");
        return 1;
    }
    return serve(**connection, options);
}

}  // namespace
}  // namespace headway

int main(int argc, char** argv) {
    headway::Privileges privileges;
    if (!privileges.drop()) {
        std::perror("headway-etcd: dropping privileges");
        return 1;
    }
    const int status = headway::run(argc, argv, privileges);
    std::fflush(nullptr);
    _exit(status);  // the watch's thread never ends
}
