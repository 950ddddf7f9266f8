/* Bytes that are no text, a zero byte, and commands for a terminal: to clear it, to give it a title,
 * to write from right to left. A validator must not stumble over them, and who shows its message
 * must not pass them on. Wrong answer. */
#include <stdio.h>

int main(void) {
    static const char bytes[] = "\xff\xfe\x00 \x1b[2J\x1b]0;accepted\x07 \xe2\x80\xae 42\r\n\xc3";
    fwrite(bytes, 1, sizeof bytes - 1, stdout);
    return 0;
}
