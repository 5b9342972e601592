// SPDX-License-Identifier: Apache-2.0
// A headwayd for tests of the helper's side: it answers as the test says, and can
// go away, fall silent and come back.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "../hang_limit.hpp"
#include "unique_fd.hpp"

namespace headway::glue::test {

using headway::test::hang_limit;
using Json = nlohmann::json;

/// The memory of one job's slots, as a client and the kernel see it.
class SlotMemory {
public:
    static constexpr std::size_t bytes = 65 * sizeof(std::uint32_t);
    static constexpr std::size_t generation_offset = 64 * sizeof(std::uint32_t);

    SlotMemory() : fd(memfd_create("slots", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
        EXPECT_EQ(ftruncate(fd.get(), bytes), 0);
        EXPECT_EQ(fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
        words_ = static_cast<std::uint32_t*>(
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0));
        set_generation(1);
    }
    SlotMemory(const SlotMemory&) = delete;
    SlotMemory& operator=(const SlotMemory&) = delete;
    ~SlotMemory() { munmap(words_, bytes); }

    [[nodiscard]] std::uint32_t phase(std::size_t slot = 0) const {
        return __atomic_load_n(&words_[slot], __ATOMIC_ACQUIRE);
    }
    void store(std::uint32_t phase, std::size_t slot = 0) {
        __atomic_store_n(&words_[slot], phase, __ATOMIC_RELEASE);
    }
    void set_generation(std::uint32_t generation) { store(generation, 64); }
    [[nodiscard]] std::uint32_t generation() const { return phase(64); }

    UniqueFd fd;

private:
    std::uint32_t* words_ = nullptr;
};

/// Serves in a thread from start() to stop().
class ScriptedDaemon {
public:
    /// Makes the answer, beside v, id and ok; with "error": a refusal; none: nothing is answered.
    using Answer = std::function<std::optional<Json>(const Json& request)>;

    ScriptedDaemon() {
        std::string name = std::filesystem::temp_directory_path() / "headway-glue-XXXXXX";
        directory_ = mkdtemp(name.data());
        answers["hello"] = [](const Json&) { return Json{{"node", "a0"}, {"phases", true}}; };
        answers["join"] = [this](const Json&) {
            return Json{{"map_bytes", SlotMemory::bytes},
                        {"slot_offset", 0},
                        {"generation_offset", SlotMemory::generation_offset},
                        {"generation", memory->generation()}};
        };
        answers["prepare"] = [](const Json&) {
            return Json{{"pattern", 1}, {"paced", true}, {"min_message_bytes", 2048}};
        };
        answers["phase"] = [this](const Json&) {
            return Json{{"phase", 1}, {"bytes_per_s", 1000}, {"generation", memory->generation()}};
        };
    }
    ~ScriptedDaemon() {
        stop();
        std::filesystem::remove_all(directory_);
    }

    [[nodiscard]] std::string path() const { return directory_ / "control.sock"; }

    /// With slots that nobody has seen.
    void start() {
        memory.emplace();
        listen();
        thread_ = std::thread([this] { serve(); });
    }
    /// Only listens: clients can connect, and nobody answers.
    void listen() {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path().copy(address.sun_path, sizeof(address.sun_path) - 1);
        std::filesystem::remove(path());
        listener_ = UniqueFd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        ASSERT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
        ASSERT_EQ(::listen(listener_.get(), 8), 0);
    }
    /// As by kill -9: the socket's name stays, the memory too.
    void stop() {
        if (thread_.joinable()) {
            eventfd_write(end_.get(), 1);
            thread_.join();
            eventfd_t ignored = 0;
            eventfd_read(end_.get(), &ignored);
        }
        clients_.clear();
        listener_ = UniqueFd();
    }

    /// Somebody has connected since the last call; for one that only listens.
    [[nodiscard]] bool has_connection() {
        const UniqueFd client(
            accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        return static_cast<bool>(client);
    }

    /// Counts the requests of that sort that have come, before their answers go.
    [[nodiscard]] std::size_t asked(const std::string& op) const {
        const std::lock_guard lock(mutex_);
        return asked_.count(op);
    }
    [[nodiscard]] std::size_t answered(const std::string& op) const {
        const std::lock_guard lock(mutex_);
        return answered_.count(op);
    }
    /// Until so many have been answered.
    void wait_until_answered(const std::string& op, std::size_t count) {
        std::unique_lock lock(mutex_);
        EXPECT_TRUE(has_answered_.wait_for(lock, hang_limit, [&] { return answered_.count(op) >= count; })) << op;
    }

    std::map<std::string, Answer> answers;  ///< not changed while it serves
    std::optional<SlotMemory> memory;

private:
    void serve() {
        while (true) {
            std::vector<pollfd> polled{{end_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
            for (const UniqueFd& client : clients_) polled.push_back({client.get(), POLLIN, 0});
            if (poll(polled.data(), polled.size(), -1) <= 0) continue;
            if (polled[0].revents != 0) return;
            for (std::size_t i = polled.size() - 1; i > 1; --i) {
                if (polled[i].revents != 0 && !answer(clients_[i - 2].get()))
                    clients_.erase(clients_.begin() + static_cast<std::ptrdiff_t>(i) - 2);
            }
            if (polled[1].revents != 0)
                clients_.emplace_back(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        }
    }

    bool answer(int client) {
        std::array<char, 65536> buffer{};
        const ssize_t size = recv(client, buffer.data(), buffer.size(), 0);
        if (size <= 0) return false;
        const Json request = Json::parse(buffer.begin(), buffer.begin() + size);
        const std::string op = request.at("op");
        {
            const std::lock_guard lock(mutex_);
            asked_.insert(op);
        }
        const auto known = answers.find(op);
        auto body = known != answers.end() ? known->second(request)
                                           : Json{{"error", "the operation is unknown"}};
        if (!body) return true;
        Json whole{{"v", 1}, {"id", request.at("id")}, {"ok", !body->contains("error")}};
        if (body->is_object()) whole.update(*body);
        send(client, whole.dump(), op == "join" && whole["ok"] == true ? memory->fd.get() : -1);
        {
            const std::lock_guard lock(mutex_);
            answered_.insert(op);
        }
        has_answered_.notify_one();
        return true;
    }

    static void send(int client, const std::string& text, int fd) {
        iovec piece{const_cast<char*>(text.data()), text.size()};
        msghdr message{};
        message.msg_iov = &piece;
        message.msg_iovlen = 1;
        alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
        if (fd >= 0) {
            message.msg_control = control.data();
            message.msg_controllen = control.size();
            cmsghdr* header = CMSG_FIRSTHDR(&message);
            header->cmsg_level = SOL_SOCKET;
            header->cmsg_type = SCM_RIGHTS;
            header->cmsg_len = CMSG_LEN(sizeof(int));
            std::memcpy(CMSG_DATA(header), &fd, sizeof(fd));
        }
        sendmsg(client, &message, MSG_NOSIGNAL);
    }

    std::filesystem::path directory_;
    UniqueFd listener_;
    std::vector<UniqueFd> clients_;
    std::thread thread_;
    UniqueFd end_{eventfd(0, EFD_CLOEXEC)};  ///< of the thread
    mutable std::mutex mutex_;
    std::condition_variable has_answered_;
    std::multiset<std::string> asked_, answered_;
};

}  // namespace headway::glue::test
