/* Crashes before it has said a word. The interactor then sees the end of its input and says "wrong
 * answer", but this went first: run-time error, every time. */
#include <stdlib.h>

int main(void) {
    abort();
}
