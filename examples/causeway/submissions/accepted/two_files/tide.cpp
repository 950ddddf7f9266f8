#include "tide.h"
#include <algorithm>

Tide::Tide(const std::vector<int>& readings) {
    for (std::size_t i = 1; i < readings.size(); ++i) {
        const auto [low, high] = std::minmax(readings[i - 1], readings[i]);
        if (low == high) {
            bends.push_back({low, 1, 0});
        } else {
            bends.push_back({low, 0, 1.0 / (high - low)});
            bends.push_back({high, 0, -1.0 / (high - low)});
        }
    }
    const auto lower = [](const Bend& a, const Bend& b) { return a.height < b.height; };
    std::sort(bends.begin(), bends.end(), lower);
    jumps = slopes = offsets = {0};
    for (const auto& [height, jump, slope] : bends) {
        jumps.push_back(jumps.back() + jump);
        slopes.push_back(slopes.back() + slope);
        offsets.push_back(offsets.back() + slope * height);
    }
}

double Tide::minutes(int height) const {
    const auto above = [](int height, const Bend& bend) { return height < bend.height; };
    const auto count = std::upper_bound(bends.begin(), bends.end(), height, above) - bends.begin();
    return jumps[count] + slopes[count] * height - offsets[count];
}
