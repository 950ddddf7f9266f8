// Prints some numbers, closes its standard output, input and error, and sleeps for an hour. A judge
// that mistakes the end of the output for the end of the program would judge a program that is
// still running. The real-time limit must end the program and decide the verdict.
#include <cstdio>
#include <unistd.h>

int main() {
    std::puts("0.0");
    std::fflush(stdout);
    for (int fd = 0; fd < 3; ++fd)
        close(fd);
    sleep(3600);
}
