// SPDX-License-Identifier: Apache-2.0
#include "formats/open_mpi_monitoring.hpp"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "base/text_lines.hpp"
#include "formats/file_mistakes.hpp"

namespace headway {
namespace {

constexpr const char* monitoring_advice =
    "name files that Open MPI's pml_monitoring has written, unchanged";
constexpr std::array<std::string_view, 5> without_pairs{"C", "D", "O2A", "A2O", "A2A"};

/// "5000 bytes" with unit "bytes".
std::optional<std::uint64_t> take_count(std::string_view field, std::string_view unit) {
    if (!field.ends_with(unit)) return std::nullopt;
    field.remove_suffix(unit.size());
    if (!field.ends_with(' ')) return std::nullopt;
    field.remove_suffix(1);
    return to_number<std::uint64_t>(field);
}

std::optional<TrafficFlow> read_flow(const std::vector<std::string_view>& fields) {
    if (fields.size() < 5) return std::nullopt;
    const auto source = to_number<std::uint32_t>(fields[1]);
    const auto destination = to_number<std::uint32_t>(fields[2]);
    const auto bytes = take_count(fields[3], "bytes");
    const auto messages = take_count(fields[4], "msgs sent");
    if (!source || !destination || !bytes || !messages) return std::nullopt;
    if (fields[0] == "R") return TrafficFlow{*destination, *source, *bytes, *messages};
    return TrafficFlow{*source, *destination, *bytes, *messages};
}

/// The flows of one file, added to `flows`.
void read_file(const NamedText& file, std::vector<TrafficFlow>& flows, FileMistakes& mistakes) {
    TextLines lines(file.text);
    while (lines.next() && !mistakes.full()) {
        if (lines.line().empty() || lines.line().front() == '#') continue;
        const auto fields = split_words(lines.line(), "\t");
        if (fields.empty()) continue;
        const std::string_view kind = fields.front();
        if (std::find(without_pairs.begin(), without_pairs.end(), kind) != without_pairs.end()) {
            continue;
        }
        if (kind != "E" && kind != "I" && kind != "S" && kind != "R") {
            mistakes.add(lines.number(), "", "the line starts with " + in_quotes(kind),
                         monitoring_advice);
            continue;
        }
        const auto flow = read_flow(fields);
        if (!flow) {
            mistakes.add(lines.number(), kind,
                         in_quotes(lines.line()) +
                             " is not SOURCE, DESTINATION, BYTES bytes and "
                             "COUNT msgs sent between tabs",
                         monitoring_advice);
        } else if (std::max(flow->source, flow->destination) >= TrafficMatrix::ranks_max) {
            mistakes.add(lines.number(), kind,
                         fmt::format("a rank is not less than {}", TrafficMatrix::ranks_max),
                         monitoring_advice);
        } else if (flows.size() >= TrafficMatrix::flows_max) {
            mistakes.add(lines.number(), kind, "there are too many flows", "measure fewer ranks");
            return;
        } else {
            flows.push_back(*flow);
        }
    }
}

/// "run.12.prof" is of rank 12; nothing: it has another name.
std::optional<std::uint32_t> rank_of(std::string_view name) {
    constexpr std::string_view end = ".prof";
    if (!name.ends_with(end)) return std::nullopt;
    name.remove_suffix(end.size());
    return to_number<std::uint32_t>(name.substr(name.rfind('.') + 1));
}

/// Open MPI writes a file for each rank.  A rank whose file is missing would count as silent.
void find_missing(std::span<const NamedText> files, std::uint32_t ranks, FileMistakes& mistakes) {
    constexpr std::size_t told_max = 5;
    std::vector<bool> is_there;
    for (const NamedText& file : files) {
        const auto rank = rank_of(file.file);
        if (!rank || *rank >= TrafficMatrix::ranks_max) return;
        is_there.resize(std::max<std::size_t>({is_there.size(), *rank + 1U, ranks}));
        is_there[*rank] = true;
    }
    std::string told;
    const auto missing = static_cast<std::size_t>(std::ranges::count(is_there, false));
    for (std::size_t rank = 0, count = 0; rank < is_there.size() && count < told_max; ++rank) {
        if (!is_there[rank]) told += fmt::format("{}{}", count++ == 0 ? "" : ", ", rank);
    }
    if (missing == 0) return;
    if (missing > told_max) told += ", ...";
    std::string_view stem = files.front().file;
    stem = stem.substr(0, stem.size() - std::string_view(".prof").size());
    mistakes.add(
        0, "", fmt::format("of {} ranks there is no file of {}", is_there.size(), told),
        fmt::format("name the files of all ranks, {}*.prof", stem.substr(0, stem.rfind('.') + 1)));
}

}  // namespace

FileResult<TrafficMatrix> read_open_mpi_monitoring(std::span<const NamedText> files) {
    std::vector<TrafficFlow> flows;
    FileMistakes mistakes(files.empty() ? "" : files.front().file);
    for (const NamedText& file : files) {
        mistakes.set_file(file.file);
        read_file(file, flows, mistakes);
    }
    if (!files.empty()) mistakes.set_file(files.front().file);
    std::uint32_t ranks = 0;
    for (const TrafficFlow& flow : flows) {
        ranks = std::max({ranks, flow.source + 1, flow.destination + 1});
    }
    if (mistakes.empty() && flows.empty()) {
        mistakes.add(0, "", "no message between two ranks is counted", monitoring_advice);
    }
    if (mistakes.empty()) find_missing(files, ranks, mistakes);
    if (!mistakes.empty()) return mistakes.take();
    auto matrix = TrafficMatrix::make(ranks, std::move(flows));
    if (matrix) return std::move(*matrix);
    mistakes.add(0, "", matrix.error().message, monitoring_advice);
    return mistakes.take();
}

}  // namespace headway
