// SPDX-License-Identifier: MIT
#include "report.hpp"

#include <array>
#include <exception>
#include <fstream>
#include <numeric>
#include <vector>

#include "helper.hpp"
#include "message_size.hpp"
#include "netlink/tcp_counters.hpp"
#include "notice.hpp"
#include "real.hpp"

namespace headway::glue {
namespace {

constexpr const char* in_a_table = "summary";

NodeCounters counters_now() {
    const auto counters = read_tcp_counters();
    if (!counters) return {};
    return {counters->timeouts, counters->retransmissions};
}

std::string name_of(MPI_Comm communicator) {
    std::string name(MPI_MAX_OBJECT_NAME, '\0');
    int length = 0;
    PMPI_Comm_get_name(communicator, name.data(), &length);
    name.resize(static_cast<std::size_t>(length));
    const std::string ranks = std::to_string(place_in(communicator).ranks) + " ranks";
    return name.empty() ? ranks : name + ", " + ranks;
}

/// What each rank gives, at rank 0, by rank; elsewhere nothing.
std::vector<std::string> gather_texts(const std::string& own) {
    const Place place = place_in(MPI_COMM_WORLD);
    const int own_size = static_cast<int>(own.size());
    std::vector<int> sizes(static_cast<std::size_t>(place.ranks));
    real::Gather(&own_size, 1, MPI_INT, sizes.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
    std::vector<int> places(sizes.size());
    std::exclusive_scan(sizes.begin(), sizes.end(), places.begin(), 0);
    std::string all(static_cast<std::size_t>(places.back() + sizes.back()), '\0');
    real::Gatherv(own.data(), own_size, MPI_CHAR, all.data(), sizes.data(), places.data(),
                  MPI_CHAR, 0, MPI_COMM_WORLD);
    std::vector<std::string> texts;
    for (std::size_t rank = 0; place.rank == 0 && rank < sizes.size(); ++rank)
        texts.push_back(all.substr(static_cast<std::size_t>(places[rank]),
                                   static_cast<std::size_t>(sizes[rank])));
    return texts;
}

}  // namespace

Reporter& reporter() {
    static Reporter* const instance = new Reporter;
    return *instance;
}

void Reporter::begin(std::string where) noexcept try {
    if (where.empty()) return;
    where_ = std::move(where);
    at_begin_ = counters_now();
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end_of_mpi, &finalize_key_, this);
    PMPI_Comm_set_attr(MPI_COMM_SELF, finalize_key_, this);
    on_ = true;
} catch (const std::exception&) {
    // then there is none
}

CallKind Reporter::kind_of(const Collective& collective, MPI_Comm communicator,
                           std::uint64_t bytes, Algorithm algorithm, bool paced) const {
    CallKind kind{name_of(communicator), glue::name_of(collective.operation), size_class(bytes),
                  glue::name_of(algorithm), paced, ""};
    if (!paced) kind.reason = helper().why_not_paced(collective, communicator, bytes, algorithm);
    return kind;
}

void Reporter::count(const Collective& collective, MPI_Comm communicator, std::uint64_t bytes,
                     Algorithm algorithm, bool paced,
                     std::chrono::nanoseconds duration) noexcept try {
    const CallKind kind = kind_of(collective, communicator, bytes, algorithm, paced);
    const std::lock_guard lock(mutex_);
    const bool is_new = !report_.rows().contains(kind);
    report_.add(kind, bytes, duration);
    if (!is_new || place_in(communicator).rank != 0) return;
    const HostTable& hosts = helper().hosts();
    if (hosts.job_hosts().names().size() < 2) return;
    if (auto members = hosts.hosts_of(communicator)) to_predict_[kind] = *members;
} catch (const std::exception&) {
    on_ = false;
}

/// Of all-to-alls, which the planner predicts.
void Reporter::predict() {
    for (const auto& [kind, hosts] : to_predict_) {
        if (kind.operation != glue::name_of(Operation::alltoall)) continue;
        const auto plan = helper().plan(Operation::alltoall, hosts,
                                        std::uint64_t{1} << kind.size_class);
        if (!plan) continue;
        const auto& time = kind.paced ? plan->if_paced : plan->if_unpaced;
        if (time) report_.rows().at(kind).predicted_s = time->low_s;
    }
}

CallReport Reporter::gather_all() {
    CallReport all;
    for (const std::string& text : gather_texts(report_.to_json().dump())) {
        const auto read = CallReport::from_json(nlohmann::json::parse(text, nullptr, false));
        if (read) all.add(*read);
    }
    return all;
}

void Reporter::tell(CallReport& all) const {
    if (where_ == in_a_table) {
        const std::string table = "headway: what the collectives of this job did\n" + all.table();
        std::fputs(table.c_str(), stderr);
        return;
    }
    std::ofstream file(where_, std::ios::trunc);
    file << all.to_json().dump(2) << '\n';
    file.close();
    if (!file) say("no report: " + where_ + " cannot be written");
}

void Reporter::finish() noexcept try {
    if (!on_.exchange(false)) return;
    const std::lock_guard lock(mutex_);
    const NodeCounters now = counters_now();
    report_.set_node(helper().node(), {now.timeouts - at_begin_.timeouts,
                                       now.retransmissions - at_begin_.retransmissions});
    report_.set_daemon_wait(helper().waited_for_daemon());
    predict();
    CallReport all = gather_all();
    if (place_in(MPI_COMM_WORLD).rank == 0) tell(all);
} catch (const std::exception&) {
    say("no report: not enough memory");
}

int Reporter::end_of_mpi(MPI_Comm, int, void*, void* reporter) {
    static_cast<Reporter*>(reporter)->finish();
    return MPI_SUCCESS;
}

}  // namespace headway::glue
