// SPDX-License-Identifier: Apache-2.0
// `headway fit`: parameters of the models from measurements.
#pragma once

#include <optional>
#include <string>

#include "cli/command.hpp"

namespace headway {

struct FitOptions {
    std::string model;  ///< "contention", "manytoone", "plogpt"
    std::string file;   ///< CSV, or JSON if it begins with '{'
    // For CSV, which has measurements only:
    std::optional<double> processes;   ///< n; of a many-to-one the sources
    std::optional<double> startup_s;   ///< alpha, or C of every source
    std::optional<double> per_byte_s;  ///< beta, or t of every source
    std::optional<double> rate_bytes_per_s;  ///< of every path of a many-to-one
    std::optional<double> threshold_bytes;   ///< M; none: chosen
    std::string svg;                         ///< picture of measured against fitted
    bool json = false;
};

class FitCommand final : public Command {
public:
    explicit FitCommand(const CommandLine& line);
    [[nodiscard]] ExitStatus run() const override;

private:
    FitOptions options_;
};

}  // namespace headway
