/* The innocent program, which runs after each hostile program and on a fresh supervisor. It reports
 * everything that an earlier run could have left behind, one thing on each line. The test compares
 * the reports, so a line contains nothing that differs between two runs on a fresh supervisor.
 *
 * It takes the descriptor for the report as its argument. The other standard streams are then those
 * that a run has without streams of its own. Calls that the seccomp program refuses are reported
 * with their error. innocent.py calls report() as a library. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <mqueue.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define MAX_DESCRIPTORS 1024
#define KERNEL_SIGNALS 64
/* The command numbers of fcntl(2) that the C library does not name. */
#define GET_RW_HINT (1024 + 11)
/* Another running test may hold a lock on a device for a moment. */
#define LOCK_ATTEMPTS 2000

extern char **environ;

static char text[1 << 16];
static size_t length;

static void line(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int added = vsnprintf(text + length, sizeof text - length - 1, format, list);
    va_end(list);
    if (added > 0 && length + added < sizeof text - 1) {
        length += added;
        text[length++] = '\n';
    }
}

/* Reports the answer of a call, or its error. */
static void answer(const char *what, long answer)
{
    if (answer == -1 && errno != 0)
        line("%s: error %d", what, errno);
    else
        line("%s: %ld", what, answer);
}

#define ask(call) (errno = 0, answer(#call, call))

/* Reports whether another open file holds a lock on a file. */
static void locks(const char *name, int fd)
{
    int locked = -1;
    struct flock lock = { 0 };
    for (int i = 0; i < LOCK_ATTEMPTS; i++) {
        struct timespec pause = { 0, 10000000 };
        lock = (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET };
        locked = flock(fd, LOCK_EX | LOCK_NB);
        if (locked == 0)
            flock(fd, LOCK_UN);
        fcntl(fd, F_GETLK, &lock);
        if (locked == 0 && lock.l_type == F_UNLCK)
            break;
        nanosleep(&pause, NULL);
    }
    line("%s: flock %d, lock of type %d", name, locked, lock.l_type);
}

static void locks_of(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        line("%s: error %d", path, errno);
        return;
    }
    locks(path, fd);
    close(fd);
}

/* Reports the state of an open file, which may outlive the run. */
static void open_file(int fd)
{
    struct stat file;
    struct f_owner_ex owner = { 0 };
    uint64_t hint = 0;
    char name[32];
    if (fstat(fd, &file) < 0) {
        line("stream %d: error %d", fd, errno);
        return;
    }
    line("stream %d: mode %o, device %u:%u, size %ld", fd, file.st_mode, major(file.st_rdev),
        minor(file.st_rdev), (long)file.st_size);
    int has_owner = fcntl(fd, F_GETOWN_EX, &owner);
    int has_hint = fcntl(fd, GET_RW_HINT, &hint);
    snprintf(name, sizeof name, "stream %d", fd);
    line("%s: flags %o of the descriptor, %o of the file", name, fcntl(fd, F_GETFD),
        fcntl(fd, F_GETFL));
    line("%s: owner %d %d %d, signal %d, lease %d, hint %d %lu", name, has_owner, owner.type,
        owner.pid, fcntl(fd, F_GETSIG), fcntl(fd, F_GETLEASE), has_hint, (unsigned long)hint);
    line("%s: position %ld", name, (long)lseek(fd, 0, SEEK_CUR));
    locks(name, fd);
    struct statfs system;
    if (fstatfs(fd, &system) == 0)
        line("%s: mounted with %lx", name, (long)system.f_flags);
}

static void streams(int report)
{
    unsigned open_descriptors = 0;
    for (int fd = 0; fd < MAX_DESCRIPTORS; fd++)
        open_descriptors += fcntl(fd, F_GETFD) >= 0;
    line("descriptors: %u", open_descriptors);
    for (int fd = 0; fd < 3; fd++)
        if (fd != report)
            open_file(fd);
    locks_of("/dev/null");
    locks_of("/dev/zero");
}

static void signals(void)
{
    sigset_t pending, blocked;
    stack_t stack;
    sigpending(&pending);
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    for (int signal = 1; signal <= KERNEL_SIGNALS; signal++) {
        struct { void *handler; unsigned long flags; void *restorer; unsigned long mask; } action;
        long got = syscall(SYS_rt_sigaction, signal, NULL, &action, 8);
        int is_pending = sigismember(&pending, signal), is_blocked = sigismember(&blocked, signal);
        if (got == 0 && action.handler == SIG_DFL && is_pending < 1 && is_blocked < 1)
            continue;
        line("signal %d: %s, flags %lx, %d pending, %d blocked", signal,
            action.handler == SIG_DFL ? "default"
                : action.handler == SIG_IGN ? "ignored" : "handled",
            action.flags, is_pending, is_blocked);
    }
    sigaltstack(NULL, &stack);
    line("signal stack: %d", stack.ss_flags);
}

static void timers(void)
{
    struct itimerval timer;
    timer_t id;
    for (int which = 0; which < 3; which++) {
        memset(&timer, 0, sizeof timer);
        int got = getitimer(which, &timer);
        line("interval timer %d: %d %d", which, got,
            timer.it_value.tv_sec != 0 || timer.it_value.tv_usec != 0);
    }
    struct sigevent nothing = { .sigev_notify = SIGEV_NONE };
    if (timer_create(CLOCK_MONOTONIC, &nothing, &id) == 0) {
        line("first timer: %ld", (long)id);
        timer_delete(id);
    } else {
        line("first timer: error %d", errno);
    }
}

static void limits(void)
{
    for (int resource = 0; resource < RLIMIT_NLIMITS; resource++) {
        struct rlimit limit;
        if (getrlimit(resource, &limit) == 0)
            line("limit %d: %lu %lu", resource, (long)limit.rlim_cur, (long)limit.rlim_max);
    }
}

static void scheduling(void)
{
    struct { unsigned size, policy; unsigned long flags; int nice; unsigned priority;
        unsigned long times[3]; unsigned clamps[2]; } attributes = { 0 };
    cpu_set_t cpus;
    unsigned long nodes[16] = { 0 };
    int policy = -1;
    CPU_ZERO(&cpus);
    long got = syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0);
    line("scheduling: %ld, policy %u, flags %lx, nice %d, priority %u, times %lu %lu %lu,"
        " clamps %u %u", got, attributes.policy, attributes.flags, attributes.nice,
        attributes.priority, attributes.times[0], attributes.times[1], attributes.times[2],
        attributes.clamps[0], attributes.clamps[1]);
    ask(sched_getaffinity(0, sizeof cpus, &cpus));
    line("CPUs: %d", CPU_COUNT(&cpus));
    ask(getpriority(PRIO_PROCESS, 0));
    ask(getpriority(PRIO_PROCESS, 1));
    ask(getpriority(PRIO_USER, 0));
    ask(syscall(SYS_ioprio_get, 1, 0));
    ask(syscall(SYS_get_mempolicy, &policy, nodes, 1024, NULL, 0));
    line("memory policy: %d %lx", policy, nodes[0]);
}

static void attributes(void)
{
    struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
    struct __user_cap_data_struct data[2] = { 0 };
    char name[16] = "";
    int value = 0;
    long got = syscall(SYS_capget, &header, data);
    line("capabilities: %ld %x %x %x %x", got, data[0].effective, data[0].permitted,
        data[0].inheritable, data[1].effective);
    ask(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
    ask(prctl(PR_GET_KEEPCAPS, 0, 0, 0, 0));
    ask(prctl(PR_GET_SECUREBITS, 0, 0, 0, 0));
    ask(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
    ask(prctl(PR_GET_SECCOMP, 0, 0, 0, 0));
    ask(prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0));
    ask(prctl(PR_GET_TIMING, 0, 0, 0, 0));
    ask(prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0));
    ask(prctl(PR_GET_IO_FLUSHER, 0, 0, 0, 0));
    ask(prctl(PR_MCE_KILL_GET, 0, 0, 0, 0));
    ask(prctl(PR_GET_SPECULATION_CTRL, PR_SPEC_STORE_BYPASS, 0, 0, 0));
    ask(prctl(PR_GET_SPECULATION_CTRL, PR_SPEC_INDIRECT_BRANCH, 0, 0, 0));
    ask(prctl(66 /* PR_GET_MDWE */, 0, 0, 0, 0));
    ask(prctl(68 /* PR_GET_MEMORY_MERGE */, 0, 0, 0, 0));
    for (int capability = 0; capability < 41; capability++) {
        int ambient = prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, capability, 0, 0);
        int bounding = prctl(PR_CAPBSET_READ, capability, 0, 0, 0);
        if (ambient != 0 || bounding != 0)
            line("capability %d: ambient %d, bounding %d", capability, ambient, bounding);
    }
    prctl(PR_GET_PDEATHSIG, &value, 0, 0, 0);
    line("signal at the parent's death: %d", value);
    prctl(PR_GET_CHILD_SUBREAPER, &value, 0, 0, 0);
    line("subreaper: %d", value);
    prctl(PR_GET_TSC, &value, 0, 0, 0);
    line("time stamp counter: %d", value);
    prctl(PR_GET_NAME, name, 0, 0, 0);
    line("name: %s", name);
    ask(personality(0xffffffff));
    mode_t mask = umask(022);
    line("umask: %o", mask);
    umask(mask);
    line("processes: %d %d %d %d", getpid(), getppid(), getpgid(0), getsid(0));
    line("ids: %d %d %d %d, %d groups", getuid(), geteuid(), getgid(), getegid(),
        getgroups(0, NULL));
    char directory[4096] = "";
    line("directory: %s", getcwd(directory, sizeof directory) ? directory : "none");
    struct utsname names;
    uname(&names);
    line("names: %s %s", names.nodename, names.domainname);
    int variables = 0;
    while (environ && environ[variables])
        variables++;
    line("variables: %d", variables);
    ask(syscall(SYS_membarrier, 0, 0, 0));
}

/* Reports the keyrings. Their numbers are arbitrary, so it counts the keys in them. */
static void keys(void)
{
    for (int keyring = -8; keyring < 0; keyring++) {
        int numbers[256];
        long got = syscall(SYS_keyctl, 11 /* KEYCTL_READ */, keyring, numbers, sizeof numbers);
        line("keyring %d: %ld, error %d", keyring, got, got < 0 ? errno : 0);
    }
}

static void ipc(void)
{
    struct shm_info segments = { 0 };
    struct msginfo messages = { 0 };
    struct seminfo semaphores = { 0 };
    ask(shmctl(0, SHM_INFO, (struct shmid_ds *)&segments));
    ask(msgctl(0, MSG_INFO, (struct msqid_ds *)&messages));
    ask(semctl(0, 0, SEM_INFO, &semaphores));
    line("segments: %d %lu; queues: %d %d %d; semaphores: %d %d", segments.used_ids,
        segments.shm_tot, messages.msgpool, messages.msgmap, messages.msgtql, semaphores.semusz,
        semaphores.semaem);
    /* The first id shows whether the namespace was used before. */
    int segment = shmget(IPC_PRIVATE, 4096, 0600), error = segment < 0 ? errno : 0;
    line("first segment: %d, error %d", segment, error);
    if (segment >= 0)
        shmctl(segment, IPC_RMID, NULL);
    const char *const names[] = { "/innocent", "/left", "/hostile", "/millibox" };
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        errno = 0;
        mqd_t queue = mq_open(names[i], O_RDONLY);
        line("queue %s: %d, error %d", names[i], queue >= 0, errno);
        if (queue >= 0)
            mq_close(queue);
    }
}

/* Counts the sockets of the network namespace with NETLINK_SOCK_DIAG (sock_diag(7)). */
static void network(void)
{
    struct ifreq request = { 0 };
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        line("internet socket: error %d", errno);
    } else {
        strcpy(request.ifr_name, "lo");
        int got = ioctl(fd, SIOCGIFFLAGS, &request);
        line("loopback interface: %d, flags %x", got, got < 0 ? errno : request.ifr_flags);
        struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(4242) };
        got = bind(fd, (struct sockaddr *)&any, sizeof any);
        line("port: %d, error %d", got, got < 0 ? errno : 0);
        close(fd);
    }
    struct {
        struct { unsigned length; unsigned short type, flags; unsigned sequence, port; } header;
        unsigned char family, protocol; unsigned short padding; unsigned states, inode, show;
        unsigned cookie[2];
    } query = {
        { sizeof query, 20 /* SOCK_DIAG_BY_FAMILY */, 0x301 /* request, dump */, 1, 0 },
        AF_UNIX, 0, 0, ~0u, 0, 1 /* UDIAG_SHOW_NAME */, { 0 } };
    fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 4 /* NETLINK_SOCK_DIAG */);
    if (fd < 0) {
        line("socket diagnosis: error %d", errno);
        return;
    }
    static char reply[1 << 15];
    struct timeval patience = { 1, 0 };
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    long sent = send(fd, &query, sizeof query, 0);
    long got = sent < 0 ? -1 : recv(fd, reply, sizeof reply, 0);
    line("socket diagnosis: %ld bytes, error %d", got, got < 0 ? errno : 0);
    close(fd);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Reports the entries of a directory, without those of mounted directories of the caller. */
static void directory(const char *path)
{
    char *names[256];
    unsigned count = 0;
    DIR *directory = opendir(path);
    struct statfs system;
    if (!directory) {
        line("%s: error %d", path, errno);
        return;
    }
    for (struct dirent *entry; count < 256 && (entry = readdir(directory));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            names[count++] = strdup(entry->d_name);
    closedir(directory);
    qsort(names, count, sizeof *names, by_name);
    line("%s: %u entries", path, count);
    for (unsigned i = 0; i < count; i++) {
        char full[512];
        struct stat file;
        snprintf(full, sizeof full, "%s/%s", strcmp(path, "/") == 0 ? "" : path, names[i]);
        if (lstat(full, &file) == 0)
            line("%s: mode %o, device %u:%u", full, file.st_mode, major(file.st_rdev),
                minor(file.st_rdev));
        free(names[i]);
    }
    if (strcmp(path, "/tmp") == 0 && statfs(path, &system) == 0)
        line("%s: blocks %ld %ld, inodes %ld %ld, flags %lx", path, (long)system.f_blocks,
            (long)system.f_bfree, (long)system.f_files, (long)system.f_ffree, (long)system.f_flags);
}

/* Reports whether the memory that the kernel gives to this process is empty. */
static void memory(void)
{
    const size_t size = 1 << 20;
    long *words = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    long used = 0;
    if (words == MAP_FAILED) {
        line("memory: error %d", errno);
        return;
    }
    for (size_t i = 0; i < size / sizeof *words; i++)
        used |= words[i]++;
    line("memory: %ld", used);
    munmap(words, size);
}

/* Reports the exit status of a child. */
static void child(void)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0)
        _exit(7);
    if (pid < 0) {
        line("child: error %d", errno);
        return;
    }
    long got = syscall(SYS_wait4, pid, &status, 0, NULL);
    line("child: %d, %d, status %x", pid, got == pid, status);
}

int report(int fd)
{
    streams(fd);
    signals();
    timers();
    limits();
    scheduling();
    attributes();
    keys();
    ipc();
    network();
    const char *const paths[] = { "/", "/tmp", "/dev", "/dev/shm" };
    for (unsigned i = 0; i < sizeof paths / sizeof *paths; i++)
        directory(paths[i]);
    memory();
    child();
    for (size_t at = 0; at < length;) {
        ssize_t written = write(fd, text + at, length - at);
        if (written <= 0)
            return 3;
        at += written;
    }
    return 0;
}

int main(int count, char **arguments)
{
    return report(count > 1 ? atoi(arguments[1]) : 1);
}
