// SPDX-License-Identifier: Apache-2.0
#include "daemon/handed_state.hpp"

#include <algorithm>
#include <exception>
#include <iterator>

#include <fmt/format.h>

#include "base/json.hpp"
#include "base/json_number.hpp"
#include "jobs/plan_json.hpp"

namespace headway {
namespace {

/// A change of the meaning of anything below needs another number.  Earlier readers pass over what
/// is only added, and those of now can do without it.
constexpr int state_version = 1;
/// So many rates make the text a half of what fits.
constexpr std::size_t rates_max = 40'000;

Json rates_json(const std::vector<ClassRate>& rates) {
    Json list = Json::array();
    for (const ClassRate& rate : rates) list.push_back(rate_json(rate));
    return list;
}

void append_quoted(std::string& text, const std::string& words) {
    const auto is_itself = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
    if (std::ranges::all_of(words, is_itself)) {
        (((text += '"') += words) += '"');
    } else {
        text += json_text(Json(words));
    }
}

std::vector<ClassRate> rates_of(const Json& list) {
    std::vector<ClassRate> rates;
    for (const Json& rate : list) {
        rates.push_back(rate.is_null() ? ClassRate() : BytesPerSecond{whole_number<std::uint64_t>(rate)});
    }
    return rates;
}

std::size_t count_rates(const HandedState& state) {
    std::size_t count = 0;
    for (const auto& [number, job] : state.jobs) {
        for (const auto& rates : job.rates) count += rates.size();
    }
    return count;
}

Json job_json(std::uint32_t number, const KeptJob& job, const HandedState& state) {
    Json phases = Json::array(), parts = Json::array(), classes = Json::array();
    for (const TcHandle classid : job.classes) classes.push_back(classid.value);
    for (std::size_t i = 1; i < job.rates.size(); ++i) phases.push_back(rates_json(job.rates[i]));
    for (const LinkPart part : job.parts) {
        parts.push_back(part.most ? Json{part.value, part.most->value} : Json(part.value));
    }
    const auto hosts = state.hosts.find(number);
    return {{"number", number},
            {"uid", job.user},
            {"name", job.name},
            {"generation", job.generation},
            {"phases", std::move(phases)},
            {"parts", std::move(parts)},
            {"classes", std::move(classes)},
            {"hosts", hosts == state.hosts.end() ? Json(nullptr) : Json(hosts->second)}};
}

/// A run before told only the part, not the most that is left by it.
LinkPart part_of_json(const Json& json) {
    if (!json.is_array()) return {whole_number<std::uint64_t>(json)};
    return {whole_number<std::uint64_t>(json.at(0)), BytesPerSecond{whole_number<std::uint64_t>(json.at(1))}};
}

void add_job(HandedState& state, const Json& json) {
    KeptJob job;
    job.user = whole_number<uid_t>(json.at("uid"));
    job.name = json.at("name").get<std::string>();
    job.generation = whole_number<std::uint32_t>(json.at("generation"));
    job.rates.emplace_back();
    for (const Json& phase : json.at("phases")) job.rates.push_back(rates_of(phase));
    for (const Json& part : json.at("parts")) job.parts.push_back(part_of_json(part));
    for (const Json& classid : json.value("classes", Json::array())) {
        job.classes.push_back(TcHandle{whole_number<std::uint32_t>(classid)});
    }
    const auto number = whole_number<std::uint32_t>(json.at("number"));
    if (!json.at("hosts").is_null()) state.hosts.emplace(number, json.at("hosts").get<std::string>());
    state.jobs.emplace(number, std::move(job));
}

void add_client(HandedState& state, const Json& json) {
    HandedClient client;
    client.last_pattern = whole_number<std::uint64_t>(json.at("last_pattern"));
    if (const auto hello = json.find("hello"); hello != json.end()) {
        client.hello = HelloRequest{hello->at("job").get<std::string>(),
                                    whole_number<std::uint64_t>(hello->at("rank")),
                                    whole_number<std::uint64_t>(hello->at("pid")),
                                    whole_number<std::uint64_t>(hello->value("start", Json(0U)))};
    }
    for (const Json& entered : json.at("enters")) {
        ActiveEnter one{std::nullopt, entered.at("reason").get<std::string>(),
                        rates_of(entered.at("rates"))};
        one.is_uncontended = entered.at("is_uncontended").get<bool>();
        one.number = whole_number<std::uint64_t>(entered.value("entered", Json(client.enters.size() + 1)));
        client.enters.push_back(std::move(one));
    }
    if (const auto cgroup = json.find("cgroup"); cgroup != json.end()) {
        client.cgroup = whole_number<std::uint64_t>(*cgroup);
    }
    const PhaseSeat seat{whole_number<std::uint32_t>(json.at("job")), whole_number<std::uint32_t>(json.at("slot"))};
    state.clients.emplace(seat, std::move(client));
}

}  // namespace

std::string handed_jobs_text(const HandedState& state) {
    if (count_rates(state) > rates_max) return {};
    Json jobs = Json::array();
    for (const auto& [number, job] : state.jobs) jobs.push_back(job_json(number, job, state));
    std::string text = json_text(Json{{"version", state_version},
                                      {"set_up", state.set_up},
                                      {"jobs", std::move(jobs)},
                                      {"is_incomplete", state.is_incomplete}});
    text.back() = ',';  // the end of the object
    return text + R"("clients":[)";
}

/// Writes the text without a tree of Json, which would take a fifth of an enter's time: every enter
/// and leave of a process that has joined writes this text before it is answered.
std::string handed_client_text(const ControlSession& joined,
                               const std::optional<std::uint64_t>& cgroup) {
    std::string text = fmt::format(R"({{"job":{},"slot":{},"last_pattern":{})", joined.seat->job,
                                   joined.seat->slot, joined.last_pattern);
    const auto end = std::back_inserter(text);
    if (cgroup) fmt::format_to(end, R"(,"cgroup":{})", *cgroup);
    if (const auto& hello = joined.hello) {
        fmt::format_to(end, R"(,"hello":{{"rank":{},"pid":{},"start":{},"job":)", hello->rank, hello->pid,
                       hello->start);
        append_quoted(text, hello->job);
        text += '}';
    }
    text += R"(,"enters":[)";
    for (const ActiveEnter& entered : joined.enters) {
        text += &entered == joined.enters.data() ? R"({"reason":)" : R"(,{"reason":)";
        append_quoted(text, entered.reason);
        text += R"(,"rates":[)";
        for (const ClassRate& rate : entered.rates) {
            if (&rate != entered.rates.data()) text += ',';
            text += rate ? fmt::to_string(rate->value) : "null";
        }
        fmt::format_to(end, R"(],"is_uncontended":{},"entered":{}}})", entered.is_uncontended, entered.number);
    }
    return text += "]}";
}

Result<HandedState> parse_handed_state(std::string_view text) {
    const Json json = parse_json<Json>(text);
    if (!json.is_object() || json.value("version", Json()) != state_version) {
        return failure("it is of another version");
    }
    HandedState state;
    try {
        state.set_up = json.at("set_up").get<std::string>();
        for (const Json& job : json.at("jobs")) add_job(state, job);
        for (const Json& client : json.at("clients")) add_client(state, client);
        state.is_incomplete = json.value("is_incomplete", false);
    } catch (const std::exception& error) {  // the library's, or whole_number()'s
        return failure("it cannot be understood: {}", error.what());
    }
    return state;
}

}  // namespace headway
