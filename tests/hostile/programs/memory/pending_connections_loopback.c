/* ---
class = "memory"
attempts = """\
leave thousands of unaccepted connections on a Unix socket of a run with a loopback interface"""
must = "a listening socket has at most 1,024 of them"
held_by = "the network namespace of the run (net.core.somaxconn)"
with = ["loopback"]
limits = { descriptors = 1800 }
profiles = ["default", "separate"]
--- */
#define TRIED 1600
/* Servers need this many. */
#define LEAST 512
#define MOST 1100
#include "pending_connections.c"
