// SPDX-License-Identifier: Apache-2.0
#include "cli/svg_chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include <fmt/core.h>

#include "plan/prediction.hpp"

namespace headway {
namespace {

constexpr double chart_width = 860;
constexpr double chart_height = 460;
constexpr double plot_left = 80;
constexpr double plot_right = 650;   // the legend stands to the right of it
constexpr double plot_top = 46;
constexpr double plot_bottom = 400;
constexpr std::size_t ticks_wanted = 6;

// Colours that people with any colour vision tell apart (Okabe and Ito).
constexpr std::array<std::string_view, 8> colours{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                  "#56b4e9", "#e69f00", "#000000", "#b2a100"};

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '&': out += "&amp;"; break;
            case '"': out += "&quot;"; break;
            default: out += c;
        }
    }
    return out;
}

/// Where the values of an axis stand between its two ends, 0 .. 1.
class Scale {
public:
    Scale(const ChartAxis& axis, double least, double most) : axis_(axis) {
        if (is_log()) {
            low_ = std::floor(std::log10(least));
            high_ = std::max(std::ceil(std::log10(most)), low_ + 1);
            return;
        }
        low_ = std::min(0.0, least);
        high_ = most > low_ ? most : low_ + 1;
    }

    [[nodiscard]] double at(double value) const {
        return ((is_log() ? std::log10(value) : value) - low_) / (high_ - low_);
    }

    [[nodiscard]] std::vector<double> ticks() const {
        std::vector<double> found;
        const double step = is_log() ? std::max(1.0, std::ceil((high_ - low_) / ticks_wanted))
                                     : nice_step();
        for (double tick = std::ceil(low_ / step) * step; tick <= high_ * (1 + 1e-9);
             tick += step) {
            found.push_back(is_log() ? std::pow(10, tick) : tick);
        }
        return found;
    }

    [[nodiscard]] std::string text(double value) const {
        switch (axis_.unit) {
            case ChartAxis::Unit::bytes: return bytes_text(value);
            case ChartAxis::Unit::seconds: return value == 0 ? "0" : seconds_text(value);
            case ChartAxis::Unit::none: break;
        }
        return fmt::format("{:.6g}", value);
    }

private:
    [[nodiscard]] bool is_log() const {
        return axis_.scale == ChartAxis::Scale::logarithmic;
    }

    /// 1, 2 or 5 times a power of ten.
    [[nodiscard]] double nice_step() const {
        const double raw = (high_ - low_) / ticks_wanted;
        const double power = std::pow(10, std::floor(std::log10(raw)));
        for (const double factor : {1.0, 2.0, 5.0}) {
            if (factor * power >= raw) return factor * power;
        }
        return 10 * power;
    }

    ChartAxis axis_;
    double low_ = 0;
    double high_ = 1;
};

bool can_show(const ChartAxis& axis, double value) {
    return std::isfinite(value) && (axis.scale == ChartAxis::Scale::linear || value > 0);
}

struct Extent {
    double least = std::numeric_limits<double>::infinity();
    double most = -std::numeric_limits<double>::infinity();
    void add(double value) {
        least = std::min(least, value);
        most = std::max(most, value);
    }
};

class ChartDrawing {
public:
    explicit ChartDrawing(const Chart& chart) : chart_(chart) {
        for (const ChartSeries& one : chart.series) shown_.push_back({one.name, shown_points(one)});
    }

    std::string draw() {
        out_ = fmt::format(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<title>{}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
            chart_width, chart_height, escaped(chart_.title));
        text((plot_left + plot_right) / 2, 24, "middle", chart_.title, "font-size=\"15\"");
        if (x_.least > x_.most) {
            text((plot_left + plot_right) / 2, (plot_top + plot_bottom) / 2, "middle", "no points");
        } else {
            draw_plot(Scale(chart_.x, x_.least, x_.most), Scale(chart_.y, y_.least, y_.most));
        }
        return out_ + "</svg>\n";
    }

private:
    std::vector<ChartPoint> shown_points(const ChartSeries& one) {
        std::vector<ChartPoint> points;
        for (const ChartPoint& point : one.points) {
            if (!can_show(chart_.x, point.x) || !can_show(chart_.y, point.y) ||
                !can_show(chart_.y, point.y_high)) {
                continue;
            }
            points.push_back(point);
            x_.add(point.x);
            y_.add(point.y);
            y_.add(point.y_high);
        }
        return points;
    }

    void text(double x, double y, std::string_view anchor, std::string_view what,
              std::string_view more = "") {
        out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" {}>{}</text>\n", x, y,
                            anchor, more, escaped(what));
    }

    void line(double x1, double y1, double x2, double y2, std::string_view colour) {
        out_ += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" "
                            "stroke=\"{}\"/>\n", x1, y1, x2, y2, colour);
    }

    static double to_x(const Scale& x, double value) {
        return plot_left + x.at(value) * (plot_right - plot_left);
    }
    static double to_y(const Scale& y, double value) {
        return plot_bottom - y.at(value) * (plot_bottom - plot_top);
    }

    void draw_plot(const Scale& x, const Scale& y) {
        draw_axes(x, y);
        for (std::size_t i = 0; i < shown_.size(); ++i) {
            const std::string_view colour = colours[i % colours.size()];
            draw_range(x, y, shown_[i], colour);
            draw_series(x, y, shown_[i], colour);
            const double row = plot_top + 16 + 20 * static_cast<double>(i);
            line(plot_right + 14, row - 4, plot_right + 38, row - 4, colour);
            text(plot_right + 44, row, "start", shown_[i].name);
        }
    }

    void draw_axes(const Scale& x, const Scale& y) {
        for (const double tick : x.ticks()) {
            if (to_x(x, tick) > plot_right + 1) continue;
            line(to_x(x, tick), plot_top, to_x(x, tick), plot_bottom, "#dddddd");
            text(to_x(x, tick), plot_bottom + 18, "middle", x.text(tick));
        }
        for (const double tick : y.ticks()) {
            if (to_y(y, tick) < plot_top - 1) continue;
            line(plot_left, to_y(y, tick), plot_right, to_y(y, tick), "#dddddd");
            text(plot_left - 6, to_y(y, tick) + 4, "end", y.text(tick));
        }
        line(plot_left, plot_bottom, plot_right, plot_bottom, "#000000");
        line(plot_left, plot_top, plot_left, plot_bottom, "#000000");
        text((plot_left + plot_right) / 2, plot_bottom + 42, "middle", chart_.x.title);
        text(18, (plot_top + plot_bottom) / 2, "middle", chart_.y.title,
             fmt::format("transform=\"rotate(-90 18 {:.1f})\"", (plot_top + plot_bottom) / 2));
    }

    /// The band between the ends of a range; nothing where there is none.
    void draw_range(const Scale& x, const Scale& y, const ChartSeries& one,
                    std::string_view colour) {
        const bool is_range = std::any_of(one.points.begin(), one.points.end(),
                                          [](const ChartPoint& p) { return p.y_high > p.y; });
        if (!is_range) return;
        std::string corners;
        for (const ChartPoint& p : one.points) {
            corners += fmt::format("{:.1f},{:.1f} ", to_x(x, p.x), to_y(y, p.y_high));
        }
        for (auto p = one.points.rbegin(); p != one.points.rend(); ++p) {
            corners += fmt::format("{:.1f},{:.1f} ", to_x(x, p->x), to_y(y, p->y));
        }
        out_ += fmt::format("<polygon points=\"{}\" fill=\"{}\" fill-opacity=\"0.12\"/>\n", corners,
                            colour);
    }

    void draw_series(const Scale& x, const Scale& y, const ChartSeries& one,
                     std::string_view colour) {
        std::string points;
        for (const ChartPoint& p : one.points) {
            points += fmt::format("{:.1f},{:.1f} ", to_x(x, p.x), to_y(y, p.y));
        }
        out_ += fmt::format(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\"/>\n", points,
            colour);
        for (const ChartPoint& p : one.points) {
            out_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.4\" fill=\"{}\"/>\n",
                                to_x(x, p.x), to_y(y, p.y), colour);
        }
    }

    const Chart& chart_;
    std::vector<ChartSeries> shown_;
    Extent x_;
    Extent y_;
    std::string out_;
};

}  // namespace

std::string chart_svg(const Chart& chart) { return ChartDrawing(chart).draw(); }

}  // namespace headway
