// SPDX-License-Identifier: MIT
#include "report.hpp"

#include <set>
#include <utility>
#include <vector>

#include "base/whole_file.hpp"
#include "helper.hpp"
#include "job_start.hpp"
#include "job_texts.hpp"
#include "look/tcp_counters.hpp"
#include "message_size.hpp"
#include "notice.hpp"
#include "pending_requests.hpp"
#include "real.hpp"
#include "short_memory.hpp"

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

/// Returns the name of MPI's function, in small letters.
std::string name_of(Operation operation, CallForm form) {
    const std::string name = glue::name_of(operation);
    return form == CallForm::nonblocking ? "i" + name : name;
}

}  // namespace

void ReportedRequest::end(bool is_seen) const noexcept {
    reporter().count(what, is_seen ? std::optional(Clock::now() - begin) : std::nullopt);
}

Reporter& reporter() { return the_only<Reporter>(); }

void Reporter::begin(std::string where) noexcept try {
    if (where.empty()) return;
    where_ = std::move(where);
    at_begin_ = counters_now();
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end_of_mpi, &finalize_key_, this);
    PMPI_Comm_set_attr(MPI_COMM_SELF, finalize_key_, this);
    has_begun_ = true;
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

/// Asks for predictions that nobody asked for while the program ran.
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

void Reporter::count_connections(const std::set<Address>& addresses) {
    const NodeCounters now = counters_now();
    report_.set_node(helper().node(), {now.timeouts - at_begin_.timeouts,
                                       now.retransmissions - at_begin_.retransmissions,
                                       count_own_connections(addresses)});
}

/// Writes this rank's report; none: it has gaps, or there is no memory for it.
OwnText Reporter::complete(const std::set<Address>& addresses) {
    if (is_incomplete_) return std::nullopt;
    return own_text([&] {
        count_connections(addresses);
        report_.set_daemon_wait(helper().waited_for_daemon());
        predict();
        return report_.to_json();
    });
}

void Reporter::tell(CallReport& all) const {
    if (where_ == in_a_table) {
        const std::string table = "headway: what the collectives of this job did\n" + all.table();
        std::fputs(table.c_str(), stderr);
        return;
    }
    const std::string trouble = write_whole(where_, all.to_json());
    if (!trouble.empty()) say("no report: " + where_ + " cannot be written: " + trouble);
}

void Reporter::finish() noexcept {
    if (!std::exchange(has_begun_, false)) return;
    pending_requests().abandon();
    on_ = false;
    const std::lock_guard lock(mutex_);
    const auto addresses = addresses_of_all();
    const auto texts = gather_texts(addresses ? complete(*addresses) : std::nullopt);
    if (place_in(MPI_COMM_WORLD).rank != 0) return;
    const auto tell_all = [&] {
        CallReport all;
        for (const std::string& text : *texts) {
            if (const auto read = CallReport::from_json(text)) all.add(*read);
        }
        all.set_run(draw_job_start());
        tell(all);
    };
    if (!texts || !has_memory_for(tell_all)) say(std::string_view("no report: not enough memory"));
}

int Reporter::end_of_mpi(MPI_Comm, int, void*, void* reporter) {
    static_cast<Reporter*>(reporter)->finish();
    return MPI_SUCCESS;
}

}  // namespace headway::glue
