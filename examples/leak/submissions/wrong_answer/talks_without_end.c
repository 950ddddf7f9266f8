/* Writes one endless line and reads nothing. An interactor that waits for the end of the line or
 * stores all of it would fail. This interactor rejects after a few bytes and exits. */
#include <string.h>
#include <unistd.h>

int main(void) {
    char line[4096];
    memset(line, '?', sizeof line);
    while (write(1, line, sizeof line) > 0) {
    }
    return 0;
}
