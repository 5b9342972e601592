// SPDX-License-Identifier: Apache-2.0
// What a run leaves for the next one: the text, the memory it is in, and how the service
// manager is asked to hold it.
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <gtest/gtest.h>

#include "daemon/fd_store.hpp"
#include "daemon/handed_state.hpp"
#include "daemon/state_memory.hpp"

namespace headway::test {
namespace {

TEST(StateMemoryTest, HoldsOneWholeText) {
    auto memory = StateMemory::make();
    ASSERT_TRUE(memory);
    EXPECT_EQ(memory->text(), "");
    EXPECT_TRUE(memory->write("one"));
    EXPECT_TRUE(memory->write("two"));
    memory->set_mark(7);
    const auto again = StateMemory::open(FileDescriptor(dup(memory->fd())));
    ASSERT_TRUE(again);
    EXPECT_EQ(again->text(), "two");
    EXPECT_EQ(again->mark(), 7U);
    EXPECT_FALSE(memory->write(std::string(StateMemory::text_max_bytes + 1, 'x')));
    EXPECT_EQ(again->text(), "");
    const FileDescriptor other(memfd_create("other", MFD_CLOEXEC));
    EXPECT_FALSE(StateMemory::open(FileDescriptor(dup(other.get()))));
}

TEST(HandedStateTest, TooMuchIsNoText) {
    HandedState state;
    for (std::uint32_t number = 0; number < 16; ++number) {
        state.jobs[number].rates.assign(HEADWAY_PHASES, std::vector<ClassRate>(64));
    }
    EXPECT_EQ(handed_jobs_text(state), "");
    state.jobs.erase(0);
    for (std::uint32_t number = 8; number < 16; ++number) state.jobs.erase(number);
    EXPECT_LT(handed_jobs_text(state).size(), StateMemory::text_max_bytes);
    EXPECT_FALSE(handed_jobs_text(state).empty());
}

/// A service manager that does not read at all, but could.
class ManagerSocket : public testing::Test {
protected:
    void SetUp() override {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        const std::string name = fmt::format("headway-test-{}", getpid());
        name.copy(address.sun_path + 1, name.size());
        socket_ = FileDescriptor(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0));
        const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
        ASSERT_EQ(bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), length), 0);
        setenv("NOTIFY_SOCKET", ("@" + name).c_str(), 1);
        store_ = service_manager_store();
        ASSERT_NE(store_, nullptr);
    }
    void TearDown() override { unsetenv("NOTIFY_SOCKET"); }

    /// The next message and how many descriptors came with it.
    std::pair<std::string, std::size_t> next() {
        std::array<char, 256> bytes{};
        iovec piece{bytes.data(), bytes.size()};
        alignas(cmsghdr) std::array<char, 256> control{};
        msghdr message{};
        message.msg_iov = &piece;
        message.msg_iovlen = 1;
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        const ssize_t got = recvmsg(socket_.get(), &message, 0);
        if (got < 0) return {};
        std::size_t count = 0;
        for (const cmsghdr* one = CMSG_FIRSTHDR(&message); one != nullptr; one = nullptr) {
            count = (one->cmsg_len - CMSG_LEN(0)) / sizeof(int);
            for (std::size_t i = 0; i < count; ++i) {
                int fd = -1;
                std::memcpy(&fd, CMSG_DATA(one) + i * sizeof(int), sizeof(fd));
                close(fd);
            }
        }
        return {std::string(bytes.data(), static_cast<std::size_t>(got)), count};
    }

    FileDescriptor socket_;
    std::unique_ptr<FdStore> store_;
};

TEST_F(ManagerSocket, IsToldInTheWordsOfSdNotify) {
    ASSERT_TRUE(store_->put("two", std::array{0, 1}));
    EXPECT_EQ(next(), std::pair(std::string("FDSTORE=1\nFDNAME=two\nFDPOLL=0\n"), std::size_t{2}));
    ASSERT_TRUE(store_->remove("two"));
    EXPECT_EQ(next(), std::pair(std::string("FDSTOREREMOVE=1\nFDNAME=two\n"), std::size_t{0}));
}

TEST_F(ManagerSocket, IsNotWaitedFor) {
    Result<void> done;
    for (int i = 0; i < 100'000 && done; ++i) done = store_->remove("nothing");
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().error_number, EAGAIN);
}

TEST(ServiceManagerStoreTest, ThereIsNoneWithoutAManager) {
    unsetenv("NOTIFY_SOCKET");
    EXPECT_EQ(service_manager_store(), nullptr);
    EXPECT_TRUE(received_descriptors().empty());
}

}  // namespace
}  // namespace headway::test
