// SPDX-License-Identifier: Apache-2.0
#include "formats/program_file.hpp"

#include <filesystem>

#include "formats/goal_schedule.hpp"
#include "formats/simgrid_trace.hpp"

namespace headway {
namespace {

tl::unexpected<std::vector<FileError>> mistake(const std::string& file, std::string reason,
                                               std::string advice) {
    return tl::unexpected(
        std::vector<FileError>{{file, 0, "", std::move(reason), std::move(advice)}});
}

}  // namespace

FileResult<LoadedProgram> load_program(const std::vector<std::string>& files) {
    std::vector<std::string> texts;
    for (const std::string& name : files) {
        auto text = read_text_file(name, data_file_max_bytes);
        if (!text) return tl::unexpected(text.error());
        texts.push_back(std::move(*text));
    }
    const bool is_goal = std::filesystem::path(files.front()).extension() == ".goal";
    if (is_goal && files.size() > 1) {
        return mistake(files.front(), "it is not the only file", "a GOAL schedule is one file");
    }
    std::vector<NamedText> named;
    for (std::size_t i = 0; i < files.size(); ++i) named.push_back({files[i], texts[i]});
    const auto read = is_goal ? read_goal_schedule(texts.front(), files.front())
                              : read_simgrid_trace(named);
    if (!read) return tl::unexpected(read.error());
    auto programs = PlogptListedPrograms::make(read->programs);
    if (!programs) {
        return mistake(files.front(), programs.error().message, "every message needs both ends");
    }
    return LoadedProgram{std::move(*programs), read->computations};
}

}  // namespace headway
