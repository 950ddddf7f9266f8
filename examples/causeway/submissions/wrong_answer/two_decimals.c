/* Correct except for the output: it prints two decimals, but the error may be at most 10^-6. Wrong
 * answer. */
#include <stdio.h>

#define HIGHEST 10000

static double change[HIGHEST + 2], level[HIGHEST + 2], minutes[HIGHEST + 1];

int main(void) {
    int n, m, before = 0;
    if (scanf("%d %d", &n, &m) != 2)
        return 1;
    for (int i = 0; i < n; i++) {
        int height;
        if (scanf("%d", &height) != 1)
            return 1;
        if (i > 0 && height == before)
            level[height] += 1;
        if (i > 0 && height != before) {
            int low = height < before ? height : before, high = height < before ? before : height;
            change[low] += 1.0 / (high - low);
            change[high] -= 1.0 / (high - low);
        }
        before = height;
    }
    double sum = level[0], slope = change[0];
    for (int height = 0; height <= HIGHEST; height++) {
        minutes[height] = sum;
        sum += slope + level[height + 1];
        slope += change[height + 1];
    }
    for (int i = 0; i < m; i++) {
        int height;
        if (scanf("%d", &height) != 1)
            return 1;
        printf("%.2f\n", minutes[height]);
    }
    return 0;
}
