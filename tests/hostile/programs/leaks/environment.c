/* ---
class = "leaks"
attempts = "find variables of the client's or the supervisor's environment, in its own and pid1's"
must = "the environment is empty; pid1's cannot be read"
held_by = "execve with what the request names; pid1 is not dumpable"
with = ["proc"]
control = "bare"
--- */
#include "hostile.h"

extern char **environ;

static void attack(void)
{
    char text[4096];
    if (environ[0] != NULL)
        escaped("%s", environ[0]);
    if (file_read("/proc/1/environ", text, sizeof text) > 0)
        escaped("pid1's: %s", text);
    if (file_read("/proc/1/cmdline", text, sizeof text) > 0 && strstr(text, "--") != NULL)
        escaped("pid1's command line: %s", text);
}
