// SPDX-License-Identifier: Apache-2.0
#include "exporter/exporter_metrics.hpp"

#include <algorithm>
#include <limits>

namespace headway {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

const Json& member(const Json& object, const char* key) {
    static const Json none;
    if (!object.is_object()) return none;
    const auto found = object.find(key);
    return found == object.end() ? none : *found;
}

double number_of(const Json& object, const char* key) {
    const Json& value = member(object, key);
    if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
    return value.is_number() ? value.get<double>() : 0;
}

/// A rate; null is unlimited.
double rate_of(const Json& object, const char* key) {
    const Json& value = member(object, key);
    return value.is_null() ? std::numeric_limits<double>::infinity() : number_of(object, key);
}

std::string text_of(const Json& object, const char* key) {
    const Json& value = member(object, key);
    return value.is_string() ? value.get<std::string>() : "";
}

class Families {
public:
    void gauge(const char* name, const char* help) { begin(name, help, MetricType::Gauge); }
    void counter(const char* name, const char* help) { begin(name, help, MetricType::Counter); }

    /// Adds a value to the family that was begun last.
    void value(double value, Labels labels = {}) {
        ClientMetric metric;
        metric.label = std::move(labels);
        if (all_.back().type == MetricType::Counter) metric.counter.value = value;
        else metric.gauge.value = value;
        all_.back().metric.push_back(std::move(metric));
    }

    [[nodiscard]] std::vector<MetricFamily> take() { return std::move(all_); }

private:
    void begin(const char* name, const char* help, MetricType type) {
        MetricFamily family;
        family.name = name;
        family.help = help;
        family.type = type;
        all_.push_back(std::move(family));
    }

    std::vector<MetricFamily> all_;
};

void add_daemon(Families& all, const Json& status, bool is_up) {
    const Json& daemon = member(status, "daemon");
    const Json& reconcile = member(status, "reconcile");
    all.gauge("headway_up", "1 if headwayd has answered now");
    all.value(is_up ? 1 : 0);
    all.gauge("headway_info", "always 1; the labels say which daemon that is");
    all.value(1, {{"version", text_of(daemon, "version")}, {"node", text_of(daemon, "node")},
                  {"cluster", text_of(daemon, "cluster")}, {"interface", text_of(daemon, "interface")}});
    all.gauge("headway_uptime_seconds", "time since headwayd started");
    all.value(number_of(daemon, "uptime_s"));
    all.gauge("headway_phases_available", "1 if processes can switch rates themselves");
    all.value(number_of(daemon, "phases"));
    all.gauge("headway_pacing_off", "1 if an administrator has switched pacing off");
    all.value(member(status, "off").is_object() ? 1 : 0);
    all.gauge("headway_in_step", "1 if the kernel has what headwayd wants");
    all.value(number_of(status, "in_step"));
    all.gauge("headway_kernel_readable", "1 if headwayd could read the kernel's state");
    all.value(status.contains("kernel_error") && status["kernel_error"].is_null() ? 1 : 0);
    all.counter("headway_reconcile_passes_total", "comparisons of the kernel with what is wanted");
    all.value(number_of(reconcile, "passes"));
    all.counter("headway_reconcile_mended_total", "of them, those that found something changed by others");
    all.value(number_of(reconcile, "mended"));
    all.gauge("headway_reconcile_failed", "changes that the kernel refuses");
    all.value(number_of(reconcile, "failed_count"));
    all.gauge("headway_link_bytes_per_second", "what the interface drives");
    all.value(number_of(daemon, "link_bits_per_s") / 8);
}

void add_jobs(Families& all, const Json& status, const Json& jobs) {
    double started = 0, sharing = 0, processes = 0, known = 0;
    if (jobs.is_array()) {
        for (const Json& job : jobs) {
            ++known;
            started += number_of(job, "started");
            sharing += member(job, "parts").is_object() ? 1 : 0;
            processes += number_of(job, "processes");
        }
    }
    all.gauge("headway_clients", "connections to headwayd");
    all.value(number_of(status, "client_count"));
    all.gauge("headway_active_collectives", "paced collectives that clients are in by request");
    all.value(number_of(status, "active_enters"));
    all.gauge("headway_jobs", "jobs that headwayd knows");
    all.value(known);
    all.gauge("headway_jobs_started", "of them, those that were started by command");
    all.value(started);
    all.gauge("headway_jobs_sharing", "of them, those that share a link with another");
    all.value(sharing);
    all.gauge("headway_job_processes", "processes of these jobs");
    all.value(processes);
}

void add_requests(Families& all, const Json& status) {
    constexpr const char* kinds[] = {"enter", "leave", "phase"};
    all.counter("headway_requests_total", "requests answered");
    for (const char* kind : kinds) all.value(number_of(member(status, kind), "count"), {{"kind", kind}});
    all.counter("headway_request_seconds_total", "time that answering them took");
    for (const char* kind : kinds) {
        const Json& stats = member(status, kind);
        all.value(number_of(stats, "count") * number_of(stats, "mean_us") / 1e6, {{"kind", kind}});
    }
    all.gauge("headway_request_longest_seconds", "the longest that one took");
    for (const char* kind : kinds) {
        all.value(number_of(member(status, kind), "max_us") / 1e6, {{"kind", kind}});
    }
}

void add_feedback(Families& all, const Json& feedback) {
    const Json& factor = member(feedback, "divisor_factor");
    all.gauge("headway_feedback_divisor_factor",
              "how many times more links are divided; 0: plans are trusted, or nothing learns");
    all.value(factor.is_number() ? factor.get<double>() : 0);
    all.gauge("headway_feedback_at_bound", "1 if packets are lost at the largest factor there may be");
    all.value(number_of(feedback, "at_its_bound"));
    all.counter("headway_feedback_timeouts_total", "retransmission time-outs of paced connections");
    all.value(number_of(feedback, "timeouts"));
}

void add_kernel(Families& all, const GapCounters& gaps, const TcpCounters& tcp) {
    const auto counter = [&](const char* name, const char* help, std::uint64_t value) {
        all.counter(name, help);
        all.value(static_cast<double>(value));
    };
    counter("headway_data_wire_bytes_total", "wire time of data frames, in bytes", gaps.wire_bytes);
    counter("headway_gap_wire_bytes_total", "wire time of gap frames, in bytes", gaps.gap_wire_bytes);
    counter("headway_gap_packets_total", "gap frames", gaps.gap_packets);
    counter("headway_direct_packets_total", "packets of no class, which are not paced",
            gaps.direct_packets);
    counter("headway_underruns_total", "times the wire was idle while a paced class waited",
            gaps.underruns);
    counter("headway_classes_expired_total", "classes that fell back because nobody refreshed them",
            gaps.expired);
    counter("headway_tcp_timeouts_total", "retransmission time-outs of all TCP of the node",
            tcp.timeouts);
    counter("headway_tcp_retransmitted_segments_total", "segments that TCP sent again",
            tcp.retransmissions);
}

}  // namespace

std::vector<MetricFamily> ExporterMetrics::families(const ExportedState& state) {
    if (state.status && state.status->is_object()) last_ = *state.status;
    tcp_ = state.tcp.value_or(tcp_);
    gaps_ = state.gaps.value_or(gaps_);

    Families all;
    add_daemon(all, last_, state.status.has_value());
    add_jobs(all, last_, member(last_, "jobs"));
    add_requests(all, last_);
    add_feedback(all, member(last_, "feedback"));
    add_kernel(all, gaps_, tcp_);

    static const Json unseen = Json::object();
    const Json& told = member(last_, "classes");
    const auto state_of = [&](const ExportedClass& one) -> const Json& {
        if (!told.is_array()) return unseen;
        const auto found = std::find_if(told.begin(), told.end(), [&](const Json& other) {
            return text_of(other, "classid") == one.classid;
        });
        return found == told.end() ? unseen : *found;
    };
    const auto of_classes = [&](auto value) {
        for (const ExportedClass& one : classes_) {
            all.value(value(state_of(one)), {{"class", one.classid}, {"cluster", one.cluster}});
        }
    };
    const auto number = [&](const char* key) {
        of_classes([&](const Json& one) { return number_of(one, key); });
    };
    all.gauge("headway_class_in_kernel", "1 if the kernel has the class");
    number("in_kernel");
    all.gauge("headway_class_wanted_bytes_per_second", "rate that is wanted by request; +Inf: no limit");
    of_classes([](const Json& one) { return rate_of(one, "wanted_bytes_per_s"); });
    all.gauge("headway_class_bytes_per_second", "rate in force by request; +Inf: no limit");
    of_classes([](const Json& one) { return rate_of(one, "bytes_per_s"); });
    all.counter("headway_class_wire_bytes_total", "wire time of the class's frames, in bytes");
    number("wire_bytes");
    all.counter("headway_class_packets_total", "packets of the class");
    number("packets");
    all.counter("headway_class_drops_total", "packets that the class dropped");
    number("drops");
    all.gauge("headway_class_backlog_bytes", "bytes that wait in the class");
    number("backlog_bytes");
    return all.take();
}

}  // namespace headway
