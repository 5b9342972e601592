// SPDX-License-Identifier: Apache-2.0
// The classifier's maps in ordinary memory, and what the classifier makes of them.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <ostream>
#include <vector>

#include "base/file_descriptor.hpp"
#include "kernel/traffic_control.hpp"
#include "phase/phase_maps.hpp"

namespace headway::test {

class FakePhaseMaps final : public PhaseMaps {
public:
    /// Trunk i's shared class is 0x110 + i.
    explicit FakePhaseMaps(std::uint32_t trunks)
        : rates_(std::size_t{HEADWAY_PHASE_JOBS} * HEADWAY_PHASES * trunks),
          own_classes_(std::size_t{HEADWAY_PHASE_JOBS} * trunks) {
        config_.trunk_count = trunks;
        for (std::uint32_t i = 0; i < trunks; ++i) config_.shared_minor[i] = 0x110 + i;
        std::vector<std::uint32_t> all;
        for (std::uint32_t job = 0; job < HEADWAY_PHASE_JOBS; ++job) all.push_back(job);
        EXPECT_TRUE(renew(all));
        renewals = 0;
    }

    headway_phase_config& config() override { return config_; }
    std::span<headway_phase_rate> rates(std::uint32_t job, std::uint32_t phase) override {
        const std::size_t trunks = config_.trunk_count;
        return std::span(rates_).subspan((std::size_t{job} * HEADWAY_PHASES + phase) * trunks, trunks);
    }
    headway_phase_slots& slots(std::uint32_t job) override { return *arrays_[job].slots; }
    int slots_fd(std::uint32_t job) const override { return arrays_[job].fd.get(); }
    std::map<std::string, int> memory() const override { return {{"headway-sent", sent_.get()}}; }

    Result<void> renew(std::span<const std::uint32_t> jobs) override {
        ++renewals;
        if (refuse_renewal) return failure("no memory");
        for (const std::uint32_t job : jobs) {
            // A packet on its way may still look at the old one.
            retired_.emplace_back();
            std::swap(arrays_[job], retired_.back());
            retired_.back().fd.close();
        }
        return {};
    }

    Result<std::set<std::uint32_t>> adopt(std::vector<KeptArray> kept) override {
        std::set<std::uint32_t> adopted;
        for (KeptArray& one : kept) {
            struct stat found {};
            if (fstat(one.fd.get(), &found) != 0 || found.st_size != sizeof(headway_phase_slots)) continue;
            retired_.emplace_back();
            std::swap(arrays_[one.job], retired_.back());
            arrays_[one.job] = Array(std::move(one.fd));
            adopted.insert(one.job);
        }
        return adopted;
    }

    Result<void> set_cgroup(std::uint64_t cgroup, std::uint32_t job) override {
        if (refuse_cgroups) return failure("no room");
        cgroups_[cgroup] = job;
        return {};
    }
    void forget_cgroup(std::uint64_t cgroup) override { cgroups_.erase(cgroup); }
    Result<void> set_user(std::uint32_t uid, std::uint32_t job) override {
        users_[uid] = job;
        return {};
    }
    void forget_user(std::uint32_t uid) override { users_.erase(uid); }
    std::span<std::uint64_t> own_classes(std::uint32_t job) override {
        const std::size_t trunks = config_.trunk_count;
        return std::span(own_classes_).subspan(job * trunks, trunks);
    }
    [[nodiscard]] const std::map<std::uint64_t, std::uint32_t>& cgroups() const { return cgroups_; }

    /// The classifier tells this to the qdisc; minor 0: it leaves the packet to the next filter.
    struct Choice {
        std::uint32_t minor = 0;
        TableEntry entry = 0;

        friend auto operator<=>(const Choice&, const Choice&) = default;
        friend void PrintTo(const Choice& choice, std::ostream* out) {
            *out << std::hex << "class 1:" << choice.minor << std::dec << " entry "
                 << unsigned{choice.entry};
        }
    };
    /// Now, for a packet of a socket of that cgroup (0: of none) and user (none: it has no
    /// socket) that has sent in no phase.
    [[nodiscard]] Choice classify(std::uint32_t trunk, std::uint64_t cgroup = 0,
                                  std::optional<std::uint32_t> uid = 1000) const {
        if (load(config_.is_off) != 0) return {};
        const Owner owner = load(config_.is_apart) != 0 && uid ? owner_of(cgroup, *uid) : Owner{};
        const std::uint32_t own = owner.job ? static_cast<std::uint32_t>(__atomic_load_n(
            &own_classes_[*owner.job * config_.trunk_count + trunk], __ATOMIC_ACQUIRE)) : 0;
        TableEntry entry = strictest(trunk, own != 0 ? owner : Owner{});
        const bool takes_own = own != 0 && entry != 0;
        if (entry == 0 && own != 0) entry = strictest(trunk, Owner{});
        if (entry == 0 && load(config_.leaves_rest) != 0) return {};
        return {takes_own ? own : config_.shared_minor[trunk], entry};
    }

    bool refuse_cgroups = false;
    int renewals = 0;
    bool refuse_renewal = false;

private:
    static std::uint32_t load(const std::uint32_t& word) {
        return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
    }
    [[nodiscard]] const headway_phase_rate& rate_of(std::uint32_t job, std::uint32_t phase,
                                                    std::uint32_t trunk) const {
        return rates_[(std::size_t{job} * HEADWAY_PHASES + phase) * config_.trunk_count + trunk];
    }
    /// Whose phases count: the job's; or, with a user, all of his; or root's.
    struct Owner {
        std::optional<std::uint32_t> job;
        std::optional<std::uint32_t> uid;
    };
    [[nodiscard]] Owner owner_of(std::uint64_t cgroup, std::uint32_t uid) const {
        const auto told = cgroups_.find(cgroup);
        if (told != cgroups_.end()) {
            const std::uint32_t user = load(config_.uid[told->second]);
            if (user == 0 || user == uid) return {told->second, std::nullopt};
        }
        const auto of_user = users_.find(uid);
        return of_user == users_.end() ? Owner{} : Owner{of_user->second, uid};
    }
    [[nodiscard]] bool counts(std::uint32_t job, const Owner& owner) const {
        if (owner.job && !owner.uid) return job == *owner.job;
        return load(config_.uid[job]) == owner.uid.value_or(0);
    }

    /// The entry of the strictest phase that counts.
    [[nodiscard]] TableEntry strictest(std::uint32_t trunk, const Owner& owner) const {
        TableEntry choice = 0;
        std::uint64_t least = ~std::uint64_t{0};
        for (std::uint32_t i = 0; i < load(config_.process_count); ++i) {
            using Whole = std::uint64_t __attribute__((may_alias));
            const std::uint64_t whole = __atomic_load_n(
                reinterpret_cast<const Whole*>(&config_.process[i]), __ATOMIC_ACQUIRE);
            headway_phase_process process{};
            std::memcpy(&process, &whole, sizeof(process));
            if (!counts(process.job, owner)) continue;
            const std::uint32_t phase = load(arrays_[process.job].slots->phase[process.slot]);
            if (phase == 0 || phase >= load(config_.phase_count[process.job])) continue;
            const headway_phase_rate& rate = rate_of(process.job, phase, trunk);
            if (rate.bytes_per_s >= least) continue;
            least = rate.bytes_per_s;
            choice = static_cast<TableEntry>(rate.entry);
        }
        return choice;
    }

    /// Shared memory, so that a client of a test can map it.
    struct Array {
        Array() : Array(FileDescriptor(memfd_create("slots", MFD_CLOEXEC | MFD_ALLOW_SEALING))) {}
        explicit Array(FileDescriptor file) : fd(std::move(file)) {
            EXPECT_EQ(ftruncate(fd.get(), sizeof(headway_phase_slots)), 0);
            EXPECT_EQ(fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);  // clients map nothing else
            slots = static_cast<headway_phase_slots*>(mmap(nullptr, sizeof(headway_phase_slots),
                                                           PROT_READ | PROT_WRITE, MAP_SHARED,
                                                           fd.get(), 0));
        }
        Array(Array&& other) noexcept
            : fd(std::move(other.fd)), slots(std::exchange(other.slots, nullptr)) {}
        Array& operator=(Array&& other) noexcept {
            std::swap(fd, other.fd);
            std::swap(slots, other.slots);
            return *this;
        }
        ~Array() {
            if (slots != nullptr) munmap(slots, sizeof(headway_phase_slots));
        }
        FileDescriptor fd;
        headway_phase_slots* slots = nullptr;
    };

    headway_phase_config config_{};
    std::vector<headway_phase_rate> rates_;
    std::vector<std::uint64_t> own_classes_;
    std::map<std::uint64_t, std::uint32_t> cgroups_;
    std::map<std::uint32_t, std::uint32_t> users_;
    std::array<Array, HEADWAY_PHASE_JOBS> arrays_;
    std::deque<Array> retired_;
    FileDescriptor sent_{memfd_create("sent", MFD_CLOEXEC)};
};

}  // namespace headway::test
