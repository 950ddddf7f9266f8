// @EXPECTED_RESULTS@: WRONG-ANSWER, TIMELIMIT
//
// Closes its output without a word, and lives on for an hour. A judge that passes every byte on
// itself tells the interactor at once, and that says "wrong answer"; with one pipe from program to
// program nobody may notice, and the limit on real time decides. Either is a verdict; waiting for
// the hour is not.
#include <unistd.h>

int main() {
    close(1);
    sleep(3600);
}
