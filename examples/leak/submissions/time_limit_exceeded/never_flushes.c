/* Asks a question that stays in its own buffer. It waits for the reply, and the interactor waits
 * for the question. This deadlock is the submission's fault. The real-time limit ends it. */
#include <stdio.h>

int main(void) {
    static char buffer[1 << 16];
    char answer[4];
    int n, q;
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    if (scanf("%d %d", &n, &q) != 2)
        return 1;
    printf("? 1\n");
    if (scanf("%3s", answer) != 1)
        return 1;
    printf("! 1\n");
    return 0;
}
