// @EXPECTED_RESULTS@: WRONG-ANSWER, TIMELIMIT
//
// Closes its output without writing and sleeps for an hour. A judge that relays every byte reports
// the end of the output at once, and the interactor rejects. With direct pipes, the interactor may
// not see the end, and the real-time limit decides. Both verdicts are correct, but the judge must
// not wait for an hour.
#include <unistd.h>

int main() {
    close(1);
    sleep(3600);
}
