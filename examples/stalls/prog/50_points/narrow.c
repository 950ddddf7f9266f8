/* Adds with 32 bits, which overflow in group 3. Groups 1 and 2: 50 points. */
#include <stdint.h>
#include <stdio.h>

static uint32_t best[2501];

int main(void) {
    int n;
    if (scanf("%d", &n) != 1)
        return 1;
    for (int i = 1; i <= n; i++) {
        uint32_t pays;
        if (scanf("%u", &pays) != 1)
            return 1;
        uint32_t with = pays + (i > 1 ? best[i - 2] : 0);
        best[i] = with > best[i - 1] ? with : best[i - 1];
    }
    printf("%u\n", best[n]);
    for (int i = n; i > 0; i--)
        if (best[i] != best[i - 1])
            printf("%d ", i--);
    printf("\n");
    return 0;
}
