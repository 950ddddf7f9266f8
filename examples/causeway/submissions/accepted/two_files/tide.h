// Computes for how many minutes the tide was no higher than a given height.
#pragma once
#include <vector>

class Tide {
public:
    explicit Tide(const std::vector<int>& readings);
    double minutes(int height) const;

private:
    // A bend starts at a height and adds a number of minutes for each millimetre above it.
    struct Bend {
        int height;
        double jump, slope;
    };
    std::vector<Bend> bends;
    // Element n is the sum over the first n bends.
    std::vector<double> jumps, slopes, offsets;
};
