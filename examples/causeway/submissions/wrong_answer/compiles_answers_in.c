/* Searches for the answers while it is compiled, so that the assembler would include them in the
 * program. The compiler also runs in the sandbox. It sees only this file of the package and finds
 * no answers, so the program prints 0. Wrong answer. */
#include <stdio.h>

#define LOOK(path) __has_include(path)
#if LOOK("../../data/secret/01-level.ans")
#define FOUND "../../data/secret/01-level.ans"
#elif LOOK("../data/secret/01-level.ans")
#define FOUND "../data/secret/01-level.ans"
#elif LOOK("data/secret/01-level.ans")
#define FOUND "data/secret/01-level.ans"
#elif LOOK("/data/secret/01-level.ans")
#define FOUND "/data/secret/01-level.ans"
#elif LOOK("01-level.ans")
#define FOUND "01-level.ans"
#endif

#ifdef FOUND
__asm__("answer: .incbin \"" FOUND "\"\n.byte 0");
extern const char answer[];
#else
static const char answer[] = "0\n";
#endif

int main(void) {
    fputs(answer, stdout);
    return 0;
}
