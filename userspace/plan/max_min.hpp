// SPDX-License-Identifier: Apache-2.0
// Max-min fair rates: the one solver under congestion.hpp and fluid.hpp.
//
// The words are those of SimGrid's solver of linear max-min systems: a constraint
// has a capacity, a variable is a rate with a bound, and an element says that a
// variable uses a constraint `weight` times.
//
// All rates grow together from 0 (progressive filling).  A variable stops at its
// bound, and when a constraint is full that it uses, or whose reverse it uses:
// Zhu et al. found that both directions of a cable are divided alike.
//
// A constraint whose growing users weigh `growing`, and whose other users have
// stopped at `stopped` in all, is full at the level
//     (capacity - stopped) / growing
// which rises when one of its users is stopped by another constraint.  So a heap
// of these levels, corrected when an entry comes to its top, gives the
// constraints in the order in which they fill.  n elements take O(n log n) time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace headway {

class MaxMinSystem {
public:
    using Id = std::uint32_t;
    static constexpr Id none = UINT32_MAX;

    struct Element {
        Id constraint = 0;
        double weight = 1;  ///< positive
    };

    /// Constraints are numbered as they come.  Capacities are positive, and may be infinite;
    /// `reverse` is the number of the cable's other direction, which may come later.
    void add_constraint(double capacity, Id reverse = none) { constraints_.push_back({capacity, reverse}); }
    /// The bound is positive, and may be infinite.
    void add_variable(double bound, std::span<const Element> elements) {
        bounds_.push_back(bound);
        elements_.insert(elements_.end(), elements.begin(), elements.end());
        ends_.push_back(elements_.size());
    }

    /// The variables' rates in their order; infinite, where nothing holds one back.
    [[nodiscard]] std::vector<double> solve() const;

private:
    struct Constraint {
        double capacity;
        Id reverse;
    };
    class Filling;

    std::vector<Constraint> constraints_;
    std::vector<double> bounds_;     ///< by variable
    std::vector<Element> elements_;  ///< of one variable after the other
    std::vector<std::size_t> ends_;  ///< by variable, among the elements
};

}  // namespace headway
