// SPDX-License-Identifier: MIT
// MPI_Publish_name of MPICH goes to Hydra's mpiexec, or to Slurm's srun.  These may keep
// the names of several jobs (jobs that spawned each other, a name server of several
// mpiexec), so ours have the job's in front: of Hydra, where the process's proxy reports
// to and the number of its group of processes, which are on the proxy's command line.
//
// Slurm (srun --mpi=pmi2) takes and tells names, but says "info=ok" where MPICH 4.0 looks
// for "rc=0", and so MPI_Publish_name and MPI_Lookup_name always fail there.  So there we
// send the same requests (PMI 1: a line each way) on the process's connection to its
// slurmstepd.  Nobody else does so meanwhile: MPI_Init is about to return.
#include "launch_names.hpp"

#include <link.h>
#include <mpi.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

#include "environment.hpp"
#include "errors_returned.hpp"
#include "job_name.hpp"

namespace headway::glue {
namespace {

constexpr int ancestors_max = 16;  // shells and the like between proxy and process
/// slurmstepd asks srun before it answers, which answers all ranks.
constexpr int slurm_patience_ms = 30000;
constexpr std::size_t pmi_line_bytes = 1024;

std::string text_of(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Returns the parent's number; none: it is not known.
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

/// Returns a name that is equal at all ranks of the job, and of no other job; "" if there is none.
std::string job_among_names() {
    pid_t process = ::getppid();
    for (int i = 0; i < ancestors_max && process > 1; ++i, process = parent_of(process)) {
        if (std::string job = hydra_job(process); !job.empty()) return job;
    }
    MPI_Comm parent = MPI_COMM_NULL;
    PMPI_Comm_get_parent(&parent);
    return parent == MPI_COMM_NULL ? slurm_step() : "";
}

/// Names rank R's values "headway/JOB/R/NAME".
class NamesWithPrefix : public LaunchNames {
public:
    explicit NamesWithPrefix(const std::string& job) : LaunchNames(job) {
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    }

protected:
    [[nodiscard]] std::string own(const std::string& name) const { return of_rank(rank_, name); }
    [[nodiscard]] std::string of_rank(int rank, const std::string& name) const {
        return "headway/" + job() + "/" + std::to_string(rank) + "/" + name;
    }

private:
    int rank_ = 0;
};

class MpichNames : public NamesWithPrefix {
public:
    using NamesWithPrefix::NamesWithPrefix;

    [[nodiscard]] bool publish(const std::string& name, const std::string& value) override {
        return PMPI_Publish_name(own(name).c_str(), MPI_INFO_NULL, value.c_str()) == MPI_SUCCESS;
    }

    [[nodiscard]] std::optional<std::string> lookup(int rank, const std::string& name) override {
        std::array<char, MPI_MAX_PORT_NAME> value{};
        if (PMPI_Lookup_name(of_rank(rank, name).c_str(), MPI_INFO_NULL, value.data()) != MPI_SUCCESS)
            return std::nullopt;
        return value.data();
    }

private:
    // A name that is not there is an error, which would end the program.  It belongs to no communicator, and during
    // MPI_Init() MPI_COMM_WORLD's handler gets it.  MPI_COMM_SELF's must not be touched: from MPICH 4.1 on it gets
    // all such errors as soon as it was set once, so the program's handler of MPI_COMM_WORLD would never be called.
    ErrorsReturned in_world_{MPI_COMM_WORLD};
};

class SlurmNames : public NamesWithPrefix {
public:
    SlurmNames(const std::string& job, int connection)
        : NamesWithPrefix(job), connection_(connection) {}

    [[nodiscard]] bool publish(const std::string& name, const std::string& value) override {
        return ask("cmd=publish_name service=" + own(name) + " port=" + value).has_value();
    }

    [[nodiscard]] std::optional<std::string> lookup(int rank, const std::string& name) override {
        const auto answer = ask("cmd=lookup_name service=" + of_rank(rank, name));
        const std::size_t port = answer ? answer->find(" port=") : std::string::npos;
        if (port == std::string::npos) return std::nullopt;
        return answer->substr(port + 6);
    }

private:
    /// The answer, if it is "info=ok".
    std::optional<std::string> ask(const std::string& request) {
        const std::string line = request + "\n";
        if (is_broken_ || line.size() > pmi_line_bytes) return std::nullopt;
        const auto answer = send(line) ? read_line() : std::nullopt;
        if (!answer) is_broken_ = true;  // a late answer would be taken for the next one's
        if (!answer || answer->find(" info=ok") == std::string::npos) return std::nullopt;
        return answer;
    }

    [[nodiscard]] bool send(const std::string& line) const {
        ssize_t sent = 0;
        do {
            sent = ::write(connection_, line.data(), line.size());
        } while (sent < 0 && errno == EINTR);
        return sent == static_cast<ssize_t>(line.size());
    }

    /// Reads a line without its end, byte by byte: what follows it is not ours.
    [[nodiscard]] std::optional<std::string> read_line() const {
        std::string line;
        while (line.size() < pmi_line_bytes) {
            pollfd ready{connection_, POLLIN, 0};
            char c = 0;
            const int polled = ::poll(&ready, 1, slurm_patience_ms);
            if (polled < 0 && errno == EINTR) continue;
            if (polled <= 0 || ::read(connection_, &c, 1) != 1) return std::nullopt;
            if (c == '\n') return line;
            line += c;
        }
        return std::nullopt;
    }

    int connection_;
    bool is_broken_ = false;
};

/// Whether MPICH's own client has the connection, and speaks PMI 1 on it.  MPICH may have been told to speak another
/// version, or was built for a library that does: Slurm's, or PMIx.
bool speaks_pmi_1() {
    if (environment_value("MPIR_CVAR_PMI_VERSION").value_or("1") != "1") return false;
    return ::dl_iterate_phdr(
               [](dl_phdr_info* library, std::size_t, void*) {
                   const std::string_view path(library->dlpi_name);
                   return path.substr(path.rfind('/') + 1).starts_with("libpmi") ? 1 : 0;
               },
               nullptr) == 0;
}

/// The process's connection to its slurmstepd; none: it has no such, or one on which others speak another language, or
/// MPICH understands the launcher, which it shows by publishing a name that nobody looks for.
std::optional<int> slurm_connection(MpichNames& names) {
    if (slurm_step().empty() || !speaks_pmi_1() || names.publish("asked", "1")) return std::nullopt;
    const std::string number(environment_value("PMI_FD").value_or(""));
    if (number.empty() || number.find_first_not_of("0123456789") != std::string::npos)
        return std::nullopt;
    return std::atoi(number.c_str());
}

}  // namespace

OpenedNames open_mpich_names() {
    const std::string job = job_among_names();
    if (job.empty())
        return tl::unexpected(
            std::string("the job has no name under Hydra or Slurm that this process can see"));
    auto names = std::make_unique<MpichNames>(job);
    if (const auto connection = slurm_connection(*names))
        return std::make_unique<SlurmNames>(job, *connection);
    return names;
}

}  // namespace headway::glue
