# ---
# class = "processes"
# attempts = "run the fork bomb of a shell: a function that pipes itself into itself"
# must = "the shell gives up or reaches its time or memory limit, and no process survives"
# held_by = "pids cgroup; RLIMIT_NPROC; limits on time and memory"
# expect = "cpu_time_limit or real_time_limit or memory_limit or exited 2"
# limits = { cpu = "1s", real = "3s" }
# ---
exec 2>/dev/null
bomb() { bomb | bomb & }
bomb
while :; do :; done
