//! Requests that cannot run in time, and clients that disconnect.

use super::Fusion;
use millibox_tests::{HANG_TIMEOUT, eventually};
use serde_json::json;

#[test]
fn request_that_waits_too_long_is_answered_with_504() {
    let config = "[running]\nreal_slots = 1\ncpu_slots = 1\n[sandbox_fusion]\nwait_ms = 1\n";
    let fusion = Fusion::with_config(config);
    // Waiting requests keep all places occupied until the last one runs.
    let sleep = json!({"language": "python", "code": "import time; time.sleep(600)",
                       "run_timeout": 6, "compile_timeout": 300});
    let short = json!({"language": "python", "code": "print(1)", "compile_timeout": 0.001});
    let (sleeping, refused) = std::thread::scope(|scope| {
        let sleeping = [(); 4].map(|()| scope.spawn(|| fusion.post("/run_code", &sleep)));
        let refused = std::cell::RefCell::new(None);
        let is_refused = eventually(HANG_TIMEOUT, || {
            let answer = fusion.post("/run_code", &short);
            let is_refused = answer.status == 504;
            *refused.borrow_mut() = Some(answer);
            is_refused
        });
        assert!(is_refused, "{refused:?}");
        (
            sleeping.map(|thread| thread.join().unwrap()),
            refused.take(),
        )
    });
    for answer in sleeping {
        let status = &answer.body["run_result"]["status"];
        assert_eq!(*status, "TimeLimitExceeded", "{answer:?}");
    }
    let refused = refused.unwrap();
    assert!(refused.header("Retry-After").parse::<u64>().unwrap() >= 1);
    assert_eq!(refused.header("Millibox-Outcome"), "refused");
    assert!(refused.body["detail"].is_string());
}

#[test]
fn request_waits_for_its_compile_timeout_if_nothing_is_compiled() {
    let config = "[running]\nreal_slots = 1\ncpu_slots = 1\n[sandbox_fusion]\nwait_ms = 1\n";
    let fusion = Fusion::with_config(config);
    let request = json!({"language": "python", "code": "print(1)", "compile_timeout": 60,
                         "run_timeout": 60});
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|_| scope.spawn(|| fusion.run(&request)))
            .collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap()["run_result"]["stdout"], "1\n");
        }
    });
}
