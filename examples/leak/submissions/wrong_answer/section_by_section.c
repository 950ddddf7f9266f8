/* Asks for every section in turn, which is more questions than it may ask. The interactor rejects
 * and exits, and the pipe breaks while the submission writes or reads. Wrong answer, not a run-time
 * error: the interactor ended first. */
#include <stdio.h>

int main(void) {
    int n, q;
    char answer[4];
    if (scanf("%d %d", &n, &q) != 2)
        return 1;
    int section = 0;
    do {
        if (++section > n)
            break;
        printf("? %d\n", section);
        fflush(stdout);
        if (scanf("%3s", answer) != 1)
            return 1;
    } while (answer[0] == 'w');
    printf("! %d\n", section - 1);
    return 0;
}
