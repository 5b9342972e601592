// SPDX-License-Identifier: Apache-2.0
#include "formats/program_builder.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/core.h>

namespace headway {

using Kind = PlogptOperationKind;

void ProgramBuilder::mistake(const Place& place, std::string_view key, std::string reason,
                             std::string_view advice) {
    mistakes_.set_file(files_[place.file]);
    mistakes_.add(place.line, key, std::move(reason), std::string(advice));
}

bool ProgramBuilder::has_room(std::uint32_t line) {
    if (operations_ < limits_.operations) {
        ++operations_;
        return true;
    }
    if (!is_full_) {
        mistakes_.add(line, "", fmt::format("more than {} operations", limits_.operations),
                      "cut a piece out of the file");
    }
    is_full_ = true;
    return false;
}

std::optional<std::uint32_t> ProgramBuilder::add(std::uint32_t line, std::uint32_t rank, Kind kind,
                                                 std::uint64_t peer, double bytes,
                                                 std::int64_t tag) {
    if (!has_room(line)) return std::nullopt;
    if (peer >= ranks()) {
        mistakes_.add(line, "", fmt::format("there is no rank {}", peer),
                      fmt::format("name one of 0 .. {}", ranks() - 1));
        return std::nullopt;
    }
    places_.resize(programs_.size());
    places_[rank].push_back(place(line, tag));
    programs_[rank].push_back({kind, static_cast<std::uint32_t>(peer), bytes, 0});
    return static_cast<std::uint32_t>(programs_[rank].size() - 1);
}

void ProgramBuilder::wait(std::uint32_t line, std::uint32_t rank, std::uint32_t operation) {
    if (!has_room(line)) return;
    places_.resize(programs_.size());
    places_[rank].push_back(place(line, any_tag));
    programs_[rank].push_back({Kind::wait, 0, 0, operation});
}

std::vector<ProgramBuilder::End> ProgramBuilder::ends(Kind kind) const {
    std::vector<End> ends;
    for (std::uint32_t rank = 0; rank < places_.size(); ++rank) {
        for (std::size_t i = 0; i < programs_[rank].size(); ++i) {
            const PlogptOperation& operation = programs_[rank][i];
            if (operation.kind != kind || operation.peer == rank) continue;
            if (kind == Kind::isend) ends.push_back({rank, operation.peer, places_[rank][i]});
            else ends.push_back({operation.peer, rank, places_[rank][i]});
        }
    }
    std::stable_sort(ends.begin(), ends.end(), [](const End& a, const End& b) {
        return std::tie(a.source, a.destination) < std::tie(b.source, b.destination);
    });
    return ends;
}

void ProgramBuilder::check_pairs() {
    const auto sends = ends(Kind::isend);
    const auto receives = ends(Kind::irecv);
    const auto pair = [](const End& end) { return std::tie(end.source, end.destination); };
    auto send = sends.begin();
    auto receive = receives.begin();
    while ((send != sends.end() || receive != receives.end()) && !mistakes_.full()) {
        if (receive == receives.end() || (send != sends.end() && pair(*send) < pair(*receive))) {
            mistake(send->place, "send",
                          fmt::format("rank {} receives no message for it from rank {}",
                                      send->destination, send->source),
                          "give every send its receive");
            ++send;
        } else if (send == sends.end() || pair(*receive) < pair(*send)) {
            mistake(receive->place, "receive",
                          fmt::format("rank {} sends no message for it to rank {}",
                                      receive->source, receive->destination),
                          "give every receive its send");
            ++receive;
        } else {
            const std::int64_t tag = receive->place.tag;
            if (tag != any_tag && send->place.tag != any_tag && tag != send->place.tag) {
                mistake(receive->place, "tag",
                              fmt::format("rank {} receives it in another order than rank {} sends "
                                          "it ({}:{})",
                                          receive->destination, receive->source,
                                          files_[send->place.file], send->place.line),
                              "two ranks have to send and receive in one order of tags");
            }
            ++send;
            ++receive;
        }
    }
}

std::optional<ProgramFile> ProgramBuilder::finish() {
    if (mistakes_.empty()) check_pairs();
    if (!mistakes_.empty()) return std::nullopt;
    return ProgramFile{std::move(programs_), computations_};
}

}  // namespace headway
