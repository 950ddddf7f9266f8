/* ---
class = "memory"
attempts = """\
fill kernel memory with mappings in several processes, where every second page has a different \
protection"""
must = "the memory limit ends the run"
held_by = "memory cgroup; RLIMIT_AS; 65530 mappings for each process"
limits = { memory = "24M" }
expect = "memory_limit or contained"
control = "limits"

[[except]]
when = ["rlimit"]
expect = "contained or escaped"
exception = "RLIMIT_AS does not count kernel memory"
--- */
#include "hostile.h"

static void attack(void)
{
    for (int i = 0; i < 6; i++) {
        pid_t pid = fork();
        if (pid < 0)
            return;
        if (pid == 0) {
            char *memory = mmap(NULL, 240 * MIB, PROT_READ,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (memory != MAP_FAILED)
                for (long at = 0; at < 30000; at++)
                    mprotect(memory + at * 8192, 4096, PROT_NONE);
            raise(SIGSTOP);
            _exit(0);
        }
        int status;
        must(waitpid(pid, &status, WUNTRACED));
        if (!WIFSTOPPED(status))
            return;
    }
    escaped("360000 mappings of about 200 bytes");
}
