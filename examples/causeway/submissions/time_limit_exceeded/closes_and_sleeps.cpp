// Prints some numbers, closes its standard output, input and error, and lives on for an hour. Who
// takes the end of the output for the end of the program judges something that still runs: it must
// be ended at the real-time limit, and that is the verdict.
#include <cstdio>
#include <unistd.h>

int main() {
    std::puts("0.0");
    std::fflush(stdout);
    for (int fd = 0; fd < 3; ++fd)
        close(fd);
    sleep(3600);
}
