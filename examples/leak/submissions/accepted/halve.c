/* The same algorithm as halve.cpp. */
#include <stdio.h>

int main(void) {
    int n, q;
    if (scanf("%d %d", &n, &q) != 2)
        return 1;
    int first = 1, last = n;
    while (first < last) {
        int middle = (first + last + 1) / 2;
        char answer[4];
        printf("? %d\n", middle);
        fflush(stdout);
        if (scanf("%3s", answer) != 1)
            return 1;
        if (answer[0] == 'w')
            first = middle;
        else
            last = middle - 1;
    }
    printf("! %d\n", first);
    return 0;
}
