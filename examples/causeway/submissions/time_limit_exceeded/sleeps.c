/* Sleeps for an hour without using CPU time. The real-time limit ends it. */
#include <unistd.h>

int main(void) {
    sleep(3600);
    return 0;
}
