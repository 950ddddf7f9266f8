/* ---
class = "leaks"
attempts = """\
find environment variables of the client or the supervisor, in its own environment and that of \
pid1"""
must = "its environment is empty, and that of pid1 cannot be read"
held_by = "execve passes only the environment of the request; pid1 is not dumpable"
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
