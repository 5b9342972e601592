// SPDX-License-Identifier: MIT
// MPI_Publish_name of MPICH goes to Hydra's mpiexec, or to Slurm's srun.  These may keep
// the names of several jobs (jobs that spawned each other, a name server of several
// mpiexec), so ours have the job's in front: of Hydra, where the process's proxy reports
// to and the number of its group of processes, which are on the proxy's command line.
#include "launch_names.hpp"

#include <mpi.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

#include "errors_returned.hpp"
#include "job_name.hpp"

namespace headway::glue {
namespace {

constexpr int ancestors_max = 16;  // shells and the like between proxy and process

std::string text_of(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// None: not known.
pid_t parent_of(pid_t process) {
    const std::string stat = text_of("/proc/" + std::to_string(process) + "/stat");
    const std::size_t name_end = stat.rfind(')');  // the name may have blanks
    if (name_end == std::string::npos || name_end + 4 >= stat.size()) return 0;
    return static_cast<pid_t>(std::strtol(stat.c_str() + name_end + 4, nullptr, 10));
}

std::string word_after(const std::vector<std::string>& words, const std::string& option) {
    for (std::size_t at = 0; at + 1 < words.size(); ++at) {
        if (words[at] == option) return words[at + 1];
    }
    return "";
}

/// "" of a process that is no proxy of Hydra's.
std::string hydra_job(pid_t process) {
    std::vector<std::string> words(1);
    for (const char c : text_of("/proc/" + std::to_string(process) + "/cmdline")) {
        if (c == '\0') {
            words.emplace_back();
        } else {
            words.back() += c;
        }
    }
    const std::string port = word_after(words, "--control-port");
    const std::string group = word_after(words, "--pgid");
    return port.empty() || group.empty() ? "" : port + "/" + group;
}

/// The same at all ranks of the job, and of no other job; "" if there is nothing of that
/// kind.
std::string job_among_names() {
    pid_t process = ::getppid();
    for (int i = 0; i < ancestors_max && process > 1; ++i, process = parent_of(process)) {
        if (std::string job = hydra_job(process); !job.empty()) return job;
    }
    MPI_Comm parent = MPI_COMM_NULL;
    PMPI_Comm_get_parent(&parent);
    return parent == MPI_COMM_NULL ? slurm_step() : "";
}

class MpichNames : public LaunchNames {
public:
    explicit MpichNames(const std::string& job)
        : LaunchNames(job), prefix_("headway/" + job + "/") {
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    }

    [[nodiscard]] bool publish(const std::string& name, const std::string& value) override {
        return PMPI_Publish_name(of_rank(rank_, name).c_str(), MPI_INFO_NULL, value.c_str()) ==
               MPI_SUCCESS;
    }

    [[nodiscard]] std::optional<std::string> lookup(int rank, const std::string& name) override {
        std::array<char, MPI_MAX_PORT_NAME> value{};
        if (PMPI_Lookup_name(of_rank(rank, name).c_str(), MPI_INFO_NULL, value.data()) != MPI_SUCCESS)
            return std::nullopt;
        return value.data();
    }

private:
    [[nodiscard]] std::string of_rank(int rank, const std::string& name) const {
        return prefix_ + std::to_string(rank) + "/" + name;
    }

    int rank_ = 0;
    std::string prefix_;
    // A name that is not there is an error, which would end the program.
    ErrorsReturned in_world_{MPI_COMM_WORLD};
    ErrorsReturned in_self_{MPI_COMM_SELF};
};

}  // namespace

tl::expected<std::unique_ptr<LaunchNames>, std::string> open_launch_names() {
    const std::string job = job_among_names();
    if (job.empty())
        return tl::unexpected(std::string("the job has no name under Hydra or Slurm"));
    return std::make_unique<MpichNames>(job);
}

}  // namespace headway::glue
