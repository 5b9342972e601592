// SPDX-License-Identifier: MIT
#include "session.hpp"

#include <unistd.h>

#include "notice.hpp"

namespace headway::glue {
namespace {

using Json = DaemonLink::Json;

LinkResult<Pattern> read_pattern(const Json& answer) {
    const LinkError nonsense{"headwayd's answer is not one of its protocol", true};
    Pattern pattern;
    const auto paced = answer.find("paced");
    if (paced == answer.end() || !paced->is_boolean()) return tl::unexpected(nonsense);
    pattern.paced = paced->get<bool>();
    if (const auto reason = answer.find("reason"); reason != answer.end() && reason->is_string())
        pattern.reason = reason->get<std::string>();
    if (!pattern.paced) return pattern;
    const auto id = answer.find("pattern");
    const auto least = answer.find("min_message_bytes");
    if (id == answer.end() || !id->is_number_unsigned() || least == answer.end() ||
        !least->is_number_unsigned())
        return tl::unexpected(nonsense);
    pattern.id = id->get<std::uint64_t>();
    pattern.min_message_bytes = least->get<std::uint64_t>();
    return pattern;
}

bool is_worthwhile(const Pattern& pattern, std::uint64_t bytes) {
    return pattern.paced && bytes > 0 && bytes >= pattern.min_message_bytes;
}

}  // namespace

const char* name_of(Operation operation) {
    return operation == Operation::alltoall ? "alltoall" : "alltoallv";
}

Session::Session(DaemonLink link, const Settings& settings, const HostTable& hosts, int rank,
                 std::string node)
    : link_(std::move(link)),
      hosts_(&hosts),
      siblings_disjoint_(settings.siblings_disjoint),
      verbose_(settings.verbose),
      rank_(rank),
      node_(std::move(node)) {}

LinkResult<Session> Session::open(const Settings& settings, const std::string& job, int rank,
                                  const HostTable& hosts) {
    auto link = DaemonLink::connect(settings.socket_path, settings.timeout);
    if (!link) return tl::unexpected(link.error());
    const auto answer =
        link->ask({{"op", "hello"}, {"job", job}, {"rank", rank}, {"pid", ::getpid()}});
    if (!answer) return tl::unexpected(answer.error());
    std::string name = own_host_name();
    const auto node = answer->find("node");
    if (node != answer->end() && node->is_string() && !node->get_ref<const std::string&>().empty())
        name = node->get<std::string>();
    return Session(std::move(*link), settings, hosts, rank, std::move(name));
}

LinkResult<KnownPattern*> Session::pattern(Operation operation, const HostSet& hosts) {
    const auto [entry, is_new] = patterns_.try_emplace({operation, hosts});
    if (is_new) {
        if (const auto prepared = prepare(*entry); !prepared)
            return tl::unexpected(prepared.error());
    }
    return &*entry;
}

LinkResult<bool> Session::enter(KnownPattern& known, std::uint64_t bytes) {
    if (!is_worthwhile(known.second, bytes)) return false;
    auto entered = ask_to_enter(known, bytes);
    if (!entered && !entered.error().lost) {
        // A pattern goes out of date when the daemon reads another topology.
        entered = prepare(known);
        if (entered && !is_worthwhile(known.second, bytes)) return false;
        if (entered) entered = ask_to_enter(known, bytes);
    }
    if (entered) return true;
    known.second = Pattern{};
    return tl::unexpected(entered.error());
}

LinkResult<void> Session::leave() { return link_.tell({{"op", "leave"}}); }

LinkResult<void> Session::prepare(KnownPattern& known) {
    const auto& [operation, hosts] = known.first;
    known.second = Pattern{};
    const auto answer = link_.ask({{"op", "prepare"},
                                   {"operation", name_of(operation)},
                                   {"job_hosts", hosts_->names()},
                                   {"comm_hosts", hosts_->names_of(hosts)},
                                   {"ranks_per_host", hosts_->ranks_per_host()},
                                   {"siblings_disjoint", siblings_disjoint_}});
    if (!answer) return tl::unexpected(answer.error());
    show(known, *answer);
    auto pattern = read_pattern(*answer);
    if (!pattern) return tl::unexpected(pattern.error());
    known.second = std::move(*pattern);
    return {};
}

LinkResult<void> Session::ask_to_enter(const KnownPattern& known, std::uint64_t bytes) {
    const auto answer =
        link_.ask({{"op", "enter"}, {"pattern", known.second.id}, {"message_bytes", bytes}});
    if (!answer) return tl::unexpected(answer.error());
    show(known, *answer);
    return {};
}

void Session::show(const KnownPattern& known, const Json& answer) const {
    if (!verbose_) return;
    say("rank " + std::to_string(rank_) + " on " + node_ + ", " + name_of(known.first.first) +
        ": " + answer.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace headway::glue
