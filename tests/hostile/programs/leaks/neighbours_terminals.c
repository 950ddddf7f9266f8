/* ---
class = "leaks"
attempts = "reach the pseudo-terminals of a concurrent run by name and by number"
must = "the two runs share no pseudo-terminal"
held_by = "a devpts for each run"
with = ["standard", "pseudo_terminals"]
pair = "beside"
control = "together"
--- */
#define PAIR
#include "hostile.h"

static void plant(void)
{
    for (int i = 0; i < 3; i++)
        must(open("/dev/ptmx", O_RDWR | O_NOCTTY));
    stay();
}

static void look(void)
{
    char path[40];
    for (int i = 0; i < 16; i++) {
        snprintf(path, sizeof path, "/dev/pts/%d", i);
        struct stat found;
        if (stat(path, &found) == 0)
            escaped("there is %s", path);
    }
}
