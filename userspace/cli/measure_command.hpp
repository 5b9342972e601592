// SPDX-License-Identifier: Apache-2.0
// `headway measure`: what the network between some hosts is, by trying it.
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"

namespace headway {

struct MeasureOptions {
    std::vector<std::string> hosts;
    std::string launch;
    std::string program;
    std::string config;
    std::string from;
    std::string since;
    std::vector<std::string> write;
    std::string output;
    std::string max_bytes;
    std::uint32_t max_load_percent = 25;
    std::uint32_t patience_s = 30;
    std::uint32_t first_port = 0;
    bool network_only = false;
    bool forget = false;
    bool json = false;
    bool agent = false;
    bool call = false;
};

class MeasureCommand final : public Command {
public:
    explicit MeasureCommand(const CommandLine& line);
    [[nodiscard]] ExitStatus run() const override;

private:
    MeasureOptions options_;
};

}  // namespace headway
