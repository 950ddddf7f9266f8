//! Requests: programs, arguments, many requests at once, and requests that cannot start.

mod arguments;
mod programs;
mod queue;
mod values;

use millibox::{Error, Outcome, Request, RequestMistake, RunError, Step, Supervisor};
use millibox_tests::result;

/// Asserts that the request does not start because of this error, and that the next request works.
fn assert_not_started(supervisor: &Supervisor, request: &Request, expected: &RunError) {
    let result = result(supervisor, request);
    let error = millibox_tests::not_started(&result);
    assert_eq!(error, expected, "{error}");
    assert_eq!((result.exit_code, result.signal), (None, None));
    assert_eq!(
        self::result(supervisor, &Request::new("/bin/true")).outcome,
        Outcome::Exited(0),
        "after {error}"
    );
}

/// The error of a program that cannot be executed.
fn exec_error(errno: i32) -> RunError {
    RunError::new(Step::Exec).with_errno(errno)
}

/// Asserts that the client rejects the request before it sends anything.
fn assert_client_rejects(supervisor: &Supervisor, request: &Request, expected: &RequestMistake) {
    match supervisor.run(request) {
        Err(error @ Error::Request(_)) => {
            assert_eq!(error.request_mistakes(), std::slice::from_ref(expected));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(
        result(supervisor, &Request::new("/bin/true")).outcome,
        Outcome::Exited(0)
    );
}
