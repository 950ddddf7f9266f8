/* ---
class = "leaks"
attempts = "see processes of the host: by number, in /proc, by priority"
must = "only pid1 and the program are visible"
held_by = "PID namespace, and a procfs of this namespace"
with = ["proc"]
control = "bare"
--- */
#include "hostile.h"

static void attack(void)
{
    for (int pid = 2; pid < 70000; pid++)
        if (pid != getpid() && (kill(pid, 0) == 0 || errno != ESRCH))
            escaped("process %d", pid);
    DIR *directory = opendir("/proc");
    if (directory == NULL)
        broken("/proc");
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        int pid = atoi(entry->d_name);
        if (pid > 1 && pid != getpid())
            escaped("/proc/%d", pid);
    }
}
