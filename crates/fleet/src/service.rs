//! The subjects of execution services: *executors*, which run programs, and *front ends*, which
//! relay the requests of clients to executors.
//!
//! | subject | from | to |
//! | --- | --- | --- |
//! | `load.EXECUTOR` | the executor | all front ends |
//! | `up.EXECUTOR.FRONT` | the front end | the executor |
//! | `down.FRONT.EXECUTOR` | the executor | the front end |
//!
//! The message server applies [`of_executor`] and [`of_front`]. So the names in a subject are those
//! of the sender and of the only receiver.

use crate::name::WorkerName;
use crate::subject::Permissions;

const LOADS: &str = "millibox.serve.v1.load";
const UP: &str = "millibox.serve.v1.up";
const DOWN: &str = "millibox.serve.v1.down";

/// The subject of an executor's announcements.
pub fn load(executor: &WorkerName) -> String {
    format!("{LOADS}.{executor}")
}

/// The subject of all announcements.
pub fn all_loads() -> String {
    format!("{LOADS}.*")
}

/// The executor that has sent an announcement, by its subject.
pub fn executor_of_load(subject: &str) -> Option<WorkerName> {
    subject.strip_prefix(LOADS)?.strip_prefix('.')?.parse().ok()
}

/// The subject of a front end's messages to an executor.
pub fn up(executor: &WorkerName, front: &WorkerName) -> String {
    format!("{UP}.{executor}.{front}")
}

/// The subject of all messages to an executor.
pub fn all_up(executor: &WorkerName) -> String {
    format!("{UP}.{executor}.*")
}

/// The front end that has sent a message to an executor, by its subject.
pub fn front_of_up(subject: &str) -> Option<WorkerName> {
    sender(subject.strip_prefix(UP)?)
}

/// The subject of an executor's messages to a front end.
pub fn down(front: &WorkerName, executor: &WorkerName) -> String {
    format!("{DOWN}.{front}.{executor}")
}

/// The subject of all messages to a front end.
pub fn all_down(front: &WorkerName) -> String {
    format!("{DOWN}.{front}.*")
}

/// The executor that has sent a message to a front end, by its subject.
pub fn executor_of_down(subject: &str) -> Option<WorkerName> {
    sender(subject.strip_prefix(DOWN)?)
}

/// The second of two names.
fn sender(rest: &str) -> Option<WorkerName> {
    let (receiver, sender) = rest.strip_prefix('.')?.split_once('.')?;
    receiver.parse::<WorkerName>().ok()?;
    sender.parse().ok()
}

/// What an executor may do.
pub fn of_executor(executor: &WorkerName) -> Permissions {
    Permissions {
        publish: vec![load(executor), format!("{DOWN}.*.{executor}")],
        subscribe: vec![all_up(executor)],
    }
}

/// What a front end may do.
pub fn of_front(front: &WorkerName) -> Permissions {
    Permissions {
        publish: vec![format!("{UP}.*.{front}")],
        subscribe: vec![all_loads(), all_down(front)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> WorkerName {
        text.parse().unwrap()
    }

    #[test]
    fn sender_is_known_by_the_subject() {
        let (box_1, web) = (name("box-1"), name("web"));
        assert_eq!(executor_of_load(&load(&box_1)), Some(box_1.clone()));
        assert_eq!(front_of_up(&up(&box_1, &web)), Some(web.clone()));
        assert_eq!(executor_of_down(&down(&web, &box_1)), Some(box_1.clone()));
        for wrong in ["", ".a", ".a.", ".a.b.c", ".a.*", "a.b", ".*.b"] {
            assert_eq!(front_of_up(&format!("{UP}{wrong}")), None, "{wrong}");
            assert_eq!(executor_of_down(&format!("{DOWN}{wrong}")), None, "{wrong}");
        }
        assert_eq!(front_of_up(&down(&box_1, &web)), None);
    }

    #[test]
    fn executors_share_no_subject() {
        let (one, two) = (of_executor(&name("a")), of_executor(&name("b")));
        let all = |it: &Permissions| [it.publish.clone(), it.subscribe.clone()].concat();
        for subject in all(&one) {
            assert!(!all(&two).contains(&subject), "{subject}");
        }
    }
}
