/* Divides integers by the difference of two readings. The difference is 0 where the water level
 * does not change, and the kernel sends SIGFPE. Run-time error. */
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    int n, m, before = 0, sum = 0;
    if (scanf("%d %d", &n, &m) != 2)
        return 1;
    for (int i = 0; i < n; i++) {
        int height;
        if (scanf("%d", &height) != 1)
            return 1;
        if (i > 0)
            sum += 1000000 / abs(height - before);
        before = height;
    }
    printf("%d\n", sum);
    return 0;
}
