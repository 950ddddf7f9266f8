/* ---
class = "leaks"
attempts = "see processes of the host: by numbers, by /proc, by priorities"
must = "there are pid1 and itself"
held_by = "PID namespace; procfs of it"
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
