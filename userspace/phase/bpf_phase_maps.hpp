// SPDX-License-Identifier: Apache-2.0
// The classifier in the kernel: loaded from the object file that is part of
// this program, its maps mapped into memory.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "base/file_descriptor.hpp"
#include "base/ip_prefix.hpp"
#include "kernel/traffic_control.hpp"
#include "phase/bpf_classes.hpp"
#include "phase/bpf_qdisc.hpp"
#include "phase/phase_maps.hpp"

struct bpf_object;

namespace headway {

/// One trunk: its prefixes, and the class that all jobs share.
struct PhaseTrunk {
    std::vector<IpPrefix> prefixes;
    std::uint16_t shared_minor = 0;
};

/// A compiled program with the maps of phase_layout.h.
struct PhaseObject {
    std::span<const char> file;
    const char* program;
    std::uint32_t instances = 0;  ///< of the qdisc that is in the object
};

/// phase_classifier.bpf.c, as it is part of this program.
[[nodiscard]] PhaseObject phase_classifier_object();
/// fq_pacing.bpf.c, for the device's egress.
[[nodiscard]] PhaseObject fq_pacing_object();
/// pacing_qdisc.bpf.c: for the device's egress, and the qdisc, for so many TX queues.
[[nodiscard]] PhaseObject pacing_qdisc_object(std::uint32_t tx_queues);

class BpfPhaseMaps final : public PhaseMaps {
public:
    /// Fails, saying what to do about it, without the privilege, without BPF in
    /// the kernel, or if the kernel does not take the program.  `earlier` is what memory()
    /// was in an earlier run, which goes on; what does not fit is passed over.
    [[nodiscard]] static Result<std::unique_ptr<BpfPhaseMaps>> load(
        const std::vector<PhaseTrunk>& trunks,
        const PhaseObject& object_file = phase_classifier_object(),
        const std::map<std::string, int>& earlier = {});
    ~BpfPhaseMaps() override = default;

    /// The classifier, for the qdisc's filter; lives as long as this object.
    [[nodiscard]] const PhaseProgram& program() const { return program_; }

    [[nodiscard]] headway_phase_config& config() override {
        return *static_cast<headway_phase_config*>(config_.address());
    }
    [[nodiscard]] std::span<headway_phase_rate> rates(std::uint32_t job,
                                                      std::uint32_t phase) override;
    [[nodiscard]] headway_phase_slots& slots(std::uint32_t job) override {
        return *static_cast<headway_phase_slots*>(arrays_[job].memory.address());
    }
    [[nodiscard]] int slots_fd(std::uint32_t job) const override { return arrays_[job].fd.get(); }
    [[nodiscard]] std::map<std::string, int> memory() const override;
    /// The classes of a program that paces by itself.  Fails as mmap() does.
    [[nodiscard]] Result<std::unique_ptr<BpfClasses>> classes() const;
    /// Whether these are the ones that an earlier run's program knows.
    [[nodiscard]] bool has_classes_of_earlier() const { return has_classes_of_earlier_; }
    /// While the result is there, the kernel knows the qdisc by its name, for that device.
    [[nodiscard]] Result<QdiscName> name_qdisc(int ifindex) const;
    [[nodiscard]] Result<void> renew(std::span<const std::uint32_t> jobs) override;
    [[nodiscard]] Result<std::set<std::uint32_t>> adopt(std::vector<KeptArray> kept) override;
    [[nodiscard]] Result<void> set_cgroup(std::uint64_t cgroup, std::uint32_t job) override;
    void forget_cgroup(std::uint64_t cgroup) override;
    [[nodiscard]] Result<void> set_user(std::uint32_t uid, std::uint32_t job) override;
    void forget_user(std::uint32_t uid) override;
    [[nodiscard]] std::span<std::uint64_t> own_classes(std::uint32_t job) override;

private:
    struct CloseObject {
        void operator()(bpf_object* object) const;
    };
    /// The mapping stays as long as the array: the kernel lets nobody freeze a
    /// map that somebody has mapped for writing.
    struct JobArray {
        FileDescriptor fd;
        SharedMemory memory;
    };

    explicit BpfPhaseMaps(bpf_object* object) : object_(object) {}

    Result<void> open(const std::vector<PhaseTrunk>& trunks, const PhaseObject& object_file,
                      const std::map<std::string, int>& earlier);
    Result<void> load_object(const PhaseObject& object_file);
    /// Whether the earlier run's take the place of these, all together.
    Result<bool> go_on_with(std::span<const char* const> names, const std::map<std::string, int>& earlier);
    Result<void> fill_prefixes(const std::vector<PhaseTrunk>& trunks);
    [[nodiscard]] static Result<JobArray> new_array();
    [[nodiscard]] static Result<JobArray> mapped(FileDescriptor fd);
    Result<void> install(std::vector<std::uint32_t> jobs, std::vector<JobArray> arrays);
    [[nodiscard]] int map_fd(const char* name) const;

    std::unique_ptr<bpf_object, CloseObject> object_;
    bool has_classes_of_earlier_ = false;
    PhaseProgram program_;
    SharedMemory config_;
    SharedMemory rates_;
    SharedMemory own_classes_;
    std::size_t trunk_count_ = 0;
    std::array<JobArray, HEADWAY_PHASE_JOBS> arrays_;
};

}  // namespace headway
