/* Prints bytes that are not text, a NUL byte, and terminal control sequences: clear the screen, set
 * the title, write from right to left. They must not confuse the validator, and a judge that shows
 * the validator's message must not pass them on. Wrong answer. */
#include <stdio.h>

int main(void) {
    static const char bytes[] = "\xff\xfe\x00 \x1b[2J\x1b]0;accepted\x07 \xe2\x80\xae 42\r\n\xc3";
    fwrite(bytes, 1, sizeof bytes - 1, stdout);
    return 0;
}
