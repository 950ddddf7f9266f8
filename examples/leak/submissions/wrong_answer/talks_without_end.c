/* Writes one line that never ends, and reads nothing. An interactor that waits for the line's end, or
 * keeps all of it, is lost; this one says "wrong answer" after a few bytes and goes. */
#include <string.h>
#include <unistd.h>

int main(void) {
    char line[4096];
    memset(line, '?', sizeof line);
    while (write(1, line, sizeof line) > 0) {
    }
    return 0;
}
