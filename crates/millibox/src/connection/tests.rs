//! Tests of the connection. Each test acts as the supervisor at the other end of the socket.

use super::*;
use crate::{Handle, Request};
use millibox_wire::SupervisorStep;
use millibox_wire::frame::HEADER;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair,
};
use std::time::Instant;

/// A connection with one requested run, and the supervisor's end of its socket.
fn with_a_run() -> (Arc<Connection>, u64, OwnedFd) {
    let (connection, [id], supervisor_end) = with_runs();
    (connection, id, supervisor_end)
}

fn with_runs<const N: usize>() -> (Arc<Connection>, [u64; N], OwnedFd) {
    with_end_reason(|| EndReason::Closed)
}

fn with_end_reason<const N: usize>(
    reason: impl Fn() -> EndReason + Send + Sync + 'static,
) -> (Arc<Connection>, [u64; N], OwnedFd) {
    let (client_end, supervisor_end) = socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )
    .expect("a socket");
    let hello = Hello {
        pid: 1,
        backend: Backend::Rlimit,
        slots: 1,
        credits: 8,
        uid: 1,
        gid: 1,
        cgroups: Vec::new(),
        declined: Vec::new(),
        landlock: 0,
        file_locks: true,
    };
    send_frame(&supervisor_end, Kind::Hello, 0, &encode(&hello));
    let (connection, _) = Connection::new(client_end, Box::new(reason)).expect("a greeting");
    let ids = connection.ids();
    let run = |id| NewRun {
        id,
        body: Vec::new(),
        descriptors: Vec::new(),
        output_limited: false,
    };
    connection.run(ids.map(run)).expect("sent");
    (connection, ids, supervisor_end)
}

fn send_frame(socket: &OwnedFd, kind: Kind, id: u64, body: &[u8]) {
    let frame = [
        &Header {
            kind,
            in_memfd: false,
            id,
        }
        .encode()[..],
        body,
    ]
    .concat();
    assert_eq!(send(socket, &frame, SendFlags::NOSIGNAL), Ok(frame.len()));
}

fn result(message: String) -> RunResult {
    let error = RunError::new(Step::World).with_subject(message);
    RunResult {
        outcome: Outcome::NotStarted(error),
        exit_code: None,
        signal: None,
        figures: Default::default(),
        ended_ns: None,
        backend: Backend::Rlimit,
        start: Default::default(),
    }
}

#[test]
fn longest_answer_is_read() {
    let (connection, id, supervisor_end) = with_a_run();
    let empty = encode(&result(String::new())).len();
    // The encoded length of the subject takes three bytes.
    let longest = result("x".repeat(MAX_INLINE - HEADER - empty - 3));
    send_frame(&supervisor_end, Kind::Result, id, &encode(&longest));
    assert_eq!(connection.wait(id, None).expect("read"), Some(longest));
}

/// If a process forks while another thread holds the lock, no thread of the child can unlock it.
#[test]
fn ids_need_no_lock() {
    let (connection, [known], _its) = with_runs();
    let (say, said) = std::sync::mpsc::channel();
    let state = connection.lock();
    let asks = connection.clone();
    std::thread::spawn(move || say.send(asks.ids::<2>()));
    assert_eq!(
        said.recv_timeout(Duration::from_secs(30)),
        Ok([known + 1, known + 2])
    );
    drop(state);
}

/// Waits until this number of threads is asleep.
fn until_asleep(connection: &Connection, sleepers: usize) {
    while connection.lock().sleepers.len() < sleepers || !connection.lock().reader {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn each_waiting_thread_gets_its_own_result() {
    let (connection, ids, supervisor_end) = with_runs::<8>();
    std::thread::scope(|scope| {
        let threads = ids.map(|id| {
            let connection = &connection;
            (id, scope.spawn(move || connection.wait(id, None)))
        });
        until_asleep(&connection, ids.len() - 1);
        // The first result belongs to the reader; later threads must become readers themselves.
        for (id, thread) in threads {
            let its_own = result(format!("of run {id}"));
            send_frame(&supervisor_end, Kind::Result, id, &encode(&its_own));
            assert_eq!(
                thread.join().expect("no panic").expect("read"),
                Some(its_own)
            );
        }
    });
    assert!(connection.lock().sleepers.is_empty() && !connection.lock().reader);
}

#[test]
fn timeout_of_the_reader_makes_another_thread_read() {
    let (connection, [short, long], supervisor_end) = with_runs();
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| connection.wait(short, Some(Duration::from_millis(200))));
        while !connection.lock().reader {
            std::thread::sleep(Duration::from_millis(1));
        }
        let sleeper = scope.spawn(|| connection.wait(long, None));
        assert_eq!(reader.join().expect("no panic").expect("read"), None);
        send_frame(
            &supervisor_end,
            Kind::Result,
            long,
            &encode(&result(String::new())),
        );
        assert_eq!(
            sleeper.join().expect("no panic").expect("read"),
            Some(result(String::new()))
        );
    });
}

#[test]
fn wait_with_zero_timeout_returns_an_arrived_result() {
    let (connection, id, supervisor_end) = with_a_run();
    assert_eq!(
        connection.wait(id, Some(Duration::ZERO)).expect("read"),
        None
    );
    let sent_result = result(String::new());
    send_frame(&supervisor_end, Kind::Result, id, &encode(&sent_result));
    assert_eq!(
        connection.wait(id, Some(Duration::ZERO)).expect("read"),
        Some(sent_result)
    );
}

#[test]
fn results_before_the_end_remain_readable() {
    let sent_result = result("the first".to_owned());
    for (by_us, by_it) in [(true, false), (false, true), (true, true)] {
        let (connection, [first, second], supervisor_end) = with_runs();
        send_frame(&supervisor_end, Kind::Result, first, &encode(&sent_result));
        // The runs that were sent are unread. The kernel reports that error before it delivers the
        // answer.
        let supervisor_end = (!by_it).then_some(supervisor_end);
        if by_us {
            connection.close();
        } else {
            assert!(matches!(connection.wait(second, None), Err(Error::Died(_))));
        }
        assert_eq!(
            connection.wait(first, None).expect("read"),
            Some(sent_result.clone()),
            "{by_us} {by_it}"
        );
        assert!(matches!(connection.wait(second, None), Err(Error::Died(_))));
        assert_eq!(connection.unfinished(), 0);
        drop(supervisor_end);
    }
}

#[test]
fn run_without_a_handle_does_not_count_as_unfinished() {
    let (connection, ids, supervisor_end) = with_runs::<2>();
    assert_eq!(connection.unfinished(), 2);
    connection.abandon(ids[0]);
    assert_eq!(connection.unfinished(), 1);
    for id in ids {
        send_frame(
            &supervisor_end,
            Kind::Result,
            id,
            &encode(&result(String::new())),
        );
    }
    assert!(connection.wait(ids[1], None).expect("read").is_some());
    assert_eq!(connection.unfinished(), 0);
}

#[test]
fn idle_dispatcher_leaves_reading_to_a_waiting_thread() {
    let (connection, [polled, awaited], supervisor_end) = with_runs();
    let event = connection.event(polled).expect("a descriptor");
    send_frame(
        &supervisor_end,
        Kind::Result,
        polled,
        &encode(&result(String::new())),
    );
    assert_eq!(poll(&mut [PollFd::new(&event, PollFlags::IN)], None), Ok(1));
    assert!(connection.lock().dispatcher);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| connection.wait(awaited, None));
        let begin = Instant::now();
        let reads = || {
            let state = connection.lock();
            state.reader && state.sleepers.is_empty() && !state.needs_dispatcher()
        };
        // The thread must remain asleep, not only fall asleep.
        let mut times = 0;
        while times < 20 && begin.elapsed() < Duration::from_secs(30) {
            times = if reads() { times + 1 } else { 0 };
            std::thread::sleep(Duration::from_millis(10));
        }
        let sent_result = result("the other".to_owned());
        send_frame(
            &supervisor_end,
            Kind::Result,
            awaited,
            &encode(&sent_result),
        );
        assert_eq!(
            waiting.join().expect("no panic").expect("read"),
            Some(sent_result)
        );
        assert!(times == 20, "the dispatcher reads");
    });
}

#[test]
fn idle_dispatcher_ends_and_starts_again() {
    let (connection, ids, supervisor_end) = with_runs::<2>();
    for id in ids {
        let event = connection.event(id).expect("a descriptor");
        assert!(connection.lock().dispatcher);
        send_frame(
            &supervisor_end,
            Kind::Result,
            id,
            &encode(&result(String::new())),
        );
        assert_eq!(poll(&mut [PollFd::new(&event, PollFlags::IN)], None), Ok(1));
        let begin = Instant::now();
        while connection.lock().dispatcher {
            assert!(
                begin.elapsed() < Duration::from_secs(60),
                "the dispatcher does not end"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn awaited_result_wakes_its_task() {
    let (connection, ids, supervisor_end) = with_runs::<2>();
    let handles = ids.map(|id| {
        Handle::new(
            connection.clone(),
            id,
            Request::new("/bin/true").names(),
            None,
        )
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let send = async {
            for (number, id) in ids.into_iter().enumerate().rev() {
                tokio::task::yield_now().await;
                send_frame(
                    &supervisor_end,
                    Kind::Result,
                    id,
                    &encode(&result(format!("{number}"))),
                );
            }
        };
        let (first, second, ()) =
            tokio::join!(handles[0].wait_async(), handles[1].wait_async(), send);
        let expected = |text: &str| crate::convert::result_of_wire(result(text.to_owned()));
        assert_eq!(first.expect("read"), expected("0"));
        assert_eq!(second.expect("read"), expected("1"));
    });
    assert_eq!(connection.lock().polled, 0);
}

#[test]
fn awaited_run_fails_when_the_supervisor_ends() {
    let (connection, id, supervisor_end) = with_a_run();
    let handle = Handle::new(connection, id, Request::new("/bin/true").names(), None);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let ended = runtime
        .block_on(async { tokio::join!(handle.wait_async(), async { drop(supervisor_end) }).0 });
    assert!(matches!(ended, Err(Error::Died(_))), "{ended:?}");
}

#[test]
fn end_of_the_supervisor_wakes_all_waiting_threads() {
    let (connection, ids, supervisor_end) = with_runs::<4>();
    std::thread::scope(|scope| {
        let threads = ids.map(|id| {
            let connection = &connection;
            scope.spawn(move || connection.wait(id, None))
        });
        until_asleep(&connection, ids.len() - 1);
        drop(supervisor_end);
        for thread in threads {
            assert!(matches!(
                thread.join().expect("no panic"),
                Err(Error::Died(_))
            ));
        }
    });
}

#[test]
fn polling_does_not_wait_for_the_last_message() {
    let (release, said) = std::sync::mpsc::channel::<()>();
    let said = Mutex::new(said);
    let words = move || {
        let _ = said.lock().expect("no panic").recv();
        EndReason::Message("these".to_owned())
    };
    let (connection, [first, second], supervisor_end) = with_end_reason(words);
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| connection.wait(first, None));
        drop(supervisor_end);
        while !connection.is_dead() {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(connection.result(second).is_none());
        assert!(!waits.is_finished());
        release.send(()).expect("the receiver exists");
        let Err(Error::Died(received)) = waits.join().expect("no panic") else {
            panic!("a result")
        };
        assert_eq!(received, EndReason::Message("these".to_owned()));
    });
    assert!(matches!(
        connection.result(second),
        Some(Err(Error::Died(_)))
    ));
}

#[test]
fn closing_wakes_a_waiting_thread() {
    for _ in 0..50 {
        let (connection, [first], supervisor_end) = with_runs();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| connection.wait(first, None));
            while !connection.lock().reader {
                std::thread::yield_now();
            }
            connection.close();
            let Err(Error::Died(received)) = waits.join().expect("no panic") else {
                panic!("a result")
            };
            assert_eq!(received, EndReason::ClosedHere);
        });
        drop(supervisor_end);
    }
}

const TOO_LONG: FrameFault = FrameFault::TooLong {
    max_bytes: MAX_INLINE,
};

/// The fault of a body that does not encode a `T`.
fn malformed<T: serde::de::DeserializeOwned>(body: &[u8]) -> FrameFault {
    match decode::<T>(body) {
        Ok(_) => panic!("{body:?} is a value"),
        Err(error) => fault_of_decoding(error),
    }
}

#[test]
fn unreadable_greeting_is_a_start_error() {
    let too_long = [0; MAX_INLINE];
    for (kind, body, expected) in [
        (Kind::Hello, &too_long[..], TOO_LONG),
        (Kind::Hello, b"\xff\xff", malformed::<Hello>(b"\xff\xff")),
        (Kind::Result, b"", FrameFault::UnexpectedKind(17)),
    ] {
        let (client_end, supervisor_end) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .expect("a socket");
        send_frame(&supervisor_end, kind, 0, body);
        let answer = Connection::new(client_end, Box::new(|| panic!("the supervisor lives")));
        assert_eq!(answer.err(), Some(EndReason::Unreadable(expected)));
    }
}

#[test]
fn unreadable_answer_ends_the_connection() {
    let too_long = encode(&result("x".repeat(MAX_INLINE)));
    for (kind, body, expected) in [
        (Kind::Result, &too_long[..], TOO_LONG),
        (
            Kind::Result,
            b"\xff\xff",
            malformed::<millibox_wire::RunResult>(b"\xff\xff"),
        ),
        (Kind::Run, b"", FrameFault::UnexpectedKind(1)),
    ] {
        let (connection, id, supervisor_end) = with_a_run();
        send_frame(&supervisor_end, kind, id, body);
        let answer = connection.wait(id, Some(Duration::from_secs(60)));
        let Err(Error::Died(EndReason::Unreadable(fault))) = answer else {
            panic!("{expected}")
        };
        assert_eq!(fault, expected);
        // The supervisor's end of the socket reports the end of the connection.
        let mut rest = [0; 64];
        let received: Vec<usize> =
            std::iter::repeat_with(|| recv(&supervisor_end, &mut rest[..], RecvFlags::empty()))
                .map_while(|answer| answer.ok().map(|(length, _)| length))
                .take_while(|length| *length > 0)
                .collect();
        assert_eq!(received.len(), 1, "{received:?}");
    }
}

#[test]
fn reported_error_replaces_the_message_of_the_process() {
    let (connection, [first], supervisor_end) =
        with_end_reason(|| EndReason::Message("text".to_owned()));
    let error = SupervisorError::new(SupervisorStep::WaitForEvents).with_errno(libc::ENOMEM);
    send_frame(&supervisor_end, Kind::Failure, 0, &encode(&error));
    drop(supervisor_end);
    let Err(Error::Died(reason)) = connection.wait(first, None) else {
        panic!("a result")
    };
    assert_eq!(reason, EndReason::Failed(error));
}

#[test]
fn error_instead_of_greeting_is_returned() {
    let (client_end, supervisor_end) = socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )
    .expect("a socket");
    let error = SupervisorError::new(SupervisorStep::Namespaces).with_errno(libc::EPERM);
    send_frame(&supervisor_end, Kind::Failure, 0, &encode(&error));
    let answer = Connection::new(client_end, Box::new(|| panic!("the error was sent")));
    assert_eq!(answer.map(drop), Err(EndReason::Failed(error)));
}
