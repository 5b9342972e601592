// SPDX-License-Identifier: Apache-2.0
// A quantity that cannot fall as another one grows, learnt from single observations of it.
//
// Source: isotonic regression by pooling adjacent violators (Barlow, Bartholomew, Bremner, Brunk,
// "Statistical Inference under Order Restrictions", 1972): of all non-decreasing step functions the
// one with the least squares of errors.
//
// Example: delays of 0, 4, 2 and 9 ms at 10, 20, 30 and 40 KiB.  4 and 2 are in the wrong order, so
// that both become 3: the curve is 0, 3, 3, 9, with straight lines between.  At 35 KiB it is 6 ms,
// at 5 KiB 0, and of 50 KiB it says nothing.
#pragma once

#include <optional>
#include <vector>

namespace headway {

class MonotoneCurve {
public:
    struct Point {
        double x = 0;
        double y = 0;
    };

    MonotoneCurve() = default;
    /// Takes observations in any order; several at the same place count by their mean.
    explicit MonotoneCurve(std::vector<Point> observations);

    /// Below all observations that of the least one; none: beyond all of them.
    [[nodiscard]] std::optional<double> at(double x) const;
    /// Beyond all observations that of the largest one; 0 without any.
    [[nodiscard]] double nearest(double x) const;

private:
    std::vector<Point> points_;  ///< ascending in x, not descending in y
};

}  // namespace headway
