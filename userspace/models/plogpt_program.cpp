// SPDX-License-Identifier: Apache-2.0
#include "models/plogpt_program.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>

namespace headway {
namespace {

using OperationKind = PlogptOperationKind;
using Programs = std::vector<std::vector<PlogptOperation>>;

/// One end of a message: an Isend or an Irecv.
struct End {
    std::uint32_t source = 0;
    std::uint32_t destination = 0;
    std::uint32_t process = 0;
    std::uint32_t index = 0;

    [[nodiscard]] auto pair() const { return std::tie(source, destination); }
};

Result<void> check(const Programs& programs, std::uint32_t process, std::uint32_t index) {
    const PlogptOperation& operation = programs[process][index];
    if (operation.kind == OperationKind::wait) {
        if (operation.waited >= index || programs[process][operation.waited].kind == OperationKind::wait) {
            return failure("rank {} op {}: waits for op {}, which is no earlier isend or irecv",
                           process, index, operation.waited);
        }
        return {};
    }
    if (operation.peer >= programs.size()) {
        return failure("rank {} op {}: there is no rank {}", process, index, operation.peer);
    }
    if (!std::isfinite(operation.message_bytes) || operation.message_bytes < 0) {
        return failure("rank {} op {}: {} is no message size", process, index,
                       operation.message_bytes);
    }
    return {};
}

/// All ends of one kind, by pair of processes and then in program order.
std::vector<End> ends_of(const Programs& programs, OperationKind kind) {
    std::vector<End> ends;
    for (std::uint32_t process = 0; process < programs.size(); ++process) {
        for (std::uint32_t index = 0; index < programs[process].size(); ++index) {
            const PlogptOperation& operation = programs[process][index];
            if (operation.kind != kind || operation.peer == process) continue;
            if (kind == OperationKind::isend) ends.push_back({process, operation.peer, process, index});
            else ends.push_back({operation.peer, process, process, index});
        }
    }
    std::stable_sort(ends.begin(), ends.end(),
                     [](const End& a, const End& b) { return a.pair() < b.pair(); });
    return ends;
}

/// The first difference of two lists that should pair up is an end alone.
Result<void> check_pairs(const std::vector<End>& sends, const std::vector<End>& receives) {
    const std::size_t both = std::min(sends.size(), receives.size());
    std::size_t i = 0;
    while (i < both && sends[i].pair() == receives[i].pair()) ++i;
    if (i == sends.size() && i == receives.size()) return {};
    const bool is_send =
        i == receives.size() || (i < sends.size() && sends[i].pair() < receives[i].pair());
    if (is_send) {
        return failure("rank {} op {}: the isend to {} has no irecv", sends[i].process,
                       sends[i].index, sends[i].destination);
    }
    return failure("rank {} op {}: the irecv from {} has no isend", receives[i].process,
                   receives[i].index, receives[i].source);
}

PlogptStep wait_for(const PlogptStep& step) {
    switch (step.kind) {
        case PlogptStepKind::irecv: return {PlogptStepKind::wait_irecv, step.message};
        case PlogptStepKind::isend: return {PlogptStepKind::wait_isend, step.message};
        default: return {};
    }
}

bool is_sender_first(const End& a, const End& b) {
    return std::tie(a.process, a.index) < std::tie(b.process, b.index);
}

}  // namespace

// -------------------------------------------------------------------- as lists

Result<PlogptListedPrograms> PlogptListedPrograms::make(const Programs& programs) {
    for (std::uint32_t process = 0; process < programs.size(); ++process) {
        for (std::uint32_t index = 0; index < programs[process].size(); ++index) {
            if (auto good = check(programs, process, index); !good) {
                return tl::unexpected(good.error());
            }
        }
    }
    const std::vector<End> sends = ends_of(programs, OperationKind::isend);
    const std::vector<End> receives = ends_of(programs, OperationKind::irecv);
    if (auto good = check_pairs(sends, receives); !good) return tl::unexpected(good.error());

    std::vector<std::uint32_t> numbered(sends.size());
    for (std::uint32_t i = 0; i < numbered.size(); ++i) numbered[i] = i;
    std::sort(numbered.begin(), numbered.end(), [&](std::uint32_t a, std::uint32_t b) {
        return is_sender_first(sends[a], sends[b]);
    });

    PlogptListedPrograms made;
    for (const auto& program : programs) made.steps_.emplace_back(program.size());
    for (std::uint32_t number = 0; number < numbered.size(); ++number) {
        const End& send = sends[numbered[number]];
        const End& receive = receives[numbered[number]];
        made.messages_.push_back({send.source, send.destination,
                                  programs[send.process][send.index].message_bytes});
        made.steps_[send.process][send.index] = {PlogptStepKind::isend, number};
        made.steps_[receive.process][receive.index] = {PlogptStepKind::irecv, number};
    }
    for (std::size_t p = 0; p < programs.size(); ++p) {
        for (std::size_t i = 0; i < programs[p].size(); ++i) {
            if (programs[p][i].kind != OperationKind::wait) continue;
            made.steps_[p][i] = wait_for(made.steps_[p][programs[p][i].waited]);
        }
    }
    return made;
}

std::uint32_t PlogptListedPrograms::processes() const {
    return static_cast<std::uint32_t>(steps_.size());
}
std::uint32_t PlogptListedPrograms::messages() const {
    return static_cast<std::uint32_t>(messages_.size());
}
std::uint32_t PlogptListedPrograms::steps(std::uint32_t process) const {
    return static_cast<std::uint32_t>(steps_[process].size());
}
PlogptStep PlogptListedPrograms::step(std::uint32_t process, std::uint32_t index) const {
    return steps_[process][index];
}
PlogptMessage PlogptListedPrograms::message(std::uint32_t number) const {
    return messages_[number];
}

// ---------------------------------------------------------------- other leaves

PlogptPlacedPrograms::PlogptPlacedPrograms(const PlogptPrograms& programs,
                                           std::vector<std::uint32_t> leaves,
                                           std::uint32_t tree_leaves)
    : programs_(programs), leaves_(std::move(leaves)), process_at_(tree_leaves, nobody) {
    for (std::uint32_t process = 0; process < leaves_.size(); ++process)
        process_at_[leaves_[process]] = process;
}

std::uint32_t PlogptPlacedPrograms::steps(std::uint32_t leaf) const {
    return process_at_[leaf] == nobody ? 0 : programs_.steps(process_at_[leaf]);
}
PlogptStep PlogptPlacedPrograms::step(std::uint32_t leaf, std::uint32_t index) const {
    return programs_.step(process_at_[leaf], index);
}
PlogptMessage PlogptPlacedPrograms::message(std::uint32_t number) const {
    const PlogptMessage message = programs_.message(number);
    return {leaves_[message.source], leaves_[message.destination], message.bytes};
}

// ------------------------------------------------------------------ all-to-all

Result<PlogptAlltoall> PlogptAlltoall::make(Algorithm algorithm, std::uint32_t processes,
                                            double message_bytes) {
    if (processes < 1 || processes > processes_max) {
        return failure("{} processes: must be 1 to {}", processes, processes_max);
    }
    if (!std::isfinite(message_bytes) || message_bytes < 0) {
        return failure("{} is no message size", message_bytes);
    }
    return PlogptAlltoall(algorithm, processes, message_bytes);
}

PlogptStep PlogptAlltoall::step(std::uint32_t process, std::uint32_t index) const {
    const std::uint32_t partners = processes_ - 1;
    const auto received = [&](std::uint32_t i) { return number(source_of(process, i), i); };
    if (algorithm_ == Algorithm::a) {
        const std::uint32_t i = index / 4 + 1;
        switch (index % 4) {
            case 1: return {PlogptStepKind::isend, number(process, i)};
            case 2: return {PlogptStepKind::wait_irecv, received(i)};
            case 3: return {PlogptStepKind::wait_isend, number(process, i)};
            default: return {PlogptStepKind::irecv, received(i)};
        }
    }
    if (index < partners) return {PlogptStepKind::irecv, received(index + 1)};
    if (index < 3 * partners) {
        const std::uint32_t i = (index - partners) / 2 + 1;
        const bool sends = (index - partners) % 2 == 0;
        return {sends ? PlogptStepKind::isend : PlogptStepKind::wait_isend, number(process, i)};
    }
    return {PlogptStepKind::wait_irecv, received(index - 3 * partners + 1)};
}

PlogptMessage PlogptAlltoall::message(std::uint32_t number) const {
    const std::uint32_t source = number % processes_;
    return {source, destination_of(source, number / processes_ + 1), message_bytes_};
}

std::uint32_t PlogptAlltoall::destination_of(std::uint32_t source, std::uint32_t i) const {
    return std::has_single_bit(processes_) ? source ^ i : (source + i) % processes_;
}

std::uint32_t PlogptAlltoall::source_of(std::uint32_t destination, std::uint32_t i) const {
    return std::has_single_bit(processes_) ? destination ^ i
                                           : (destination + processes_ - i) % processes_;
}

}  // namespace headway
