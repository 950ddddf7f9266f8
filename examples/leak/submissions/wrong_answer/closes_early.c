/* Asks one question, closes its output without reading the reply, and exits with 0 a little later.
 * The interactor sees the end of its input at the close or at the exit. In both cases it has
 * received no answer: wrong answer. */
#include <stdio.h>
#include <time.h>

int main(void) {
    const struct timespec moment = {0, 50000000};
    printf("? 1\n");
    fclose(stdout);
    nanosleep(&moment, NULL);
    return 0;
}
