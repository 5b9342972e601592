// SPDX-License-Identifier: Apache-2.0
#include "formats/simgrid_trace.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <map>
#include <tuple>

#include <fmt/core.h>

#include "base/text_lines.hpp"
#include "formats/collective_messages.hpp"
#include "formats/file_mistakes.hpp"

namespace headway {
namespace {

using Kind = PlogptOperationKind;
using Words = std::vector<std::string_view>;

constexpr const char* actions_advice = "see headway-formats(5) for the actions that are read";

/// Sizes of SMPI's numbered datatypes, from 0.
constexpr std::array<double, 17> type_bytes{8, 4, 1, 2, 8, 4, 1, 8, 1, 1, 2, 4, 8, 8, 16, 4, 1};
constexpr double message_max_bytes = 1e15;

/// Reads the lines of one rank after the other into a program.
class TraceReader {
public:
    TraceReader(FileMistakes& mistakes, ProgramBuilder& builder)
        : mistakes_(mistakes), builder_(builder), ranks_(builder.ranks()) {}

    void read_line(std::uint32_t line, std::uint32_t rank, const Words& words) {
        line_ = line;
        rank_ = rank;
        words_ = &words;
        const std::string_view action = words[1];
        static const std::map<std::string_view, void (TraceReader::*)()> actions{
            {"init", &TraceReader::init},           {"send", &TraceReader::send_or_receive},
            {"isend", &TraceReader::send_or_receive}, {"recv", &TraceReader::send_or_receive},
            {"irecv", &TraceReader::send_or_receive}, {"wait", &TraceReader::wait},
            {"waitall", &TraceReader::wait_all},    {"barrier", &TraceReader::collective},
            {"bcast", &TraceReader::collective},    {"reduce", &TraceReader::collective},
            {"allreduce", &TraceReader::collective}, {"gather", &TraceReader::collective},
            {"scatter", &TraceReader::collective},  {"allgather", &TraceReader::collective},
            {"alltoall", &TraceReader::collective}, {"alltoallv", &TraceReader::collective},
            {"compute", &TraceReader::skip},        {"sleep", &TraceReader::skip},
            {"test", &TraceReader::nothing},        {"finalize", &TraceReader::nothing},
            {"comm_size", &TraceReader::nothing},   {"comm_split", &TraceReader::nothing},
            {"comm_dup", &TraceReader::nothing},    {"location", &TraceReader::nothing}};
        const auto known = actions.find(action);
        if (known == actions.end()) {
            wrong(in_quotes(action) + " cannot be read");
            return;
        }
        (this->*known->second)();
    }

private:
    struct Rank {
        double element_bytes = 1;
        /// Operations not waited for, by source, destination and tag.
        std::map<std::tuple<std::uint64_t, std::uint64_t, std::int64_t>, std::deque<std::uint32_t>>
            open;
    };

    void wrong(std::string reason) { mistakes_.add(line_, (*words_)[1], std::move(reason), actions_advice); }

    /// Argument number `index` from 0; nothing, having told so, if it is not there.
    template <class Number>
    std::optional<Number> argument(std::size_t index) {
        if (index + 2 < words_->size()) {
            if (const auto number = to_number<Number>((*words_)[index + 2])) return number;
        }
        wrong(fmt::format("its argument {} is no number", index + 1));
        return std::nullopt;
    }
    [[nodiscard]] bool has_argument(std::size_t index) const { return index + 2 < words_->size(); }

    /// Bytes of one element, its type being argument number `index` if at all.
    std::optional<double> element_bytes(std::size_t index) {
        if (!has_argument(index)) return ranks_[rank_].element_bytes;
        const auto type = argument<std::uint32_t>(index);
        if (!type) return std::nullopt;
        if (*type < type_bytes.size()) return type_bytes[*type];
        wrong(fmt::format("there is no datatype {}", *type));
        return std::nullopt;
    }

    /// Argument `index` as a number of elements whose type is argument `type`.
    std::optional<double> bytes(std::size_t index, std::size_t type) {
        const auto count = argument<double>(index);
        const auto element = element_bytes(type);
        if (!count || !element) return std::nullopt;
        if (!(*count >= 0 && *count * *element <= message_max_bytes)) {
            wrong(fmt::format("its argument {} is no size of a message", index + 1));
            return std::nullopt;
        }
        return *count * *element;
    }

    void init() { ranks_[rank_].element_bytes = has_argument(0) ? 8 : 1; }
    void nothing() {}
    void skip() { builder_.skip_computation(); }

    void send_or_receive() {
        const std::string_view action = (*words_)[1];
        const bool sends = action.ends_with("send");
        const auto peer = argument<std::uint64_t>(0);
        const auto tag = argument<std::int32_t>(1);
        // A receiver may not know its size (-1); the sender tells it.
        const auto size = sends ? bytes(2, 3) : std::optional(0.0);
        if (!peer || !tag || !size) return;
        const std::int64_t known_tag = *tag < 0 ? ProgramBuilder::any_tag : *tag;
        const auto operation = builder_.add(line_, rank_, sends ? Kind::isend : Kind::irecv, *peer,
                                            *size, known_tag);
        if (!operation) return;
        if (!action.starts_with('i')) {
            builder_.wait(line_, rank_, *operation);
            return;
        }
        const std::uint64_t own = rank_;
        ranks_[rank_]
            .open[{sends ? own : *peer, sends ? *peer : own, known_tag}]
            .push_back(*operation);
    }

    void wait() {
        const auto source = argument<std::uint64_t>(0);
        const auto destination = argument<std::uint64_t>(1);
        const auto tag = argument<std::int32_t>(2);
        if (!source || !destination || !tag) return;
        auto& open = ranks_[rank_].open;
        const std::int64_t known_tag = *tag < 0 ? ProgramBuilder::any_tag : *tag;
        const auto waited = open.find({*source, *destination, known_tag});
        if (waited == open.end()) return;  // a test has found it finished before
        builder_.wait(line_, rank_, waited->second.front());
        waited->second.pop_front();
        if (waited->second.empty()) open.erase(waited);
    }

    void wait_all() {
        std::vector<std::uint32_t> operations;
        for (const auto& [key, waiting] : ranks_[rank_].open) {
            operations.insert(operations.end(), waiting.begin(), waiting.end());
        }
        ranks_[rank_].open.clear();
        std::sort(operations.begin(), operations.end());
        for (const std::uint32_t operation : operations) builder_.wait(line_, rank_, operation);
    }

    std::optional<std::uint32_t> root(std::size_t index) {
        if (!has_argument(index)) return 0;
        const auto root = argument<std::uint32_t>(index);
        if (!root || *root < builder_.ranks()) return root;
        wrong(fmt::format("there is no rank {}", *root));
        return std::nullopt;
    }

    void collective() {
        const std::string_view action = (*words_)[1];
        CollectiveMessages messages(builder_, line_, rank_);
        if (action == "barrier") return messages.barrier();
        if (action == "alltoallv") return alltoallv(messages);
        // Where root and type stand: bcast SIZE, reduce SIZE WORK, gather SIZE SIZE.
        const bool has_root = action == "bcast" || action == "reduce" || action == "gather" ||
                              action == "scatter";
        const std::size_t after = action == "bcast" ? 1 : 2;
        const auto size = bytes(0, has_root ? after + 1 : after);
        const auto top = has_root ? root(after) : std::optional<std::uint32_t>(0);
        if (!size || !top) return;
        if (action == "bcast") messages.broadcast(*top, *size);
        if (action == "reduce" || action == "allreduce") messages.reduce(*top, *size);
        if (action == "allreduce") messages.broadcast(*top, *size);
        if (action == "gather") messages.gather(*top, *size);
        if (action == "scatter") messages.scatter(*top, *size);
        if (action == "allgather") messages.allgather(*size);
        if (action == "alltoall") messages.alltoall([&](std::uint32_t) { return *size; });
    }

    /// SENDBUF counts... RECVBUF counts... [types]
    void alltoallv(CollectiveMessages& messages) {
        const std::uint32_t ranks = builder_.ranks();
        std::vector<double> sizes;
        for (std::uint32_t i = 0; i < ranks; ++i) {
            const auto size = bytes(1 + i, 2 + 2 * ranks);
            if (!size) return;
            sizes.push_back(*size);
        }
        messages.alltoall([&](std::uint32_t peer) { return sizes[peer]; });
    }

    FileMistakes& mistakes_;
    ProgramBuilder& builder_;
    std::vector<Rank> ranks_;
    std::uint32_t line_ = 0;
    std::uint32_t rank_ = 0;
    const Words* words_ = nullptr;
};

/// Calls visit(line, rank, words) for every action until it says false.
template <class Visit>
void visit_lines(const NamedText& file, const ProgramLimits& limits, FileMistakes& mistakes,
                 Visit visit) {
    TextLines lines(file.text);
    while (lines.next() && !mistakes.full()) {
        const Words words = split_words(lines.line());
        if (words.empty() || words.front().starts_with('#')) continue;
        const auto rank = to_number<std::uint32_t>(words.front());
        if (!rank || *rank >= limits.ranks || words.size() < 2) {
            mistakes.add(lines.number(), "",
                         in_quotes(lines.line()) + " does not begin with a rank and an action",
                         actions_advice);
            continue;
        }
        if (!visit(lines.number(), *rank, words)) return;
    }
}

}  // namespace

FileResult<ProgramFile> read_simgrid_trace(std::span<const NamedText> files,
                                           const ProgramLimits& limits) {
    FileMistakes mistakes(files.empty() ? "" : files.front().file);
    std::uint32_t ranks = 0;  // which collectives need to know
    for (const NamedText& file : files) {
        mistakes.set_file(file.file);
        visit_lines(file, limits, mistakes, [&](std::uint32_t, std::uint32_t rank, const Words&) {
            ranks = std::max(ranks, rank + 1);
            return true;
        });
    }
    if (mistakes.empty() && ranks == 0) mistakes.add(0, "", "there is no action", actions_advice);
    if (!mistakes.empty()) return mistakes.take();

    ProgramBuilder builder(mistakes, files.front().file, limits);
    builder.set_ranks(ranks);
    TraceReader reader(mistakes, builder);
    for (const NamedText& file : files) {
        builder.set_file(file.file);
        visit_lines(file, limits, mistakes,
                    [&](std::uint32_t line, std::uint32_t rank, const Words& words) {
                        reader.read_line(line, rank, words);
                        return !builder.is_full();
                    });
    }
    auto programs = builder.finish();
    if (programs) return std::move(*programs);
    return mistakes.take();
}

}  // namespace headway
