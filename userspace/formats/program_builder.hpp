// SPDX-License-Identifier: Apache-2.0
// PlogPT programs while a file is read: every operation keeps its line and tag,
// so that messages without a partner are told with their places.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "formats/file_mistakes.hpp"
#include "models/plogpt_program.hpp"

namespace headway {

/// The programs that PlogptListedPrograms::make() takes.
struct ProgramFile {
    std::vector<std::vector<PlogptOperation>> programs;
    std::uint64_t computations = 0;  ///< that the file has and PlogPT does not know: left out
};

struct ProgramLimits {
    std::uint32_t ranks = 65536;
    std::uint64_t operations = 1ULL << 24;
};

class ProgramBuilder {
public:
    static constexpr std::int64_t any_tag = -1;
    static constexpr std::int64_t collective_tag = -2;  ///< of no message of a program

    ProgramBuilder(FileMistakes& mistakes, std::string_view file, const ProgramLimits& limits)
        : mistakes_(mistakes), limits_(limits), files_{std::string(file)} {}

    /// Lines are those of this file from now on.
    void set_file(const std::string& file) {
        files_.push_back(file);
        mistakes_.set_file(file);
    }
    void set_ranks(std::uint32_t ranks) { programs_.resize(ranks); }
    [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(programs_.size()); }

    /// The operation's index.  Nothing, having told so, for a peer that does not
    /// exist and beyond the limit.
    std::optional<std::uint32_t> add(std::uint32_t line, std::uint32_t rank,
                                     PlogptOperationKind kind, std::uint64_t peer, double bytes,
                                     std::int64_t tag);
    void wait(std::uint32_t line, std::uint32_t rank, std::uint32_t operation);
    void wait(std::uint32_t line, std::uint32_t rank, std::optional<std::uint32_t> operation) {
        if (operation) wait(line, rank, *operation);
    }
    void skip_computation() { ++computations_; }
    [[nodiscard]] bool is_full() const { return is_full_ || mistakes_.full(); }

    /// The k-th Isend between two ranks belongs to the k-th Irecv: mistakes where
    /// there is none, or one with another tag.
    [[nodiscard]] std::optional<ProgramFile> finish();

private:
    struct Place {
        std::uint32_t file;
        std::uint32_t line;
        std::int64_t tag;
    };
    /// One end of a message.
    struct End {
        std::uint32_t source;
        std::uint32_t destination;
        Place place;
    };

    [[nodiscard]] Place place(std::uint32_t line, std::int64_t tag) const {
        return {static_cast<std::uint32_t>(files_.size()) - 1, line, tag};
    }
    void mistake(const Place& place, std::string_view key, std::string reason,
                 std::string_view advice);
    bool has_room(std::uint32_t line);
    [[nodiscard]] std::vector<End> ends(PlogptOperationKind kind) const;
    void check_pairs();

    FileMistakes& mistakes_;
    ProgramLimits limits_;
    std::vector<std::string> files_;
    std::vector<std::vector<PlogptOperation>> programs_;
    std::vector<std::vector<Place>> places_;
    std::uint64_t operations_ = 0;
    std::uint64_t computations_ = 0;
    bool is_full_ = false;
};

}  // namespace headway
