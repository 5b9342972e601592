// SPDX-License-Identifier: Apache-2.0
#include "models/plogpt_rto.hpp"

#include <charconv>
#include <cmath>

namespace headway {

Result<PlogptRto> parse_plogpt_rto(std::string_view text) {
    PlogptRto rto;
    constexpr std::string_view random = "random:";
    if (text == "none") return rto;
    if (text == "chrono" || text == "all") {
        rto.policy = text == "all" ? PlogptRtoPolicy::all : PlogptRtoPolicy::chrono;
        return rto;
    }
    if (text.substr(0, random.size()) == random) {
        const char* end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data() + random.size(), end, rto.seed);
        rto.policy = PlogptRtoPolicy::random;
        if (error == std::errc{} && stop == end) return rto;
    }
    return failure("\"{}\" is none of none, chrono, random:SEED, all", text.substr(0, 40));
}

bool plogpt_fills_buffers(const PlogptTree& tree, unsigned height, double rate_bytes_per_s,
                          double message_bytes) {
    return tree.buffer_delay(height) * rate_bytes_per_s < message_bytes;
}

std::vector<unsigned> plogpt_rto_heights(const PlogptTree& tree, unsigned levels,
                                         double message_bytes) {
    std::vector<unsigned> heights;
    for (unsigned h = 1; h < levels; ++h) {
        const double rate = std::ldexp(tree.bandwidth(h), 1 - static_cast<int>(h));
        if (tree.has_switches(h, h + 1) && plogpt_fills_buffers(tree, h, rate, message_bytes)) {
            heights.push_back(h);
        }
    }
    return heights;
}

}  // namespace headway
