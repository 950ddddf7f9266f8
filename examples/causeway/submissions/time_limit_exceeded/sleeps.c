/* Sleeps for an hour. It needs no CPU time at all: the limit on real time ends it. */
#include <unistd.h>

int main(void) {
    sleep(3600);
    return 0;
}
