/* ---
class = "time"
attempts = """\
make one write signal thousands of owners, each a process group: asynchronous notification \
(O_ASYNC) of a FIFO that is open many times"""
must = """\
O_ASYNC, FIOASYNC and groups as owners are refused with EPERM; O_NONBLOCK and a process as owner \
work"""
held_by = "seccomp"
profiles = ["default", "separate"]
control = "seccomp"
--- */
#include "hostile.h"

static void attack(void)
{
    int ends[2], on = 1;
    struct { int type, id; } owner = { 2 /* F_OWNER_PGRP */, getpgrp() };
    must(pipe(ends));
    must(fcntl(ends[0], F_SETFL, O_NONBLOCK));
    must(ioctl(ends[0], FIONBIO, &on));
    must(fcntl(ends[0], F_SETOWN, getpid()));
    refused("F_SETFL with O_ASYNC", fcntl(ends[0], F_SETFL, O_ASYNC));
    refused("with O_NONBLOCK", fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK));
    refused("with an upper half", syscall(SYS_fcntl, ends[0], 0x100000000 | F_SETFL,
        0x100000000 | O_ASYNC));
    refused("FIOASYNC", ioctl(ends[0], FIOASYNC, &on));
    refused("F_SETOWN to a group", fcntl(ends[0], F_SETOWN, -getpgrp()));
    refused("with an upper half", syscall(SYS_fcntl, ends[0], F_SETOWN,
        (long)(uint32_t)-getpgrp()));
    refused("F_SETOWN_EX to a group", fcntl(ends[0], 15 /* F_SETOWN_EX */, &owner));
    if (fcntl(ends[0], F_GETFL) != (O_NONBLOCK | O_RDONLY))
        broken("flags");
}
