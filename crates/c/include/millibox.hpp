/* The C++20 interface of millibox: RAII and results like std::expected, on top of millibox.h.
 *
 * Functions that can fail return millibox::expected, which is std::expected where the standard
 * library has it (C++23). They throw only std::bad_alloc, and std::invalid_argument for a string
 * with a NUL byte. An error means that the sandbox failed or that a value is wrong; a program that
 * fails is a result. error().message() states the reason; the exception of std::expected::value()
 * does not. Objects can be moved, not copied. Threads and fork(2): see millibox.h.
 */

#ifndef MILLIBOX_HPP
#define MILLIBOX_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <version>
#if defined(__cpp_lib_expected)
#include <expected>
#endif

#include "millibox.h"

namespace millibox {

namespace detail {

template <auto Free>
struct deleter {
    template <class T>
    void operator()(T *handle) const noexcept {
        Free(handle);
    }
};

template <class T, auto Free>
using handle = std::unique_ptr<T, deleter<Free>>;

/* C would read only the part before a NUL byte. */
inline void require_no_nul(std::string_view text) {
    if (text.find('\0') != std::string_view::npos)
        throw std::invalid_argument("millibox: a string contains a NUL byte");
}

/* A string for C. */
inline std::string c_string(std::string_view text) {
    require_no_nul(text);
    return std::string(text);
}

inline std::uint64_t count(std::chrono::nanoseconds time) {
    return time.count() < 0 ? 0 : static_cast<std::uint64_t>(time.count());
}

}  // namespace detail

/* The kind of an error. */
enum class code : std::uint32_t {
    none = MILLIBOX_CODE_NONE,
    invalid = MILLIBOX_CODE_INVALID,
    start = MILLIBOX_CODE_START,
    version = MILLIBOX_CODE_VERSION,
    sandbox = MILLIBOX_CODE_SANDBOX,
    closed = MILLIBOX_CODE_CLOSED,
    forked = MILLIBOX_CODE_FORKED,
    system = MILLIBOX_CODE_SYSTEM,
    panic = MILLIBOX_CODE_PANIC,
};

enum class backend : std::uint32_t {
    automatic = MILLIBOX_BACKEND_AUTO,
    cgroup2 = MILLIBOX_BACKEND_CGROUP2,
    hybrid = MILLIBOX_BACKEND_HYBRID,
    rlimit = MILLIBOX_BACKEND_RLIMIT,
};

/* How a program ended. Later versions may add values. */
enum class outcome : std::uint32_t {
    exited = MILLIBOX_OUTCOME_EXITED,
    signaled = MILLIBOX_OUTCOME_SIGNALED,
    real_time_limit = MILLIBOX_OUTCOME_REAL_TIME_LIMIT,
    cpu_time_limit = MILLIBOX_OUTCOME_CPU_TIME_LIMIT,
    memory_limit = MILLIBOX_OUTCOME_MEMORY_LIMIT,
    output_limit = MILLIBOX_OUTCOME_OUTPUT_LIMIT,
    cancelled = MILLIBOX_OUTCOME_CANCELLED,
    killed = MILLIBOX_OUTCOME_KILLED,
    not_started = MILLIBOX_OUTCOME_NOT_STARTED,
};

enum class world_kind : std::uint32_t {
    standard = MILLIBOX_WORLD_KIND_STANDARD,
    minimal = MILLIBOX_WORLD_KIND_MINIMAL,
    empty = MILLIBOX_WORLD_KIND_EMPTY,
};

enum class network : std::uint32_t {
    none = MILLIBOX_NETWORK_NONE,
    loopback = MILLIBOX_NETWORK_LOOPBACK,
};

/* The reason why a function failed. */
class error {
  public:
    explicit error(millibox_error *taken) : handle_(taken) {}

    millibox::code code() const { return static_cast<millibox::code>(millibox_error_code(get())); }
    /* The error number of the failed system call, or 0. */
    int system_errno() const { return millibox_error_errno(get()); }
    std::string message() const { return millibox_error_message(get()); }

  private:
    const millibox_error *get() const { return handle_.get(); }

    detail::handle<millibox_error, millibox_error_free> handle_;
};

#if defined(__cpp_lib_expected)

template <class T>
using expected = std::expected<T, error>;
using unexpected = std::unexpected<error>;

#else

/* The part of std::unexpected that this header needs. */
class unexpected {
  public:
    explicit unexpected(millibox::error error) : error_(std::move(error)) {}
    millibox::error &error() { return error_; }

  private:
    millibox::error error_;
};

/* Thrown by expected::value if it contains an error. */
class bad_expected_access : public std::exception {
  public:
    explicit bad_expected_access(std::string message) : message_(std::move(message)) {}
    const char *what() const noexcept override { return message_.c_str(); }

  private:
    std::string message_;
};

/* A value or an error, as std::expected of C++23. */
template <class T>
class expected {
  public:
    expected(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    expected(unexpected failure) : state_(std::in_place_index<1>, std::move(failure.error())) {}

    bool has_value() const { return state_.index() == 0; }
    explicit operator bool() const { return has_value(); }

    T &value() & {
        check();
        return std::get<0>(state_);
    }
    T &&value() && {
        check();
        return std::get<0>(std::move(state_));
    }
    T &operator*() & { return std::get<0>(state_); }
    T &&operator*() && { return std::get<0>(std::move(state_)); }
    const T &operator*() const & { return std::get<0>(state_); }
    T *operator->() { return &std::get<0>(state_); }
    const T *operator->() const { return &std::get<0>(state_); }
    const millibox::error &error() const { return std::get<1>(state_); }
    millibox::error &error() { return std::get<1>(state_); }

  private:
    void check() const {
        if (!has_value())
            throw bad_expected_access(error().message());
    }

    std::variant<T, millibox::error> state_;
};

template <>
class expected<void> {
  public:
    expected() = default;
    expected(unexpected failure) : error_(std::move(failure.error())) {}

    bool has_value() const { return !error_; }
    explicit operator bool() const { return has_value(); }
    void value() const {
        if (error_)
            throw bad_expected_access(error_->message());
    }
    const millibox::error &error() const { return *error_; }

  private:
    std::optional<millibox::error> error_;
};

#endif

/* The version of the library. */
inline std::string version() { return millibox_version(); }

/* Options of a sandbox. */
struct options {
    std::optional<std::string> supervisor = std::nullopt;
    millibox::backend backend = millibox::backend::automatic;
    std::optional<std::size_t> slots = std::nullopt;
    std::optional<std::string> cgroup_parent = std::nullopt;
    bool pin_slots = false;
};

/* Limits of a program; std::nullopt means no limit, except for processes. */
struct limits {
    std::optional<std::chrono::nanoseconds> real_time = std::chrono::seconds(10);
    std::optional<std::chrono::nanoseconds> cpu_time = std::nullopt;
    std::optional<std::uint64_t> memory = std::nullopt;
    /* Processes and threads; std::nullopt means the default of 512. */
    std::optional<std::uint32_t> processes = std::nullopt;
    /* Standard output and standard error together. */
    std::uint64_t output = 16 << 20;
    /* Each file that the program writes. */
    std::optional<std::uint64_t> file_size = std::nullopt;
};

/* What a program sees. */
class world {
  public:
    explicit world(world_kind kind = world_kind::standard)
        : handle_(millibox_world_new(static_cast<std::uint32_t>(kind))) {}

    world &read_only(std::string_view source, std::string_view at) {
        millibox_world_add_read_only(get(), detail::c_string(source).c_str(),
                                     detail::c_string(at).c_str());
        return *this;
    }
    world &read_write(std::string_view source, std::string_view at) {
        millibox_world_add_read_write(get(), detail::c_string(source).c_str(),
                                      detail::c_string(at).c_str());
        return *this;
    }
    world &tmpfs(std::string_view at, std::uint64_t bytes) {
        millibox_world_add_tmpfs(get(), detail::c_string(at).c_str(), bytes);
        return *this;
    }
    world &symlink(std::string_view target, std::string_view at) {
        millibox_world_add_symlink(get(), detail::c_string(target).c_str(),
                                   detail::c_string(at).c_str());
        return *this;
    }
    world &network(millibox::network network) {
        millibox_world_set_network(get(), static_cast<std::uint32_t>(network));
        return *this;
    }
    world &ids(std::uint32_t uid, std::uint32_t gid) {
        millibox_world_set_ids(get(), uid, gid);
        return *this;
    }
    /* The memory that /proc/meminfo states; no limit. */
    world &stated_memory(std::uint64_t bytes) {
        millibox_world_set_stated_memory(get(), bytes);
        return *this;
    }

    millibox_world *get() const { return handle_.get(); }

  private:
    detail::handle<millibox_world, millibox_world_free> handle_;
};

/* An interpreter that is started once and copied for each run. */
class prepared {
  public:
    /* The environment consists of strings "NAME=VALUE", which programs need too. */
    static expected<prepared> python(const world &world, std::string_view path,
                                     std::span<const std::string> modules = {},
                                     std::span<const std::string> environment = {}) {
        const auto array = [](std::span<const std::string> texts) {
            std::unique_ptr<const char *[]> pointers(new const char *[texts.size() + 1]);
            for (std::size_t i = 0; i < texts.size(); i++) {
                detail::require_no_nul(texts[i]);
                pointers[i] = texts[i].c_str();
            }
            pointers[texts.size()] = nullptr;
            return pointers;
        };
        millibox_prepared *made = nullptr;
        if (auto *failure = millibox_prepared_python_with_env(
                world.get(), detail::c_string(path).c_str(), array(modules).get(),
                array(environment).get(), &made))
            return unexpected(error(failure));
        return prepared(made);
    }

    millibox_prepared *get() const { return handle_.get(); }

  private:
    explicit prepared(millibox_prepared *taken) : handle_(taken) {}

    detail::handle<millibox_prepared, millibox_prepared_free> handle_;
};

/* A program with its arguments, streams and limits. */
class program {
  public:
    /* The first word is the path of the program, or a name that is looked up. */
    program(std::initializer_list<std::string_view> words)
        : program(std::span<const std::string_view>(words.begin(), words.size())) {}
    explicit program(std::span<const std::string_view> words)
        : handle_(millibox_program_new(
              words.empty() ? "" : detail::c_string(words.front()).c_str())) {
        for (std::size_t i = 1; i < words.size(); i++)
            arg(words[i]);
    }

    program &arg(std::string_view argument) {
        millibox_program_add_arg(get(), detail::c_string(argument).c_str());
        return *this;
    }
    program &env(std::string_view name, std::string_view value) {
        millibox_program_set_env(get(), detail::c_string(name).c_str(),
                                 detail::c_string(value).c_str());
        return *this;
    }
    program &remove_env(std::string_view name) {
        millibox_program_set_env(get(), detail::c_string(name).c_str(), nullptr);
        return *this;
    }
    program &cwd(std::string_view directory) {
        millibox_program_set_cwd(get(), detail::c_string(directory).c_str());
        return *this;
    }
    program &world(const millibox::world &world) {
        millibox_program_set_world(get(), world.get());
        return *this;
    }
    program &prepared(const millibox::prepared &prepared) {
        millibox_program_set_prepared(get(), prepared.get());
        return *this;
    }
    program &input(std::string_view bytes) {
        millibox_program_set_stdin(get(), bytes.data(), bytes.size());
        return *this;
    }
    program &input(std::span<const std::byte> bytes) {
        millibox_program_set_stdin(get(), bytes.data(), bytes.size());
        return *this;
    }
    program &input_from(int descriptor) {
        millibox_program_set_stdin_fd(get(), descriptor);
        return *this;
    }
    /* -1 discards the output. */
    program &output_to(int descriptor) {
        millibox_program_set_stdout_fd(get(), descriptor);
        return *this;
    }
    program &errors_to(int descriptor) {
        millibox_program_set_stderr_fd(get(), descriptor);
        return *this;
    }
    program &limits(const millibox::limits &limits) {
        const auto time = [](const std::optional<std::chrono::nanoseconds> &limit) {
            return limit ? detail::count(*limit) : MILLIBOX_UNLIMITED;
        };
        millibox_program_set_real_time_limit_ns(get(), time(limits.real_time));
        millibox_program_set_cpu_time_limit_ns(get(), time(limits.cpu_time));
        millibox_program_set_memory_limit(get(), limits.memory.value_or(MILLIBOX_UNLIMITED));
        millibox_program_set_file_size_limit(get(), limits.file_size.value_or(MILLIBOX_UNLIMITED));
        millibox_program_set_output_limit(get(), limits.output);
        millibox_program_set_process_limit(
            get(), limits.processes.value_or(MILLIBOX_DEFAULT_PROCESS_LIMIT));
        return *this;
    }
    program &rlimit(std::string_view name, std::uint64_t value) {
        millibox_program_set_rlimit(get(), detail::c_string(name).c_str(), value);
        return *this;
    }

    millibox_program *get() const { return handle_.get(); }

  private:
    detail::handle<millibox_program, millibox_program_free> handle_;
};

/* How a program ended, what it used and what it wrote. */
class result {
  public:
    explicit result(millibox_result *taken) : handle_(taken) {}

    /* Whether the program exited with status 0 and no output was lost. */
    bool ok() const { return millibox_result_is_success(get()); }
    millibox::outcome outcome() const {
        return static_cast<millibox::outcome>(millibox_result_outcome(get()));
    }
    std::optional<int> exit_code() const {
        const int code = millibox_result_exit_code(get());
        return code == -1 ? std::nullopt : std::optional(code);
    }
    std::optional<int> signal() const {
        const int signal = millibox_result_signal(get());
        return signal == 0 ? std::nullopt : std::optional(signal);
    }
    /* The outcome as a sentence. */
    std::string message() const { return millibox_result_message(get()); }

    std::chrono::nanoseconds real_time() const { return time(millibox_result_real_time_ns); }
    std::chrono::nanoseconds user_time() const { return time(millibox_result_user_time_ns); }
    std::chrono::nanoseconds system_time() const { return time(millibox_result_system_time_ns); }
    std::chrono::nanoseconds cpu_time() const { return time(millibox_result_cpu_time_ns); }
    std::uint64_t peak_memory() const { return millibox_result_peak_memory(get()); }
    std::optional<std::uint32_t> peak_processes() const {
        const auto number = millibox_result_peak_processes(get());
        return number == 0 ? std::nullopt : std::optional(number);
    }
    millibox::backend backend() const {
        return static_cast<millibox::backend>(millibox_result_backend(get()));
    }
    bool is_prepared() const { return millibox_result_is_prepared(get()); }
    /* Why a program with a prepared interpreter was executed instead of copied. */
    std::optional<std::string> cold_start_reason() const {
        const char *reason = millibox_result_cold_start_reason(get());
        return *reason == '\0' ? std::nullopt : std::optional<std::string>(reason);
    }
    bool is_truncated() const { return millibox_result_is_truncated(get()); }

    /* Views of the output, valid as long as the result. */
    std::string_view output() const { return text(millibox_result_stdout); }
    std::string_view errors() const { return text(millibox_result_stderr); }
    std::span<const std::byte> output_bytes() const {
        return std::as_bytes(std::span<const char>(output()));
    }

    const millibox_result *get() const { return handle_.get(); }

  private:
    template <class Get>
    std::chrono::nanoseconds time(Get number) const {
        return std::chrono::nanoseconds(static_cast<std::int64_t>(number(get())));
    }
    template <class Get>
    std::string_view text(Get bytes) const {
        std::size_t length = 0;
        const void *data = bytes(get(), &length);
        return {static_cast<const char *>(data), length};
    }

    detail::handle<millibox_result, millibox_result_free> handle_;
};

/* A run that was started. Destroying it ends the program. */
class run {
  public:
    explicit run(millibox_run *taken) : handle_(taken) {}

    /* The descriptor for poll(2); when it is readable, call poll. */
    expected<int> descriptor() const {
        int descriptor = -1;
        if (auto *failure = millibox_run_fd(get(), &descriptor))
            return unexpected(error(failure));
        return descriptor;
    }
    /* The result, if the run has ended. Does not wait. */
    expected<std::optional<result>> poll() { return wait_for(std::chrono::nanoseconds(0)); }
    expected<std::optional<result>> wait_for(std::chrono::nanoseconds timeout) {
        millibox_result *made = nullptr;
        if (auto *failure = millibox_run_wait(get(), detail::count(timeout), &made))
            return unexpected(error(failure));
        if (made == nullptr)
            return std::optional<result>();
        return std::optional<result>(result(made));
    }
    expected<result> wait() {
        millibox_result *made = nullptr;
        if (auto *failure = millibox_run_wait(get(), MILLIBOX_UNLIMITED, &made))
            return unexpected(error(failure));
        return result(made);
    }
    /* Any thread may call this. */
    void cancel() const { millibox_run_cancel(get()); }

    millibox_run *get() const { return handle_.get(); }

  private:
    detail::handle<millibox_run, millibox_run_free> handle_;
};

/* A running sandbox. Keep it for many programs. Destroying it ends all programs in it. */
class sandbox {
  public:
    static expected<sandbox> create(const options &options = {}) {
        const detail::handle<millibox_options, millibox_options_free> set(millibox_options_new());
        millibox_options_set_backend(set.get(), static_cast<std::uint32_t>(options.backend));
        millibox_options_set_pin_slots(set.get(), options.pin_slots);
        if (options.supervisor)
            millibox_options_set_supervisor(set.get(),
                                            detail::c_string(*options.supervisor).c_str());
        if (options.slots)
            millibox_options_set_slots(set.get(), *options.slots);
        if (options.cgroup_parent)
            millibox_options_set_cgroup_parent(set.get(),
                                               detail::c_string(*options.cgroup_parent).c_str());
        millibox_sandbox *made = nullptr;
        if (auto *failure = millibox_sandbox_new(set.get(), &made))
            return unexpected(error(failure));
        return sandbox(made);
    }

    /* Runs a program to its end. */
    expected<result> run(const program &program) const {
        millibox_result *made = nullptr;
        if (auto *failure = millibox_sandbox_run(get(), program.get(), &made))
            return unexpected(error(failure));
        return result(made);
    }
    /* Starts a program without waiting. */
    expected<millibox::run> start(const program &program) const {
        millibox_run *made = nullptr;
        if (auto *failure = millibox_sandbox_start(get(), program.get(), &made))
            return unexpected(error(failure));
        return millibox::run(made);
    }
    /* Ends all programs without waiting. Any thread may call this. */
    void close() const { millibox_sandbox_close(get()); }

    millibox::backend backend() const {
        return static_cast<millibox::backend>(millibox_sandbox_backend(get()));
    }
    std::size_t slots() const { return millibox_sandbox_slots(get()); }
    std::string warnings() const { return millibox_sandbox_warnings(get()); }

    millibox_sandbox *get() const { return handle_.get(); }

  private:
    explicit sandbox(millibox_sandbox *taken) : handle_(taken) {}

    detail::handle<millibox_sandbox, millibox_sandbox_free> handle_;
};

/* A temporary directory of the host for the files of programs. */
class files {
  public:
    static expected<files> create() {
        millibox_files *made = nullptr;
        if (auto *failure = millibox_files_new(&made))
            return unexpected(error(failure));
        return files(made);
    }

    std::string path() const { return millibox_files_path(get()); }
    /* Writes a file, and creates the directories of a relative path such as "a/b". */
    expected<void> write(std::string_view name, std::string_view bytes, bool executable = false) {
        if (auto *failure = millibox_files_write(get(), detail::c_string(name).c_str(),
                                                 bytes.data(), bytes.size(), executable))
            return unexpected(error(failure));
        return {};
    }
    /* Reads a regular file, without following links. */
    expected<std::string> read(std::string_view name, std::size_t max_bytes) const {
        millibox_buffer *made = nullptr;
        if (auto *failure =
                millibox_files_read(get(), detail::c_string(name).c_str(), max_bytes, &made))
            return unexpected(error(failure));
        const detail::handle<millibox_buffer, millibox_buffer_free> buffer(made);
        std::size_t length = 0;
        const void *data = millibox_buffer_data(made, &length);
        return std::string(static_cast<const char *>(data), length);
    }

    millibox_files *get() const { return handle_.get(); }

  private:
    explicit files(millibox_files *taken) : handle_(taken) {}

    detail::handle<millibox_files, millibox_files_free> handle_;
};

}  // namespace millibox

#endif
