/* Writes endlessly. It reaches the output limit long before any other limit. */
#include <string.h>
#include <unistd.h>

int main(void) {
    char line[4096];
    memset(line, '1', sizeof line);
    while (write(1, line, sizeof line) > 0) {
    }
    return 0;
}
