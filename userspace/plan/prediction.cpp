// SPDX-License-Identifier: Apache-2.0
#include "plan/prediction.hpp"

#include "plan/planner_measured.hpp"

namespace headway {
namespace {

/// Three digits, or all before the point if they are more.
std::string rounded(double number) {
    return number < 999.5 ? fmt::format("{:.3g}", number) : fmt::format("{:.0f}", number);
}

}  // namespace

std::string seconds_text(double seconds) {
    constexpr double minute = 60, hour = 3600;
    if (seconds >= 10 * hour) return rounded(seconds / hour) + " h";
    if (seconds >= 10 * minute) return rounded(seconds / minute) + " min";
    if (seconds >= 0.9995) return rounded(seconds) + " s";
    if (seconds >= 0.9995e-3) return rounded(seconds * 1e3) + " ms";
    return rounded(seconds * 1e6) + " us";
}

std::string bytes_text(double bytes) {
    constexpr double kib = 1024;
    std::string_view unit = "bytes";
    for (const std::string_view larger : {"KiB", "MiB", "GiB", "TiB", "PiB"}) {
        if (bytes < kib) break;
        bytes /= kib;
        unit = larger;
    }
    return bytes == 1 && unit == "bytes" ? "1 byte" : fmt::format("{} {}", rounded(bytes), unit);
}

Prediction predict(const ExchangeNetwork& network) {
    const auto [busy_s, busiest] = network.earliest_end();
    if (!busiest) return {.reason = "nothing is sent"};
    const FluidResult result = fluid_run(network.fluid);
    const double latency_s = network.latency_s();
    const double worst_s = result.worst_s(rto_s(*network.topology));
    Prediction prediction{result.time_s + latency_s, worst_s + latency_s, result.timeouts, "",
                          result.frame_loss, result.piled_up_bytes};

    const LinkFill& fill = network.fills[*busiest];
    const std::string share = fill.links == 1 ? "" : fmt::format(", with {:.2f} times their mean,", fill.worst);
    prediction.reason =
        fmt::format("the {}{} is busy for {}", network.name_of(*busiest), share, seconds_text(busy_s));
    std::optional<std::size_t> worst;  // the link that overflows by most
    const auto buffer_bytes = [&](std::size_t l) { return network.fluid.links[l].buffer_bytes; };
    const auto excess = [&](std::size_t l) { return result.links[l].peak_bytes - buffer_bytes(l); };
    for (std::size_t l = 0; l < result.links.size(); ++l) {
        if (result.links[l].overflows && (!worst || excess(l) > excess(*worst))) worst = l;
    }
    if (!worst) {
        prediction.reason += "; no buffer can overflow";
        return prediction;
    }
    prediction.reason +=
        fmt::format("; {} can pile up in front of the {}, whose buffer {}",
                    bytes_text(result.links[*worst].peak_bytes), network.name_of(*worst),
                    buffer_bytes(*worst) > 0
                        ? "is relied on for " + bytes_text(buffer_bytes(*worst))
                        : "is not known");
    return prediction;
}

}  // namespace headway
