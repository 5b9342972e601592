// SPDX-License-Identifier: Apache-2.0
// headway-eval: asks the models, for tests and for the reproduction of the papers; see
// headway-eval.1.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/command_line.hpp"
#include "base/progress.hpp"
#include "base/version.hpp"
#include "eval_lines.hpp"

namespace headway {
namespace {

/// Of those that have a size; pipes have none.
std::uint64_t total_bytes(const std::vector<std::string>& files) {
    std::uint64_t bytes = 0;
    for (const std::string& name : files) {
        std::error_code error;
        const auto size = std::filesystem::file_size(name, error);
        if (!error) bytes += size;
    }
    return bytes;
}

/// Answers the lines of the files, one after the other; of standard input without any.
ExitStatus answer(const std::vector<std::string>& files) {
    std::ios::sync_with_stdio(false);
    bool good = true;
    const SteadyClock clock;
    // answers on a terminal show by themselves how far it is
    Progress progress(std::cerr, clock, is_terminal_stderr() && isatty(STDOUT_FILENO) == 0,
                      "answering");
    const std::uint64_t all_bytes = total_bytes(files);
    std::uint64_t done_bytes = 0;
    const auto answered = [&](std::uint64_t bytes) {
        done_bytes += bytes;
        if (all_bytes > 0) progress.show(done_bytes, all_bytes);
    };
    if (files.empty()) good = eval_stream(std::cin, std::cout, answered);
    for (const std::string& name : files) {
        std::ifstream file(name, std::ios::binary);
        file.peek();  // a directory can be opened, but not read
        if (file.bad() || (file.fail() && !file.eof())) {
            progress.erase();
            fmt::print(stderr, "headway-eval: {}: cannot be read\n", name);
            good = false;
            continue;
        }
        good = eval_stream(file, std::cout, answered) && good;
    }
    progress.erase();
    if (!std::cout) {
        fmt::print(stderr, "headway-eval: cannot write the answers\n");
        good = false;
    }
    return good ? ExitStatus::ok : ExitStatus::failure;
}

int run(int argc, char** argv) {
    std::vector<std::string> files;
    const CommandLine line("headway-eval", "Answers questions to the models, a JSON line each.",
                           version);
    line.program().add_option("file", files, "files of lines (default: standard input)");
    if (const auto status = line.read({argv + 1, argv + argc})) return static_cast<int>(*status);
    return static_cast<int>(answer(files));
}

}  // namespace
}  // namespace headway

int main(int argc, char** argv) { return headway::run(argc, argv); }
