/* ---
class = "memory"
attempts = "fill kernel memory with seccomp programs in many processes"
must = "the memory limit ends the run, or the kernel's bound on seccomp programs applies"
held_by = "memory cgroup; 32768 instructions for each process"
limits = { memory = "24M" }
expect = "memory_limit or contained"
--- */
#include "hostile.h"
#include <linux/filter.h>
#include <linux/seccomp.h>

static void attack(void)
{
    static struct sock_filter instructions[4096];
    for (int i = 0; i < 4096; i++)
        instructions[i] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = { 4096, instructions };
    long attached = 0;
    for (int i = 0; i < 12; i++) {
        int ends[2];
        must(pipe(ends));
        pid_t pid = must(fork());
        if (pid == 0) {
            long count = 0;
            while (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0)
                count++;
            if (write(ends[1], &count, sizeof count) < 0)
                _exit(0);
            for (;;)
                pause();
        }
        long count = 0;
        close(ends[1]);
        if (read(ends[0], &count, sizeof count) != sizeof count)
            return;
        attached += count;
    }
    if (attached > 12 * 8)
        escaped("%ld programs", attached);
}
