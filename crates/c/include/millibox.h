/* The C interface of millibox: runs programs in a sandbox that limits and measures them.
 *
 * Generated from crates/c by cbindgen; do not edit.
 *
 * A function that can fail returns NULL if it succeeded, and otherwise an error that the caller
 * frees with millibox_error_free. A function that fails sets its output handle to NULL. Functions
 * accept NULL for each handle: those that can fail report it, and the others do nothing.
 *
 * A handle must not be freed twice or used after it was freed. Times are in nanoseconds, sizes in
 * bytes. Strings end with NUL. No function blocks signals or changes signal handlers or the
 * environment; starting a sandbox and large numbers of runs can raise the soft limit on open files.
 *
 * Compatibility: the symbols have the version MILLIBOX_0. Functions and values of enumerations may
 * be added, so treat unknown values as a failure. Incompatible changes get a new soname.
 */

#ifndef MILLIBOX_H
#define MILLIBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__) || defined(__clang__)
#define MILLIBOX_MUST_USE __attribute__((warn_unused_result))
#endif
#ifndef MILLIBOX_MUST_USE
#define MILLIBOX_MUST_USE
#endif

/**
 * Removes a limit.
 */
#define MILLIBOX_UNLIMITED UINT64_MAX

/**
 * Restores the default of millibox_program_set_process_limit.
 */
#define MILLIBOX_DEFAULT_PROCESS_LIMIT UINT32_MAX

/**
 * The kind of an error.
 */
enum millibox_code
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * There is no error.
   */
  MILLIBOX_CODE_NONE = 0,
  /**
   * The caller has passed wrong values. The message lists all mistakes, one on each line.
   */
  MILLIBOX_CODE_INVALID = 1,
  /**
   * The supervisor cannot be found or cannot start.
   */
  MILLIBOX_CODE_START = 2,
  /**
   * The version of the supervisor differs from that of the library. Install both together.
   */
  MILLIBOX_CODE_VERSION = 3,
  /**
   * The sandbox failed. The error does not depend on the program.
   */
  MILLIBOX_CODE_SANDBOX = 4,
  /**
   * The sandbox was closed by this process.
   */
  MILLIBOX_CODE_CLOSED = 5,
  /**
   * The sandbox belongs to the process from which this process was forked.
   */
  MILLIBOX_CODE_FORKED = 6,
  /**
   * A system call of the library failed.
   */
  MILLIBOX_CODE_SYSTEM = 7,
  /**
   * The library has a bug. Please report the message.
   */
  MILLIBOX_CODE_PANIC = 8,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum millibox_code millibox_code;
#else
typedef uint32_t millibox_code;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * What limits and measures the programs.
 */
enum millibox_backend
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * The best available backend. Without cgroups, limits that need a cgroup are rejected.
   */
  MILLIBOX_BACKEND_AUTO = 0,
  /**
   * Version 2 cgroups.
   */
  MILLIBOX_BACKEND_CGROUP2 = 1,
  /**
   * Version 1 cgroups.
   */
  MILLIBOX_BACKEND_HYBRID = 2,
  /**
   * Resource limits of single processes, which are weaker.
   */
  MILLIBOX_BACKEND_RLIMIT = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum millibox_backend millibox_backend;
#else
typedef uint32_t millibox_backend;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * How a program ended. Later versions may add values.
 */
enum millibox_outcome
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * The program exited; see millibox_result_exit_code.
   */
  MILLIBOX_OUTCOME_EXITED = 0,
  /**
   * A signal killed the program; see millibox_result_signal.
   */
  MILLIBOX_OUTCOME_SIGNALED = 1,
  /**
   * The program reached its limit of real time.
   */
  MILLIBOX_OUTCOME_REAL_TIME_LIMIT = 2,
  /**
   * The program reached its limit of CPU time.
   */
  MILLIBOX_OUTCOME_CPU_TIME_LIMIT = 3,
  /**
   * The program reached its memory limit, and the kernel killed a process.
   */
  MILLIBOX_OUTCOME_MEMORY_LIMIT = 4,
  /**
   * The program wrote more output than allowed.
   */
  MILLIBOX_OUTCOME_OUTPUT_LIMIT = 5,
  /**
   * The caller cancelled the run.
   */
  MILLIBOX_OUTCOME_CANCELLED = 6,
  /**
   * The run was killed. No function of this interface causes this outcome.
   */
  MILLIBOX_OUTCOME_KILLED = 7,
  /**
   * The program could not be started because of an error in the request or in its world, for
   * example because it does not exist; see millibox_result_message.
   */
  MILLIBOX_OUTCOME_NOT_STARTED = 8,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum millibox_outcome millibox_outcome;
#else
typedef uint32_t millibox_outcome;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * The network of a program.
 */
enum millibox_network
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * No network.
   */
  MILLIBOX_NETWORK_NONE = 0,
  /**
   * A loopback interface of its own.
   */
  MILLIBOX_NETWORK_LOOPBACK = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum millibox_network millibox_network;
#else
typedef uint32_t millibox_network;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * The files with which a world begins.
 */
enum millibox_world_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Programs and libraries of the host, an empty /tmp, and what programs expect of a usual
   * machine in /dev, /etc, /proc and /sys. This is the default.
   */
  MILLIBOX_WORLD_KIND_STANDARD = 0,
  /**
   * Programs and libraries of the host, harmless devices, and an empty /tmp.
   */
  MILLIBOX_WORLD_KIND_MINIMAL = 1,
  /**
   * An empty root.
   */
  MILLIBOX_WORLD_KIND_EMPTY = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum millibox_world_kind millibox_world_kind;
#else
typedef uint32_t millibox_world_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Bytes that the caller frees.
 */
typedef struct millibox_buffer millibox_buffer;

/**
 * The reason why a function failed: a code, and a message for people.
 *
 * A function that can fail returns NULL if it succeeded, and otherwise an error that the caller
 * frees. A program that fails is not an error but a result.
 */
typedef struct millibox_error millibox_error;

/**
 * A temporary directory of the host for the files of programs, which the sandbox's unprivileged
 * user may read and write. Show it in a world with millibox_world_add_read_only or
 * millibox_world_add_read_write.
 *
 * Only one thread at a time may use it, and no thread while a program that can write to it runs.
 */
typedef struct millibox_files millibox_files;

/**
 * The options of a sandbox. The functions that set options do not check the values;
 * millibox_sandbox_new reports all mistakes together.
 */
typedef struct millibox_options millibox_options;

/**
 * An interpreter in a world, which is started once and copied for each run. A copy starts many
 * times faster. The supervisor starts the interpreter when a run first needs it.
 *
 * Any number of threads may use it at the same time.
 */
typedef struct millibox_prepared millibox_prepared;

/**
 * A program with its arguments, environment, streams and limits. It can be run any number of
 * times.
 *
 * Threads may run a program at the same time while no thread changes it. The functions that change
 * a program do not check the values; the start of the program reports all mistakes together.
 */
typedef struct millibox_program millibox_program;

/**
 * The result of a run: how the program ended, what it used and what it wrote. It does not change,
 * so any number of threads may read it.
 */
typedef struct millibox_result millibox_result;

/**
 * What a program sees: files, ids and network. Runs in equal worlds share their
 * preparation, so keep a world for many programs.
 *
 * Threads may use a world at the same time while no thread changes it. The functions that change a
 * world do not check the values; the start of a program reports all mistakes together.
 */
typedef struct millibox_world millibox_world;

/**
 * A run that was started. Freeing it ends the program.
 *
 * Any number of threads may use a run at the same time, for example one that waits and one that
 * polls. Only millibox_run_wait waits.
 */
typedef struct millibox_run millibox_run;

/**
 * A running sandbox, which serves any number of runs, several at a time. Starting one takes some
 * milliseconds, so keep it for many runs.
 *
 * Any number of threads may use a sandbox at the same time. After a fork(2), the child process
 * cannot use the sandbox of its parent: functions return MILLIBOX_CODE_FORKED, and freeing
 * the handle there does not end the sandbox. The child can start a sandbox of its own.
 */
typedef struct millibox_sandbox millibox_sandbox;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Returns the code of an error. NULL has the code MILLIBOX_CODE_NONE.
 */
millibox_code millibox_error_code(const millibox_error *error);

/**
 * Returns the error number of the failed system call (errno(3)), or 0 if none is known.
 */
int32_t millibox_error_errno(const millibox_error *error);

/**
 * Returns the message, in UTF-8, without a line break at its end. It lives as long as the error.
 * NULL has an empty message.
 */
const char *millibox_error_message(const millibox_error *error);

/**
 * Frees an error. NULL is allowed.
 */
void millibox_error_free(millibox_error *error);

/**
 * Returns the version of the library, such as "0.3.0". It is static.
 */
const char *millibox_version(void);

/**
 * Returns the version of the protocol between library and supervisor. The supervisor must have the
 * same version; millibox_sandbox_new checks it.
 */
uint32_t millibox_protocol_version(void);

/**
 * Creates options with default values. Free them with millibox_options_free.
 */
millibox_options *millibox_options_new(void);

/**
 * Frees options. NULL is allowed.
 */
void millibox_options_free(millibox_options *options);

/**
 * Sets the path of the executable millibox-supervisor. By default, the environment variable
 * MILLIBOX_SUPERVISOR names it. Otherwise it is looked up in the directory of the running program,
 * in ../libexec/millibox relative to that directory, and on PATH.
 */
void millibox_options_set_supervisor(millibox_options *options, const char *path);

/**
 * Sets the backend, a value of millibox_backend. The default is MILLIBOX_BACKEND_AUTO.
 */
void millibox_options_set_backend(millibox_options *options, uint32_t backend);

/**
 * Sets the number of programs that run at the same time, from 1 to 512. The default is one for
 * each CPU.
 */
void millibox_options_set_slots(millibox_options *options, size_t slots);

/**
 * Keeps each slot on one CPU, so that the times of programs vary less.
 */
void millibox_options_set_pin_slots(millibox_options *options, bool pin);

/**
 * Sets the parent of the sandbox's cgroups, an absolute path in UTF-8 within the hierarchy. By
 * default, the environment variable MILLIBOX_CGROUP_PARENT names it, and otherwise the supervisor
 * chooses it.
 */
void millibox_options_set_cgroup_parent(millibox_options *options, const char *path);

/**
 * Starts a sandbox. `options` may be NULL. The caller frees `*sandbox` with millibox_sandbox_free.
 *
 * Fails with MILLIBOX_CODE_START if the supervisor cannot be found or started, and with
 * MILLIBOX_CODE_VERSION if the version of the supervisor differs from that of the library.
 */
MILLIBOX_MUST_USE
millibox_error *millibox_sandbox_new(const millibox_options *options,
                                     millibox_sandbox **sandbox);

/**
 * Ends the sandbox with all programs in it, without waiting. Any thread may call this. Threads
 * that wait for a run receive MILLIBOX_CODE_CLOSED. The handle must still be freed.
 */
void millibox_sandbox_close(const millibox_sandbox *sandbox);

/**
 * Ends the sandbox with all programs in it, waits until they have ended, and frees it. No other
 * thread may be using it. Runs of the sandbox are freed separately, before or after it. NULL is
 * allowed.
 */
void millibox_sandbox_free(millibox_sandbox *sandbox);

/**
 * Returns the backend that limits and measures programs.
 */
millibox_backend millibox_sandbox_backend(const millibox_sandbox *sandbox);

/**
 * Returns the number of programs that can run at the same time.
 */
size_t millibox_sandbox_slots(const millibox_sandbox *sandbox);

/**
 * Returns what does not work fully on this machine, one sentence on each line, in UTF-8. The
 * string is empty if everything works. It lives as long as the sandbox.
 */
const char *millibox_sandbox_warnings(const millibox_sandbox *sandbox);

/**
 * Creates a world. `kind` is a value of millibox_world_kind. Free it with millibox_world_free.
 */
millibox_world *millibox_world_new(uint32_t kind);

/**
 * Frees a world. Programs and prepared interpreters that use the world keep it. NULL is allowed.
 */
void millibox_world_free(millibox_world *world);

/**
 * Shows a file or directory of the host at a path of the world, read-only. Both paths must be
 * absolute. The sandbox's unprivileged user must be able to reach the source.
 */
void millibox_world_add_read_only(millibox_world *world, const char *source, const char *at);

/**
 * Shows a file or directory of the host at a path of the world. The program may write wherever the
 * sandbox's unprivileged user may write. Both paths must be absolute.
 */
void millibox_world_add_read_write(millibox_world *world, const char *source, const char *at);

/**
 * Adds an empty writable file system in memory, new for each run, with at most `bytes` bytes.
 */
void millibox_world_add_tmpfs(millibox_world *world, const char *at, uint64_t bytes);

/**
 * Adds a symbolic link.
 */
void millibox_world_add_symlink(millibox_world *world, const char *target, const char *at);

/**
 * Sets the network, a value of millibox_network. The default is MILLIBOX_NETWORK_NONE.
 */
void millibox_world_set_network(millibox_world *world, uint32_t network);

/**
 * Sets the user and group id that the program sees.
 */
void millibox_world_set_ids(millibox_world *world, uint32_t uid, uint32_t gid);

/**
 * Sets the memory that /proc/meminfo states. It is no limit: also call
 * millibox_program_set_memory_limit.
 */
void millibox_world_set_stated_memory(millibox_world *world, uint64_t bytes);

/**
 * Prepares the Python interpreter at `path` inside the world, with imported modules. `modules` is
 * an array of names that ends with NULL, or NULL. The caller frees `*prepared` with
 * millibox_prepared_free. The interpreter starts with the environment of a new program.
 *
 * A program that uses it takes the arguments of python3: "-c" and code, "-m" and a module, a file,
 * or none for code from standard input.
 *
 * The function does not start the interpreter, so it does not report that `path` does not exist in
 * the world; millibox_result_cold_start_reason does.
 *
 * Fails with MILLIBOX_CODE_INVALID if libmillibox_ready.so is not installed, or an argument
 * is wrong.
 */
MILLIBOX_MUST_USE
millibox_error *millibox_prepared_python(const millibox_world *world,
                                         const char *path,
                                         const char *const *modules,
                                         millibox_prepared **prepared);

/**
 * Prepares a Python interpreter as millibox_prepared_python does, with more environment variables.
 * `environment` is an array of strings NAME=VALUE that ends with NULL, or NULL.
 *
 * A run has the environment of its program. If the program has other values of variables that
 * Python reads when it starts (PYTHON*, LC_*, LD_*, LANG, HOME), the copy executes the interpreter
 * anew, so set them here and with millibox_program_set_env.
 *
 * Fails with MILLIBOX_CODE_INVALID also if a string contains no =.
 */
MILLIBOX_MUST_USE
millibox_error *millibox_prepared_python_with_env(const millibox_world *world,
                                                  const char *path,
                                                  const char *const *modules,
                                                  const char *const *environment,
                                                  millibox_prepared **prepared);

/**
 * Frees a prepared interpreter. Programs that use the interpreter keep it. NULL is allowed.
 */
void millibox_prepared_free(millibox_prepared *prepared);

/**
 * Creates a program from its path inside the world. A name without a slash is looked up in
 * /usr/local/bin, /usr/bin and /bin of the world. Free it with millibox_program_free.
 *
 * The program sees the standard world, and its environment contains PATH, LANG and HOME. Its
 * standard input is empty, and the result contains its standard output and standard error, at most
 * 16 MiB together. It may run for 10 seconds and may have 512 processes and threads.
 *
 * Strings are bytes that end with NUL. Linux does not require UTF-8.
 */
millibox_program *millibox_program_new(const char *program);

/**
 * Frees a program. Runs that were started continue. NULL is allowed.
 */
void millibox_program_free(millibox_program *program);

/**
 * Adds an argument. The first argument, argv[0], is the program itself.
 */
void millibox_program_add_arg(millibox_program *program, const char *argument);

/**
 * Adds the arguments of an array that ends with NULL.
 */
void millibox_program_add_args(millibox_program *program, const char *const *arguments);

/**
 * Sets an environment variable. If `value` is NULL, removes it.
 */
void millibox_program_set_env(millibox_program *program, const char *name, const char *value);

/**
 * Sets the working directory inside the world. The default is /.
 */
void millibox_program_set_cwd(millibox_program *program, const char *directory);

/**
 * Sets what the program sees. Later changes of the world do not affect the program.
 */
void millibox_program_set_world(millibox_program *program, const millibox_world *world);

/**
 * Makes each run a copy of a prepared interpreter, in the world of the interpreter. If no copy can
 * be made, the program is executed instead, in the same world; millibox_result_is_prepared reports
 * whether a copy ran, and millibox_result_cold_start_reason why not.
 */
void millibox_program_set_prepared(millibox_program *program, const millibox_prepared *prepared);

/**
 * Sets the bytes that the program reads from standard input. The library copies them.
 */
void millibox_program_set_stdin(millibox_program *program, const void *data, size_t length);

/**
 * Uses a descriptor of the caller as standard input. The library duplicates it; all runs of the
 * program share the position in a file.
 */
void millibox_program_set_stdin_fd(millibox_program *program, int descriptor);

/**
 * Uses a descriptor of the caller as standard output, so that the result does not contain it. -1
 * discards the output. The library duplicates the descriptor, and closes the duplicate when the
 * program is freed or the function is called again; until then, readers of a pipe see no end.
 */
void millibox_program_set_stdout_fd(millibox_program *program, int descriptor);

/**
 * Uses a descriptor of the caller as standard error, as millibox_program_set_stdout_fd does.
 */
void millibox_program_set_stderr_fd(millibox_program *program, int descriptor);

/**
 * Limits the bytes of standard output and standard error in the result, both together.
 * The default is 16 MiB. A program that writes more is ended.
 */
void millibox_program_set_output_limit(millibox_program *program, uint64_t bytes);

/**
 * Limits the time from the start of the program to its end, in nanoseconds. The default is 10
 * seconds; MILLIBOX_UNLIMITED removes the limit.
 */
void millibox_program_set_real_time_limit_ns(millibox_program *program, uint64_t nanoseconds);

/**
 * Limits the CPU time of all the program's processes together, in nanoseconds. There is no limit
 * by default.
 */
void millibox_program_set_cpu_time_limit_ns(millibox_program *program, uint64_t nanoseconds);

/**
 * Limits the memory of all the program's processes together, in bytes. There is no limit by
 * default. With MILLIBOX_BACKEND_RLIMIT, the limit applies to the address space of each process.
 */
void millibox_program_set_memory_limit(millibox_program *program, uint64_t bytes);

/**
 * Limits the number of processes and threads at the same time. The default is 512, and
 * MILLIBOX_DEFAULT_PROCESS_LIMIT restores it.
 */
void millibox_program_set_process_limit(millibox_program *program, uint32_t processes);

/**
 * Limits the bytes of each file that the program writes. There is no limit by default.
 */
void millibox_program_set_file_size_limit(millibox_program *program, uint64_t bytes);

/**
 * Sets the soft and hard limit of a resource (setrlimit(2)) by its name, such as "NOFILE".
 */
void millibox_program_set_rlimit(millibox_program *program, const char *name, uint64_t value);

/**
 * Frees a result. NULL is allowed.
 */
void millibox_result_free(millibox_result *result);

/**
 * Returns how the program ended.
 */
millibox_outcome millibox_result_outcome(const millibox_result *result);

/**
 * Returns whether the program exited with status 0 and no output was lost.
 */
bool millibox_result_is_success(const millibox_result *result);

/**
 * Returns the exit status of the program, or -1 if it did not exit.
 */
int32_t millibox_result_exit_code(const millibox_result *result);

/**
 * Returns the signal that killed the program, or 0 if no signal did. Some limits end a program by
 * a signal.
 */
int32_t millibox_result_signal(const millibox_result *result);

/**
 * Returns the outcome as a sentence for people, in UTF-8, such as "exited with 1". It lives as
 * long as the result.
 */
const char *millibox_result_message(const millibox_result *result);

/**
 * Returns the time from the start of the program to its end, in nanoseconds.
 */
uint64_t millibox_result_real_time_ns(const millibox_result *result);

/**
 * Returns the CPU time of all processes in user mode, in nanoseconds.
 */
uint64_t millibox_result_user_time_ns(const millibox_result *result);

/**
 * Returns the CPU time of all processes in the kernel, in nanoseconds.
 */
uint64_t millibox_result_system_time_ns(const millibox_result *result);

/**
 * Returns the CPU time of all processes, in nanoseconds: the sum of user and system time.
 */
uint64_t millibox_result_cpu_time_ns(const millibox_result *result);

/**
 * Returns the peak memory of all processes together, in bytes. With MILLIBOX_BACKEND_RLIMIT, it is
 * the largest resident size of one process and must not decide a verdict.
 */
uint64_t millibox_result_peak_memory(const millibox_result *result);

/**
 * Returns the maximum number of processes and threads at the same time, or 0 if the backend cannot
 * measure it.
 */
uint32_t millibox_result_peak_processes(const millibox_result *result);

/**
 * Returns the backend that limited and measured the run.
 */
millibox_backend millibox_result_backend(const millibox_result *result);

/**
 * Returns whether the program was a copy of a prepared interpreter.
 */
bool millibox_result_is_prepared(const millibox_result *result);

/**
 * Returns the reason why a program with a prepared interpreter was executed instead of copied, in
 * UTF-8, such as "its template was not ready in time". It lives as long as the result. It is empty
 * for a copy, and for a program without a prepared interpreter.
 */
const char *millibox_result_cold_start_reason(const millibox_result *result);

/**
 * Returns whether the program wrote more output than its limit. The result then contains the
 * output up to the limit.
 */
bool millibox_result_is_truncated(const millibox_result *result);

/**
 * Returns the standard output of the program, and its length through `length`, which may be NULL.
 * The bytes do not end with NUL, and live as long as the result.
 */
const void *millibox_result_stdout(const millibox_result *result, size_t *length);

/**
 * Returns the standard error of the program, as millibox_result_stdout does.
 */
const void *millibox_result_stderr(const millibox_result *result, size_t *length);

/**
 * Runs a program to its end. The caller frees `*result` with millibox_result_free.
 *
 * A program that fails is a result. The error MILLIBOX_CODE_INVALID means that a value is
 * wrong, and other errors mean that the sandbox failed.
 */
MILLIBOX_MUST_USE
millibox_error *millibox_sandbox_run(const millibox_sandbox *sandbox,
                                     const millibox_program *program,
                                     millibox_result **result);

/**
 * Starts a program without waiting. Many runs may be outstanding; those that find no free slot
 * wait in a queue. The caller frees `*run` with millibox_run_free.
 *
 * The program may be changed or freed afterwards.
 */
MILLIBOX_MUST_USE
millibox_error *millibox_sandbox_start(const millibox_sandbox *sandbox,
                                       const millibox_program *program,
                                       millibox_run **run);

/**
 * Returns a descriptor for poll(2) and event loops. When it is readable, call millibox_run_poll,
 * which reads the available output. The descriptor belongs to the run and is closed with it: do
 * not read from it, and remove it from the event loop before you free the run.
 */
MILLIBOX_MUST_USE millibox_error *millibox_run_fd(const millibox_run *run, int *descriptor);

/**
 * Returns the result if the run has ended, and otherwise reads the available output and sets
 * `*result` to NULL. Does not wait. The caller frees `*result` with millibox_result_free; further
 * calls return the same result again.
 */
MILLIBOX_MUST_USE
millibox_error *millibox_run_poll(const millibox_run *run,
                                  millibox_result **result);

/**
 * Waits for the result for at most `timeout_ns` nanoseconds, or without a limit if it is
 * MILLIBOX_UNLIMITED. After the timeout, sets `*result` to NULL. The caller frees `*result` with
 * millibox_result_free; further calls return the same result again.
 */
MILLIBOX_MUST_USE
millibox_error *millibox_run_wait(const millibox_run *run,
                                  uint64_t timeout_ns,
                                  millibox_result **result);

/**
 * Ends the program. The outcome of the run is MILLIBOX_OUTCOME_CANCELLED, unless it has ended
 * already. Any thread may call this, also while another thread waits for the run.
 */
void millibox_run_cancel(const millibox_run *run);

/**
 * Frees a run. If it has not ended, ends the program. No other thread may be using the run.
 * Results remain valid. NULL is allowed.
 */
void millibox_run_free(millibox_run *run);

/**
 * Creates an empty directory below TMPDIR, or /tmp. The caller frees `*files` with
 * millibox_files_free.
 */
MILLIBOX_MUST_USE millibox_error *millibox_files_new(millibox_files **files);

/**
 * Removes the directory with everything in it, and frees the handle. NULL is allowed.
 *
 * The depth of the directories and the permissions that a program has set do not matter. Free the
 * runs of programs that can write to the directory first.
 */
void millibox_files_free(millibox_files *files);

/**
 * Returns the absolute path of the directory. It lives as long as the handle.
 */
const char *millibox_files_path(const millibox_files *files);

/**
 * Writes a file of the directory. `name` is a relative path, such as "file" or "a/b/file"; missing
 * directories are created, and the sandbox's user may write to them. An existing file is replaced.
 *
 * Fails with MILLIBOX_CODE_SYSTEM, for example if a component of the path is a link.
 */
MILLIBOX_MUST_USE
millibox_error *millibox_files_write(const millibox_files *files,
                                     const char *name,
                                     const void *data,
                                     size_t length,
                                     bool executable);

/**
 * Reads a regular file of the directory that has at most `max_bytes` bytes. `name` is a relative
 * path. No link is followed. The caller frees `*buffer` with millibox_buffer_free.
 *
 * Fails with MILLIBOX_CODE_SYSTEM; millibox_error_errno is ENOENT if the file does not exist,
 * EFBIG if it is too long, ELOOP for a link, and EINVAL for a directory or another special file.
 */
MILLIBOX_MUST_USE
millibox_error *millibox_files_read(const millibox_files *files,
                                    const char *name,
                                    size_t max_bytes,
                                    millibox_buffer **buffer);

/**
 * Returns the bytes, and their number through `length`, which may be NULL. They do not end with
 * NUL, and live as long as the buffer.
 */
const void *millibox_buffer_data(const millibox_buffer *buffer, size_t *length);

/**
 * Frees a buffer. NULL is allowed.
 */
void millibox_buffer_free(millibox_buffer *buffer);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* MILLIBOX_H */
