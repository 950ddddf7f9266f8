/* Asks one question, closes its output before it hears the answer, and ends a little later with exit
 * status 0. Whether the interactor sees the end of its input when this closes it or when this ends,
 * it sees it without an answer: wrong answer. */
#include <stdio.h>
#include <time.h>

int main(void) {
    const struct timespec moment = {0, 50000000};
    printf("? 1\n");
    fclose(stdout);
    nanosleep(&moment, NULL);
    return 0;
}
