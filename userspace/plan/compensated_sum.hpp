// SPDX-License-Identifier: Apache-2.0
// A sum of many doubles whose error does not grow with their number
// (Neumaier's variant of Kahan's summation).  Models subtract such a sum from a
// capacity that it nearly exhausts.
#pragma once

#include <cmath>

namespace headway {

class CompensatedSum {
public:
    void add(double term) {
        const double sum = sum_ + term;
        lost_ += std::abs(sum_) >= std::abs(term) ? (sum_ - sum) + term : (term - sum) + sum_;
        sum_ = sum;
    }
    [[nodiscard]] double value() const { return sum_ + lost_; }

private:
    double sum_ = 0;
    double lost_ = 0;
};

}  // namespace headway
