// SPDX-License-Identifier: Apache-2.0
// Line charts as self-contained SVG, for people who would rather look than read.
#pragma once

#include <string>
#include <vector>

namespace headway {

struct ChartPoint {
    double x = 0;
    double y = 0;
    double y_high = 0;  ///< upper end of a range; y where there is none
};

struct ChartSeries {
    std::string name;
    std::vector<ChartPoint> points;  ///< in the order of x
};

struct ChartAxis {
    enum class Scale { linear, logarithmic };
    enum class Unit { none, bytes, seconds };
    std::string title;
    Scale scale = Scale::linear;
    Unit unit = Unit::none;
};

struct Chart {
    std::string title;
    ChartAxis x;
    ChartAxis y;
    std::vector<ChartSeries> series;
};

/// Points that an axis cannot show (not finite; not positive on a logarithmic
/// axis) are left out.  A chart without any point says so.
[[nodiscard]] std::string chart_svg(const Chart& chart);

}  // namespace headway
