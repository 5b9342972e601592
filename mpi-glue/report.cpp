// SPDX-License-Identifier: MIT
#include "report.hpp"

#include <fstream>
#include <numeric>
#include <set>
#include <sstream>
#include <vector>

#include "helper.hpp"
#include "kernel/tcp_counters.hpp"
#include "message_size.hpp"
#include "notice.hpp"
#include "own_network.hpp"
#include "pending_requests.hpp"
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

/// As MPI's functions are called, in small letters.
std::string name_of(Operation operation, CallForm form) {
    const std::string name = glue::name_of(operation);
    return form == CallForm::nonblocking ? "i" + name : name;
}

/// Texts of all ranks: their sizes, and where they begin in `all`.
struct Texts {
    std::vector<int> sizes;
    std::vector<int> places;
    std::string all;

    explicit Texts(int ranks) : sizes(static_cast<std::size_t>(ranks)), places(sizes.size()) {}

    /// Once the sizes are known.
    void make_room() {
        std::exclusive_scan(sizes.begin(), sizes.end(), places.begin(), 0);
        all.resize(static_cast<std::size_t>(places.back() + sizes.back()));
    }
    [[nodiscard]] std::string of(std::size_t rank) const {
        return all.substr(static_cast<std::size_t>(places[rank]),
                          static_cast<std::size_t>(sizes[rank]));
    }
};

/// What each rank gives, at rank 0, by rank; elsewhere nothing.
std::vector<std::string> gather_texts(const std::string& own) {
    const Place place = place_in(MPI_COMM_WORLD);
    const int own_size = static_cast<int>(own.size());
    Texts texts(place.ranks);
    real::Gather(&own_size, 1, MPI_INT, texts.sizes.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
    texts.make_room();
    real::Gatherv(own.data(), own_size, MPI_CHAR, texts.all.data(), texts.sizes.data(),
                  texts.places.data(), MPI_CHAR, 0, MPI_COMM_WORLD);
    std::vector<std::string> every;
    for (std::size_t rank = 0; place.rank == 0 && rank < texts.sizes.size(); ++rank)
        every.push_back(texts.of(rank));
    return every;
}

/// The addresses of all ranks' hosts or containers.
std::set<Address> addresses_of_job() {
    std::string own;
    for (const Address& address : own_addresses()) own += address + "\n";
    std::set<Address> addresses;
    for (const std::string& text : allgather_texts(own)) {
        std::istringstream lines(text);
        for (Address address; std::getline(lines, address);) addresses.insert(address);
    }
    return addresses;
}

}  // namespace

void ReportedRequest::end(bool is_seen) const noexcept {
    reporter().count(what, is_seen ? std::optional(Clock::now() - begin) : std::nullopt);
}

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

bool Reporter::is_known(const CallKind& kind) {
    const std::lock_guard lock(mutex_);
    return report_.rows().contains(kind);
}

ReportedKind Reporter::kind_of(const Collective& collective, CallForm form, MPI_Comm communicator,
                               std::uint64_t bytes, std::uint64_t planned_bytes,
                               Algorithm algorithm, bool paced) {
    ReportedKind what{{name_of(communicator), name_of(collective.operation, form),
                       size_class(bytes), glue::name_of(algorithm), paced, ""},
                      bytes};
    if (!paced)
        what.kind.reason = helper().why_not_paced(collective, communicator, bytes, algorithm);
    if (is_known(what.kind)) return what;
    if (const auto time = helper().predicted(collective, communicator, planned_bytes, algorithm))
        what.predicted_s = time->low_s;
    const HostTable& hosts = helper().hosts();
    const bool can_be_asked_for = collective.operation == Operation::alltoall &&
                                  place_in(communicator).rank == 0 &&
                                  hosts.job_hosts().names().size() > 1;
    if (can_be_asked_for) what.hosts = hosts.hosts_of(communicator);
    return what;
}

void Reporter::count(const ReportedKind& what,
                     std::optional<std::chrono::nanoseconds> duration) noexcept try {
    const std::lock_guard lock(mutex_);
    report_.add(what.kind, what.bytes, duration);
    CallRow& row = report_.rows().at(what.kind);
    if (what.predicted_s) row.predicted_s = what.predicted_s;
    if (row.calls == 1 && what.hosts) to_predict_[what.kind] = *what.hosts;
} catch (const std::exception&) {
    give_up();
}

/// What was not predicted while the program ran.
void Reporter::predict() {
    for (const auto& [kind, hosts] : to_predict_) {
        CallRow& row = report_.rows().at(kind);
        if (row.predicted_s) continue;
        const auto plan = helper().plan(Operation::alltoall, hosts,
                                        std::uint64_t{1} << kind.size_class);
        if (!plan) continue;
        const auto& time = kind.paced ? plan->if_paced : plan->if_unpaced;
        if (time) row.predicted_s = time->low_s;
    }
}

void Reporter::count_connections() {
    const NodeCounters now = counters_now();
    report_.set_node(helper().node(), {now.timeouts - at_begin_.timeouts,
                                       now.retransmissions - at_begin_.retransmissions,
                                       count_own_connections(addresses_of_job())});
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
    if (!is_on()) return;
    pending_requests().abandon();
    on_ = false;
    const std::lock_guard lock(mutex_);
    count_connections();
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
