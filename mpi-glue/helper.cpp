// SPDX-License-Identifier: MIT
#include "helper.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string_view>

namespace headway::glue {
namespace {

using Json = DaemonLink::Json;

constexpr std::size_t reason_bytes = 512;
constexpr std::string_view library_wanted = "Open MPI v4.1.";
constexpr const char* off_switch = "HEADWAY=off switches Headway off";

constexpr const char* name_of(Operation operation) {
    return operation == Operation::alltoall ? "alltoall" : "alltoallv";
}

/// The same for all ranks of a job, different for two jobs at a time.
std::string job_id() {
    for (const char* name : {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "SLURM_JOB_ID"}) {
        if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return value;
    }
    return "process-" + std::to_string(::getpid());
}

/// The MPI library that the program really uses, as it names itself.
std::string mpi_library() {
    std::string name(MPI_MAX_LIBRARY_VERSION_STRING, '\0');
    int length = 0;
    // another MPI may have a longer maximum than ours
    name.resize(std::max<std::size_t>(name.size(), 8192));
    PMPI_Get_library_version(name.data(), &length);
    return name.c_str();
}

bool is_wanted_library(const std::string& name) {
    return name.compare(0, library_wanted.size(), library_wanted) == 0;
}

/// Rank 0 as the launcher numbers it, for when MPI cannot be asked.
bool launched_first() {
    for (const char* name : {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"}) {
        if (const char* value = std::getenv(name)) return std::string_view(value) == "0";
    }
    return true;
}

int reduce_over_job(int value, MPI_Op operation) {
    int result = 0;
    PMPI_Allreduce(&value, &result, 1, MPI_INT, operation, MPI_COMM_WORLD);
    return result;
}

/// What `rank` has to say, to every rank.
std::string broadcast_from(int rank, const std::string& text) {
    std::array<char, reason_bytes> buffer{};
    text.copy(buffer.data(), buffer.size() - 1);
    PMPI_Bcast(buffer.data(), static_cast<int>(buffer.size()), MPI_CHAR, rank, MPI_COMM_WORLD);
    return buffer.data();
}

}  // namespace

Helper& helper() {
    static Helper* const instance = new Helper;
    return *instance;
}

Helper::Helper() : settings_(read_settings()), node_(own_host_name()), notice_(job_id()) {}

void Helper::before_init() noexcept try {
    if (!settings_.enabled || begun_) return;
    begun_ = true;
    library_ = mpi_library();
    if (is_wanted_library(library_)) mca_.apply(settings_);
} catch (const std::exception&) {
    // Without the settings a paced exchange is slow, but right.
}

void Helper::after_init() noexcept try {
    mca_.restore();
    int initialized = 0;
    PMPI_Initialized(&initialized);
    if (!begun_ || joined_ || initialized == 0) return;
    joined_ = true;
    if (is_wanted_library(library_)) {
        join_job();
    } else if (launched_first()) {
        say("not pacing: built for " + std::string(library_wanted) + "x, the program uses " +
            library_.substr(0, library_.find('\n')) + "; " + off_switch);
    }
} catch (const std::exception&) {
    lose_link();
}

// Collective over MPI_COMM_WORLD.  Each step is taken by all ranks or by none.
void Helper::join_job() {
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    if (ranks_ < 2) return;

    std::string trouble = join_node();
    if (reduce_over_job(link_ ? 1 : 0, MPI_SUM) == 0) {
        announce("not pacing: " + trouble);
        notice_.silence();
        return;
    }
    hosts_.gather(node_);
    watch_finalize();
    if (hosts_.names().size() < 2) {
        announce("nothing to pace: the job is on one host");
        link_.reset();
        return;
    }
    std::string state;
    if (link_) trouble = prepare_job(state);
    announce_agreed(state, trouble);
    active_ = link_.has_value();
}

/// Connects to this node's daemon; the reason if that fails.
std::string Helper::join_node() {
    auto link = DaemonLink::connect(settings_.socket_path, settings_.timeout);
    if (!link) return link.error().what;
    auto answer =
        link->ask({{"op", "hello"}, {"job", job_id()}, {"rank", rank_}, {"pid", ::getpid()}});
    if (!answer) return answer.error().what;
    // The name under which headway.toml knows this node, where it says so.
    const auto node = answer->find("node");
    if (node != answer->end() && node->is_string() && !node->get_ref<const std::string&>().empty())
        node_ = node->get<std::string>();
    link_ = std::move(*link);
    return "";
}

/// Has the daemon plan for the job's commonest communicator, so that whatever
/// it has against the job comes out now, while the ranks can still agree on one
/// line.  The reason if it refuses; else `state` tells what it decided.
std::string Helper::prepare_job(std::string& state) {
    PatternResult pattern = prepare(Operation::alltoall, *hosts_.hosts_of(MPI_COMM_WORLD));
    if (!pattern) {
        link_.reset();
        return pattern.error().what;
    }
    state = pattern->paced ? "pacing all-to-all over " + std::to_string(hosts_.names().size()) +
                                 " hosts from " + std::to_string(pattern->min_message_bytes) +
                                 " bytes a pair"
                           : "nothing to pace: " + pattern->reason;
    return "";
}

/// One line, whatever happened to whichever rank.
void Helper::announce_agreed(const std::string& state, const std::string& trouble) {
    const int able = reduce_over_job(link_ ? 1 : 0, MPI_SUM);
    if (able == ranks_) {
        announce(state);
        return;
    }
    const int first_failed = reduce_over_job(link_ ? ranks_ : rank_, MPI_MIN);
    const std::string reason =
        broadcast_from(first_failed, "rank " + std::to_string(first_failed) + " on " + node_ +
                                         ": " + trouble);
    if (!link_) notice_.silence();
    announce(able == 0 ? "not pacing: " + reason
                       : "pacing only " + std::to_string(able) + " of " + std::to_string(ranks_) +
                             " ranks: " + reason);
}

void Helper::announce(const std::string& state) const {
    if (rank_ != 0) return;
    std::string line = state + "; Open MPI: " + mca_.summary() + "; ";
    for (const std::string& complaint : settings_.complaints) line += complaint + "; ";
    say(line + off_switch);
}

void Helper::watch_finalize() {
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget_communicator, &patterns_key_, nullptr);
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end_of_mpi, &finalize_key_, this);
    PMPI_Comm_set_attr(MPI_COMM_SELF, finalize_key_, this);
}

bool Helper::applies_to(MPI_Comm communicator) const noexcept {
    if (!active_ || communicator == nullptr || communicator == MPI_COMM_NULL) return false;
    int joins_two_groups = 0;
    PMPI_Comm_test_inter(communicator, &joins_two_groups);
    return joins_two_groups == 0;
}

bool Helper::enter(Operation operation, MPI_Comm communicator, std::uint64_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    try {
        return link_ && enter_locked(operation, communicator, bytes);
    } catch (const std::exception&) {
        return lose_link();
    }
}

bool Helper::enter_locked(Operation operation, MPI_Comm communicator, std::uint64_t bytes) {
    const Pattern* pattern = pattern_for(operation, communicator);
    if (pattern == nullptr || !pattern->paced || bytes == 0 ||
        bytes < pattern->min_message_bytes)
        return false;
    const auto answer = link_->ask(
        {{"op", "enter"}, {"pattern", pattern->id}, {"message_bytes", bytes}});
    if (!answer) {
        give_up(answer.error());
        return false;
    }
    show(name_of(operation), *answer);
    return true;
}

void Helper::leave() noexcept {
    const std::lock_guard lock(mutex_);
    try {
        if (!link_) return;
        if (const auto told = link_->tell({{"op", "leave"}}); !told) give_up(told.error());
    } catch (const std::exception&) {
        lose_link();
    }
}

void Helper::finalize() noexcept {
    active_ = false;
    const std::lock_guard lock(mutex_);
    link_.reset();
    hosts_.release();
}

Helper::CommunicatorPatterns* Helper::patterns_of(MPI_Comm communicator) {
    void* value = nullptr;
    int found = 0;
    PMPI_Comm_get_attr(communicator, patterns_key_, &value, &found);
    if (found != 0) return static_cast<CommunicatorPatterns*>(value);
    auto patterns = std::make_unique<CommunicatorPatterns>();
    patterns->hosts = hosts_.hosts_of(communicator);
    if (PMPI_Comm_set_attr(communicator, patterns_key_, patterns.get()) != MPI_SUCCESS)
        return nullptr;
    return patterns.release();  // the communicator's, until forget_communicator
}

/// Asks the daemon once for each operation and set of hosts, however many
/// communicators have that set.
const Helper::Pattern* Helper::pattern_for(Operation operation, MPI_Comm communicator) {
    CommunicatorPatterns* patterns = patterns_of(communicator);
    if (patterns == nullptr || !patterns->hosts || patterns->hosts->size() < 2) return nullptr;
    const Pattern*& known = patterns->by_operation[static_cast<std::size_t>(operation)];
    if (known != nullptr) return known;
    const auto entry = patterns_.find({operation, *patterns->hosts});
    if (entry != patterns_.end()) return known = &entry->second;
    if (const PatternResult answer = prepare(operation, *patterns->hosts); !answer) {
        give_up(answer.error());
        return nullptr;
    }
    return known = &patterns_.at({operation, *patterns->hosts});
}

Helper::PatternResult Helper::prepare(Operation operation, const HostSet& hosts) {
    const auto answer = link_->ask({{"op", "prepare"},
                                    {"operation", name_of(operation)},
                                    {"job_hosts", hosts_.names()},
                                    {"comm_hosts", hosts_.names_of(hosts)},
                                    {"siblings_disjoint", settings_.siblings_disjoint}});
    if (!answer) return tl::unexpected(answer.error());
    show(name_of(operation), *answer);
    const LinkError nonsense{"headwayd's answer is not one of its protocol", true};
    Pattern pattern;
    const auto paced = answer->find("paced");
    if (paced == answer->end() || !paced->is_boolean()) return tl::unexpected(nonsense);
    pattern.paced = paced->get<bool>();
    if (const auto reason = answer->find("reason"); reason != answer->end() && reason->is_string())
        pattern.reason = reason->get<std::string>();
    if (pattern.paced) {
        const auto id = answer->find("pattern");
        const auto least = answer->find("min_message_bytes");
        if (id == answer->end() || !id->is_number_unsigned() || least == answer->end() ||
            !least->is_number_unsigned())
            return tl::unexpected(nonsense);
        pattern.id = id->get<std::uint64_t>();
        pattern.min_message_bytes = least->get<std::uint64_t>();
    }
    return patterns_.insert_or_assign({operation, hosts}, std::move(pattern)).first->second;
}

/// From now on this process paces nothing.  Closing the connection undoes
/// whatever it had entered.  False, as "not entered".
bool Helper::lose_link() noexcept {
    active_ = false;
    link_.reset();
    return false;
}

void Helper::give_up(const LinkError& error) {
    lose_link();
    notice_.say("pacing ended on " + node_ + ": " + error.what);
}

void Helper::show(const char* operation, const Json& answer) const {
    if (!settings_.verbose) return;
    say("rank " + std::to_string(rank_) + " on " + node_ + ", " + operation + ": " +
        answer.dump(-1, ' ', false, Json::error_handler_t::replace));
}

int Helper::forget_communicator(MPI_Comm, int, void* value, void*) {
    delete static_cast<CommunicatorPatterns*>(value);
    return MPI_SUCCESS;
}

int Helper::end_of_mpi(MPI_Comm, int, void*, void* helper) {
    static_cast<Helper*>(helper)->finalize();
    return MPI_SUCCESS;
}

}  // namespace headway::glue
