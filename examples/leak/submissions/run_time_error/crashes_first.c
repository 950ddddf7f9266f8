/* Crashes before it has written anything. The interactor then sees the end of its input and
 * rejects, but the submission ended first: run-time error, every time. */
#include <stdlib.h>

int main(void) {
    abort();
}
