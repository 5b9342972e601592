// SPDX-License-Identifier: Apache-2.0
#include "phase/bpf_phase_maps.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <string>
#include <tuple>

#include "phase/map_update.hpp"
#include "phase/phase_object.h"

namespace headway {
namespace {

constexpr std::size_t table_entries = std::size_t{HEADWAY_PHASE_JOBS} * HEADWAY_PHASES;

/// The sentences that libbpf has said, shortly: it explains itself in no other way.
std::string& last_words() {
    static std::string words;
    return words;
}

/// Returns the end of the verifier's log, where the reason stands.
std::string end_of_log(const std::string& text) {
    const auto end = text.find("processed ");
    const auto begin = text.find("BEGIN PROG LOAD LOG");
    if (begin == std::string::npos || end == std::string::npos || end < begin + 200) return text;
    return text.substr(std::max(begin, end - 200), std::min<std::size_t>(end - begin, 200));
}

int remember_words(libbpf_print_level level, const char* format, va_list arguments) {
    if (level != LIBBPF_WARN) return 0;
    std::string text(std::size_t{1} << 20, '\0');
    const int length = std::vsnprintf(text.data(), text.size(), format, arguments);
    text.resize(std::min(text.size() - 1, static_cast<std::size_t>(std::max(length, 0))));
    text = end_of_log(text);
    std::replace(text.begin(), text.end(), '\n', ' ');
    last_words() += (last_words().empty() ? "" : "; ") + text.substr(0, 300);
    return length;
}

tl::unexpected<Error> bpf_failure(int error_number, const char* what) {
    switch (error_number) {
        case EPERM:
            return system_failure(EPERM, "{}: {}; headwayd needs root, or CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN",
                                  what, std::strerror(EPERM));
        case ENOSYS:
            return system_failure(ENOSYS, "{}: this kernel has no BPF", what);
        default: break;
    }
    return system_failure(error_number, "{}: {}{}{}", what, std::strerror(error_number),
                          last_words().empty() ? "" : "; ", last_words());
}

template <class Key>
int add_prefix(int fd, const IpPrefix& prefix, std::uint32_t trunk) {
    Key key{};
    key.length_bits = prefix.length_bits;
    std::copy_n(prefix.address.begin(), sizeof(key.address), std::begin(key.address));
    return update_map(fd, &key, &trunk, BPF_ANY);
}

/// All zero, which no map is, if that is no map.
bpf_map_info info_of_map(int fd) {
    bpf_map_info info{};
    std::uint32_t info_bytes = sizeof(info);
    const bool is_map = bpf_obj_get_info_by_fd(fd, &info, &info_bytes) == 0;
    return is_map ? info : bpf_map_info{};
}

/// Says whether the array is one of those that new_array() makes.
bool is_job_array(int fd) {
    const bpf_map_info info = info_of_map(fd);
    return info.type == BPF_MAP_TYPE_ARRAY && info.key_size == sizeof(std::uint32_t) &&
           info.value_size == sizeof(headway_phase_slots) && info.max_entries == 1 &&
           info.map_flags == BPF_F_MMAPABLE;
}

/// Maps that the next run's program goes on with, by their names in its object; with all of a class's or with none.
constexpr std::array sent_map{"sent"};
constexpr std::array class_maps{"bpf_places", "bpf_classes", "bpf_clocks"};

std::string kept_name(const char* map) {
    std::string name = fmt::format("headway-{}", map);
    std::replace(name.begin(), name.end(), '_', '-');
    return name;
}

/// Another version may have another layout, and another topology another number of classes.
bool fits(const bpf_map* map, int fd) {
    const bpf_map_info info = info_of_map(fd);
    return info.type == bpf_map__type(map) && info.key_size == bpf_map__key_size(map) &&
           info.value_size == bpf_map__value_size(map) && info.max_entries >= bpf_map__max_entries(map);
}

std::size_t count_prefixes(const std::vector<PhaseTrunk>& trunks, IpFamily family) {
    std::size_t count = 0;
    for (const PhaseTrunk& trunk : trunks) {
        count += std::ranges::count(trunk.prefixes, family, &IpPrefix::family);
    }
    return std::max<std::size_t>(count, 1);
}

}  // namespace

void BpfPhaseMaps::CloseObject::operator()(bpf_object* object) const { bpf_object__close(object); }

PhaseObject phase_classifier_object() {
    return {{headway_phase_object, headway_phase_object_end}, "headway_phase"};
}

PhaseObject fq_pacing_object() { return {{headway_fq_object, headway_fq_object_end}, "headway_fq"}; }

PhaseObject pacing_qdisc_object(std::uint32_t tx_queues) {
    return {{headway_qdisc_object, headway_qdisc_object_end}, "headway_bpf", std::max(tx_queues, 1U)};
}

Result<std::unique_ptr<BpfPhaseMaps>> BpfPhaseMaps::load(const std::vector<PhaseTrunk>& trunks,
                                                         const PhaseObject& object_file,
                                                         const std::map<std::string, int>& earlier) {
    libbpf_set_print(remember_words);
    last_words().clear();
    LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "headway");
    bpf_object* object =
        bpf_object__open_mem(object_file.file.data(), object_file.file.size(), &options);
    if (object == nullptr) return bpf_failure(errno, "reading the classifier");
    std::unique_ptr<BpfPhaseMaps> maps(new BpfPhaseMaps(object));
    if (auto opened = maps->open(trunks, object_file, earlier); !opened) {
        return tl::unexpected(opened.error());
    }
    return maps;
}

int BpfPhaseMaps::map_fd(const char* name) const {
    return bpf_object__find_map_fd_by_name(object_.get(), name);
}

Result<void> BpfPhaseMaps::open(const std::vector<PhaseTrunk>& trunks, const PhaseObject& object_file,
                                const std::map<std::string, int>& earlier) {
    if (trunks.empty() || trunks.size() > HEADWAY_PHASE_TRUNKS) {
        return failure("there are {} clusters, the classifier knows 1 .. {}", trunks.size(),
                       HEADWAY_PHASE_TRUNKS);
    }
    trunk_count_ = trunks.size();
    const auto resize = [&](const char* name, std::size_t entries) {
        bpf_map__set_max_entries(bpf_object__find_map_by_name(object_.get(), name),
                                 static_cast<std::uint32_t>(entries));
    };
    resize("rates", table_entries * trunk_count_);
    resize("own_classes", HEADWAY_PHASE_JOBS * trunk_count_);
    resize("trunks_v4", count_prefixes(trunks, IpFamily::v4));
    resize("trunks_v6", count_prefixes(trunks, IpFamily::v6));
    if (bpf_object__find_map_by_name(object_.get(), "bpf_classes") != nullptr) {
        // guard and cap; of each trunk its own, the shared one, and jobs' with idle ones
        const std::size_t classes = 2 + trunk_count_ * (2 + 2 * HEADWAY_PHASE_JOBS);
        resize("bpf_classes", 1 + classes + HEADWAY_BPF_SPARE);
        resize("bpf_clocks", 1 + classes);
    }
    if (const auto done = go_on_with(sent_map, earlier); !done) return tl::unexpected(done.error());
    const auto classes_go_on = go_on_with(class_maps, earlier);
    if (!classes_go_on) return tl::unexpected(classes_go_on.error());
    has_classes_of_earlier_ = *classes_go_on;
    // an earlier run's clocks may be more
    if (object_file.instances > 0) {
        if (auto sized = size_qdisc(*object_, object_file.instances); !sized) return sized;
    }
    if (auto done = load_object(object_file); !done) return done;
    program_.fd = bpf_program__fd(bpf_object__find_program_by_name(object_.get(), object_file.program));
    bpf_prog_info info{};
    std::uint32_t info_bytes = sizeof(info);
    if (bpf_obj_get_info_by_fd(program_.fd, &info, &info_bytes) != 0) {
        return bpf_failure(errno, "looking at the classifier");
    }
    program_.id = info.id;

    if (object_file.instances > 0) {
        if (auto filled = fill_qdisc(*object_, object_file.instances); !filled) return filled;
    }
    const std::size_t own_classes = HEADWAY_PHASE_JOBS * trunk_count_;
    for (const auto& [name, memory, bytes] :
         {std::tuple("config", &config_, sizeof(headway_phase_config)),
          std::tuple("rates", &rates_, table_entries * trunk_count_ * sizeof(headway_phase_rate)),
          std::tuple("own_classes", &own_classes_, own_classes * sizeof(std::uint64_t))}) {
        auto mapped = SharedMemory::map(map_fd(name), bytes);
        if (!mapped) return tl::unexpected(mapped.error());
        *memory = std::move(*mapped);
    }

    this->config().trunk_count = static_cast<std::uint32_t>(trunk_count_);
    for (std::size_t i = 0; i < trunks.size(); ++i) {
        this->config().shared_minor[i] = trunks[i].shared_minor;
    }
    if (auto filled = fill_prefixes(trunks); !filled) return filled;
    std::array<std::uint32_t, HEADWAY_PHASE_JOBS> all{};
    std::iota(all.begin(), all.end(), 0U);
    return renew(all);
}

Result<void> BpfPhaseMaps::load_object(const PhaseObject& object_file) {
    if (object_file.instances > 0 && !kernel_has_bpf_qdiscs()) {
        return system_failure(EOPNOTSUPP, "this kernel takes no qdiscs that are BPF programs: it is older than Linux "
                                          "6.16, or was built without CONFIG_NET_SCH_BPF");
    }
    bpf_program* other = nullptr;  // tests have some; each takes the verifier's time
    bpf_object__for_each_program(other, object_.get()) {
        const bool is_of_qdisc = bpf_program__type(other) == BPF_PROG_TYPE_STRUCT_OPS;
        bpf_program__set_autoload(other,
                                  is_of_qdisc || std::strcmp(bpf_program__name(other), object_file.program) == 0);
    }
    if (const int error = bpf_object__load(object_.get()); error != 0) {
        return bpf_failure(-error, "loading the classifier");
    }
    return {};
}

Result<bool> BpfPhaseMaps::go_on_with(std::span<const char* const> names, const std::map<std::string, int>& earlier) {
    const auto map_of = [&](const char* name) { return bpf_object__find_map_by_name(object_.get(), name); };
    const bool are_there = std::ranges::all_of(names, [&](const char* name) {
        const auto found = earlier.find(kept_name(name));
        return map_of(name) != nullptr && found != earlier.end() && fits(map_of(name), found->second);
    });
    if (!are_there) return false;
    for (const char* const name : names) {
        if (const int error = bpf_map__reuse_fd(map_of(name), earlier.at(kept_name(name))); error != 0) {
            return bpf_failure(-error, "going on with what an earlier run's classifier remembers");
        }
    }
    return true;
}

std::map<std::string, int> BpfPhaseMaps::memory() const {
    std::map<std::string, int> fds;
    const auto add = [&](const char* name) {
        if (const int fd = map_fd(name); fd >= 0) fds.emplace(kept_name(name), fd);
    };
    std::ranges::for_each(sent_map, add);
    std::ranges::for_each(class_maps, add);
    return fds;
}

Result<std::unique_ptr<BpfClasses>> BpfPhaseMaps::classes() const {
    std::array<SharedMemory, 3> memory;
    ClassTables tables;
    const auto map = [&](const char* name, SharedMemory& part, auto& table) -> Result<void> {
        using Element = typename std::remove_reference_t<decltype(table)>::element_type;
        const std::size_t count = info_of_map(map_fd(name)).max_entries;
        auto mapped = SharedMemory::map(map_fd(name), count * sizeof(Element));
        if (!mapped) return tl::unexpected(mapped.error());
        part = std::move(*mapped);
        table = {static_cast<Element*>(part.address()), count};
        return {};
    };
    auto done = map(class_maps[0], memory[0], tables.places);
    if (done) done = map(class_maps[1], memory[1], tables.classes);
    if (done) done = map(class_maps[2], memory[2], tables.clocks);
    if (!done) return tl::unexpected(done.error());
    return std::make_unique<BpfClasses>(tables, std::move(memory));
}

Result<QdiscName> BpfPhaseMaps::name_qdisc(int ifindex) const { return QdiscName::claim(*object_, ifindex); }

Result<void> BpfPhaseMaps::fill_prefixes(const std::vector<PhaseTrunk>& trunks) {
    for (std::uint32_t i = 0; i < trunks.size(); ++i) {
        for (const IpPrefix& prefix : trunks[i].prefixes) {
            const int error =
                prefix.family == IpFamily::v4
                    ? add_prefix<headway_phase_prefix_v4>(map_fd("trunks_v4"), prefix, i)
                    : add_prefix<headway_phase_prefix_v6>(map_fd("trunks_v6"), prefix, i);
            if (error != 0) return bpf_failure(-error, "filling the table of prefixes");
        }
    }
    return {};
}

std::span<headway_phase_rate> BpfPhaseMaps::rates(std::uint32_t job, std::uint32_t phase) {
    auto* table = static_cast<headway_phase_rate*>(rates_.address());
    return {table + (std::size_t{job} * HEADWAY_PHASES + phase) * trunk_count_, trunk_count_};
}

std::span<std::uint64_t> BpfPhaseMaps::own_classes(std::uint32_t job) {
    return {static_cast<std::uint64_t*>(own_classes_.address()) + job * trunk_count_, trunk_count_};
}

Result<void> BpfPhaseMaps::set_cgroup(std::uint64_t cgroup, std::uint32_t job) {
    const int error = update_map(map_fd("cgroups"), &cgroup, &job, BPF_ANY);
    return error == 0 ? Result<void>() : bpf_failure(-error, "filling the table of cgroups");
}

void BpfPhaseMaps::forget_cgroup(std::uint64_t cgroup) {
    (void)bpf_map_delete_elem(map_fd("cgroups"), &cgroup);  // it is there, or it need not be
}

Result<void> BpfPhaseMaps::set_user(std::uint32_t uid, std::uint32_t job) {
    const int error = update_map(map_fd("users"), &uid, &job, BPF_ANY);
    return error == 0 ? Result<void>() : bpf_failure(-error, "filling the table of users");
}

void BpfPhaseMaps::forget_user(std::uint32_t uid) {
    (void)bpf_map_delete_elem(map_fd("users"), &uid);  // it is there, or it need not be
}

Result<BpfPhaseMaps::JobArray> BpfPhaseMaps::new_array() {
    LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
    FileDescriptor fd(bpf_map_create(BPF_MAP_TYPE_ARRAY, "headway_job", sizeof(std::uint32_t),
                                     sizeof(headway_phase_slots), 1, &options));
    if (!fd) return bpf_failure(errno, "making a job's array");
    return mapped(std::move(fd));
}

Result<BpfPhaseMaps::JobArray> BpfPhaseMaps::mapped(FileDescriptor fd) {
    auto memory = SharedMemory::map(fd.get(), sizeof(headway_phase_slots));
    if (!memory) return tl::unexpected(memory.error());
    return JobArray{std::move(fd), std::move(*memory)};
}

Result<void> BpfPhaseMaps::renew(std::span<const std::uint32_t> jobs) {
    std::vector<JobArray> fresh;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        auto array = new_array();
        if (!array) return tl::unexpected(array.error());
        fresh.push_back(std::move(*array));
    }
    return install({jobs.begin(), jobs.end()}, std::move(fresh));
}

Result<void> BpfPhaseMaps::install(std::vector<std::uint32_t> jobs, std::vector<JobArray> arrays) {
    std::vector<int> fds;
    for (const JobArray& array : arrays) fds.push_back(array.fd.get());
    // In one request: each one waits for a grace period.
    auto count = static_cast<std::uint32_t>(jobs.size());
    LIBBPF_OPTS(bpf_map_batch_opts, options);
    const int error =
        bpf_map_update_batch(map_fd("jobs"), jobs.data(), fds.data(), &count, &options);
    if (error != 0) return bpf_failure(-error, "filling the table of jobs");
    for (std::size_t i = 0; i < jobs.size(); ++i) arrays_[jobs[i]] = std::move(arrays[i]);
    return {};
}

/// A process that has the array could have frozen it while nobody had it mapped
/// for writing: then its job alone does not get it back.
Result<std::set<std::uint32_t>> BpfPhaseMaps::adopt(std::vector<KeptArray> kept) {
    std::vector<std::uint32_t> jobs;
    std::vector<JobArray> arrays;
    for (KeptArray& one : kept) {
        if (!is_job_array(one.fd.get())) continue;
        auto array = mapped(std::move(one.fd));
        if (!array) continue;
        jobs.push_back(one.job);
        arrays.push_back(std::move(*array));
    }
    if (jobs.empty()) return std::set<std::uint32_t>{};
    if (auto done = install(jobs, std::move(arrays)); !done) return tl::unexpected(done.error());
    return std::set(jobs.begin(), jobs.end());
}

}  // namespace headway
