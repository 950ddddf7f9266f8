/* Closes its standard output and input after the last answer, runs for another tenth of a second
 * and exits with 0. This is allowed: accepted. A judge that mistakes the end of the output for the
 * end of the program would miss the exit status. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double share(int height, int low, int high) {
    return height >= high ? 1 : height <= low ? 0 : (double)(height - low) / (high - low);
}

int main(void) {
    static int readings[10000];
    /* Equal heights have equal answers, so each height is computed once. */
    static double known[10001];
    int n, m;
    if (scanf("%d %d", &n, &m) != 2)
        return 1;
    for (int i = 0; i < n; i++)
        if (scanf("%d", &readings[i]) != 1)
            return 1;
    for (int i = 0; i < m; i++) {
        int height;
        if (scanf("%d", &height) != 1)
            return 1;
        if (known[height] == 0)
            for (int j = 1; j < n; j++) {
                int a = readings[j - 1], b = readings[j];
                known[height] += share(height, a < b ? a : b, a < b ? b : a);
            }
        printf("%.9f\n", known[height]);
    }
    fclose(stdout);
    close(0);
    const struct timespec tenth = {0, 100000000};
    nanosleep(&tenth, NULL);
    return 0;
}
