// The tide: for how many minutes it was not higher than a height.
#pragma once
#include <vector>

class Tide {
public:
    explicit Tide(const std::vector<int>& readings);
    double minutes(int height) const;

private:
    // Each begins to count at a height: so many minutes for each millimetre above it.
    struct Bend {
        int height;
        double jump, slope;
    };
    std::vector<Bend> bends;
    // Sums of the first so many.
    std::vector<double> jumps, slopes, offsets;
};
