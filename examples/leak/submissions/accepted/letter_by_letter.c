/* Writes each byte separately and pauses after every tenth, so the interactor receives a line in
 * many parts. Accepted. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int send(const char *line) {
    const struct timespec moment = {0, 1000000};
    for (size_t i = 0; i < strlen(line); i++) {
        if (write(1, line + i, 1) != 1)
            return 0;
        if (i % 10 == 9)
            nanosleep(&moment, NULL);
    }
    return 1;
}

int main(void) {
    int n, q;
    char line[80];
    if (scanf("%d %d", &n, &q) != 2)
        return 1;
    int first = 1, last = n;
    while (first < last) {
        int middle = (first + last + 1) / 2;
        sprintf(line, "? %d\n", middle);
        if (!send(line) || scanf("%79s", line) != 1)
            return 1;
        if (line[0] == 'w')
            first = middle;
        else
            last = middle - 1;
    }
    sprintf(line, "! %d\n", first);
    return send(line) ? 0 : 1;
}
