/* Asks for every section, one after another: more questions than it has. The interactor says so and
 * goes, and the pipe breaks while this is writing or reading. Wrong answer, not a run-time error:
 * what it then does was not the first thing that went wrong. */
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
