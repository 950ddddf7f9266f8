/* ---
class = "memory"
attempts = "use up the pseudo-terminals of the machine, and fill kernel memory with their buffers"
must = "a run has at most 16 pseudo-terminals"
held_by = "an option of the run's devpts"
with = ["standard", "pseudo_terminals"]
control = "bare"
--- */
#include "hostile.h"

static void attack(void)
{
    static char input[8192];
    int count = 0;
    for (; count <= 16; count++) {
        int terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK);
        if (terminal < 0)
            break;
        write(terminal, input, sizeof input);
    }
    if (count == 0)
        broken("there are no pseudo-terminals");
    if (count > 16)
        escaped("more than 16 pseudo-terminals");
}
