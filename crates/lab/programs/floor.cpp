// Measures the kernel's own time for the namespaces and attributes that are new in every run. It
// is not a sandbox: it sends no messages, sets no limits and reports no figures.
//
//     floor STEP SECONDS UID GID CPU...
//
// Three processes are pinned to each CPU, like the three runners of a slot: while one waits, the
// others use the CPU. Each process repeatedly starts an init process in its own memory (CLONE_VM).
// The init process sets up everything up to STEP and starts /bin/true. The program prints the
// nanoseconds per run, for all CPUs together.

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <grp.h>
#include <initializer_list>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum Step { TWO_PROCESSES, PID, USER, MOUNT, IPC, TMPFS, ATTRIBUTES, BOUNDING_SET };

constexpr int WORKERS_PER_CPU = 3;
constexpr int MAX_CPUS = 256;
// All securebits and their locks except KEEP_CAPS (capabilities(7)).
constexpr unsigned long SECUREBITS = 0xef;

int step;
int procfs;
unsigned uid, gid;
alignas(16) char init_stack[64 << 10], program_stack[64 << 10];

[[noreturn]] void fail(const char *what) {
    perror(what);
    _exit(1);
}

void need(long answer, const char *what) {
    if (answer < 0) fail(what);
}

double now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

void put(const char *path, const char *text) {
    int fd = openat(procfs, path, O_WRONLY | O_CLOEXEC);
    need(fd, path);
    need(write(fd, text, strlen(text)), path);
    close(fd);
}

void map_ids() {
    char line[64];
    snprintf(line, sizeof line, "%u %u 1", uid, uid);
    put("self/uid_map", line);
    snprintf(line, sizeof line, "%u %u 1", gid, gid);
    put("self/gid_map", line);
}

int program(void *) {
    if (step >= ATTRIBUTES) {
        setsid();
        const struct { int resource; rlimit limit; } limits[] = {
            {RLIMIT_NOFILE, {1024, 4096}},
            {RLIMIT_SIGPENDING, {4096, 4096}},
            {RLIMIT_MSGQUEUE, {819200, 819200}},
            {RLIMIT_MEMLOCK, {8 << 20, 8 << 20}},
        };
        for (auto &[resource, limit] : limits) {
            // The host's limit may be lower; the experiment measures only the call.
            syscall(SYS_prlimit64, 0, resource, &limit, nullptr);
        }
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    }
    char *arguments[] = {const_cast<char *>("/bin/true"), nullptr};
    char *environment[] = {nullptr};
    syscall(SYS_execve, arguments[0], arguments, environment);
    _exit(127);
}

int init(void *) {
    if (step >= USER) map_ids();
    if (step >= TMPFS)
        need(mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV,
                   "mode=1777,size=100%,nr_inodes=0"),
             "tmpfs");
    if (step >= BOUNDING_SET) {
        unsigned long capability = 0;
        while (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0) capability++;
    }
    if (step >= ATTRIBUTES) {
        prctl(PR_SET_SECUREBITS, SECUREBITS, 0, 0, 0);
        __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
        __user_cap_data_struct none[2] = {};
        syscall(SYS_capset, &header, none);
    }
    int child = clone(program, program_stack + sizeof program_stack,
                      CLONE_VM | CLONE_VFORK | SIGCHLD, nullptr);
    need(child, "clone the program");
    int status = 0;
    syscall(SYS_wait4, child, &status, __WALL, nullptr);
    syscall(SYS_exit_group, status == 0 ? 0 : 1);
    return 0;
}

void run() {
    int flags = CLONE_VM | SIGCHLD;
    if (step >= PID) flags |= CLONE_NEWPID;
    if (step >= USER) flags |= CLONE_NEWUSER;
    if (step >= MOUNT) flags |= CLONE_NEWNS;
    if (step >= IPC) flags |= CLONE_NEWIPC;
    // The previous program made this memory undumpable, so the id maps belong to root (proc(5)).
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    int child = clone(init, init_stack + sizeof init_stack, flags, nullptr);
    need(child, "clone init");
    int status = 0;
    syscall(SYS_wait4, child, &status, __WALL, nullptr);
    if (status != 0) {
        fprintf(stderr, "floor: a run of step %d ended with status %#x\n", step, status);
        _exit(1);
    }
}

void bind(const char *source, const char *to) {
    need(mount(source, to, nullptr, MS_BIND | MS_REC, nullptr), source);
}

// Creates namespaces and a root with a few mounts, like the sandbox's minimal world.
void settle() {
    if (geteuid() == 0) {
        need(setgroups(0, nullptr), "setgroups");
        need(setresgid(gid, gid, gid), "setresgid");
        need(setresuid(uid, uid, uid), "setresuid");
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    need(unshare(CLONE_NEWUSER | CLONE_NEWNS), "a user and a mount namespace");
    put("self/setgroups", "deny");
    map_ids();
    need(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), "private mounts");
    const char root[] = "/tmp";
    need(mount("tmpfs", root, "tmpfs", 0, "mode=755"), "the root");
    need(chdir(root), root);
    for (const char *directory : {"usr", "etc", "etc/alternatives", "tmp", "dev"})
        need(mkdir(directory, 0755), directory);
    bind("/usr", "usr");
    if (access("/etc/alternatives", F_OK) == 0) bind("/etc/alternatives", "etc/alternatives");
    if (access("/etc/ld.so.cache", F_OK) == 0) {
        close(open("etc/ld.so.cache", O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
        bind("/etc/ld.so.cache", "etc/ld.so.cache");
    }
    need(mount("tmpfs", "dev", "tmpfs", 0, "mode=755"), "dev");
    for (const char *path : {"/bin", "/lib", "/lib64"}) {
        char target[PATH_MAX];
        ssize_t length = readlink(path, target, sizeof target - 1);
        if (length >= 0) {
            target[length] = 0;
            need(symlink(target, path + 1), path);
        } else if (access(path, F_OK) == 0) {
            need(mkdir(path + 1, 0755), path);
            bind(path, path + 1);
        }
    }
    need(syscall(SYS_pivot_root, ".", "."), "pivot_root");
    need(umount2(".", MNT_DETACH), "let go of the old root");
    need(chdir("/"), "/");
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

int main(int count, char **words) {
    if (count < 6 || count > 5 + MAX_CPUS) {
        fprintf(stderr, "floor STEP SECONDS UID GID CPU...\n");
        return 2;
    }
    step = atoi(words[1]);
    double seconds = atof(words[2]);
    uid = unsigned(strtoul(words[3], nullptr, 10));
    gid = unsigned(strtoul(words[4], nullptr, 10));
    procfs = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    need(procfs, "/proc");
    int workers = (count - 5) * WORKERS_PER_CPU;
    auto runs = static_cast<long *>(mmap(nullptr, sizeof(long) * size_t(workers),
                                         PROT_READ | PROT_WRITE,
                                         MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    if (runs == MAP_FAILED) fail("shared memory");
    int ready[2], go[2];
    need(pipe2(ready, O_CLOEXEC), "a pipe");
    need(pipe2(go, O_CLOEXEC), "a pipe");
    for (int worker = 0; worker < workers; worker++) {
        int child = fork();
        need(child, "fork");
        if (child != 0) continue;
        close(go[1]);
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(unsigned(atoi(words[5 + worker / WORKERS_PER_CPU])), &one);
        need(sched_setaffinity(0, sizeof one, &one), "choose a CPU");
        settle();
        char byte = 0;
        need(write(ready[1], &byte, 1), "say that it is ready");
        close(ready[1]);
        // The end of the pipe is the signal to start.
        need(read(go[0], &byte, 1), "wait for the others");
        // Runs at the start are not counted, because the previous step is still being torn down.
        double begin = now() + seconds / 5;
        while (now() < begin) run();
        while (now() < begin + seconds) {
            run();
            runs[worker]++;
        }
        _exit(0);
    }
    close(ready[1]);
    for (int worker = 0; worker < workers; worker++) {
        char byte;
        if (read(ready[0], &byte, 1) != 1) return 1;
    }
    close(go[1]);
    bool well = true;
    for (int worker = 0; worker < workers; worker++) {
        int status;
        wait(&status);
        well &= status == 0;
    }
    long sum = 0;
    for (int worker = 0; worker < workers; worker++) sum += runs[worker];
    if (!well || sum == 0) return 1;
    printf("%.1f\n", seconds * 1e9 / double(sum));
    return 0;
}
