/* ---
class = "leaks"
attempts = "learn the names of its cgroups on the host"
must = "every hierarchy shows /"
held_by = "cgroup namespace"
with = ["proc"]
control = "bare"
--- */
#include "hostile.h"

static void attack(void)
{
    char text[8192];
    must(file_read("/proc/self/cgroup", text, sizeof text));
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        const char *path = strrchr(line, ':');
        if (path == NULL || strcmp(path, ":/") != 0)
            escaped("%s", line);
    }
    /* A plain process in the root cgroups also sees /, but it can signal other processes. */
    if (kill(host_pid, 0) == 0)
        escaped("no namespace");
}
