//! The subjects of messages. The first version of the messages has subjects of its own.
//!
//! A worker publishes to its own request subject only, and subscribes to its own replies and stops
//! only. So the name in a subject is that of the worker that has sent the request, provided that
//! the message server applies [`of_worker`] and [`of_site`].

use crate::name::WorkerName;

const REQUESTS: &str = "millibox.v1.request";
const REPLIES: &str = "millibox.v1.reply";
const STOPS: &str = "millibox.v1.stop";

/// The queue group for all processes of a site. The message server gives each request to one of
/// them.
pub const SITES: &str = "millibox.sites";

/// The subject of a worker's requests.
pub fn request(worker: &WorkerName) -> String {
    format!("{REQUESTS}.{worker}")
}

/// The subject of all requests.
pub fn all_requests() -> String {
    format!("{REQUESTS}.*")
}

/// The worker that has sent a request, by the subject of the request.
pub fn worker_of_request(subject: &str) -> Option<WorkerName> {
    let name = subject.strip_prefix(REQUESTS)?.strip_prefix('.')?;
    name.parse().ok()
}

/// The prefix of the subjects to which a worker's replies are sent.
pub fn reply_prefix(worker: &WorkerName) -> String {
    format!("{REPLIES}.{worker}")
}

/// Whether a subject belongs to a worker's replies. The site replies only to such subjects.
pub fn is_reply(worker: &WorkerName, subject: &str) -> bool {
    let rest = subject.strip_prefix(&reply_prefix(worker));
    let rest = rest.and_then(|rest| rest.strip_prefix('.'));
    rest.is_some_and(|rest| !rest.is_empty())
}

/// The subject of the messages that stop a worker's judgements.
pub fn stop(worker: &WorkerName) -> String {
    format!("{STOPS}.{worker}")
}

/// What a client of the message server may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permissions {
    /// The subjects to which the client may publish.
    pub publish: Vec<String>,
    /// The subjects to which the client may subscribe.
    pub subscribe: Vec<String>,
}

/// What a worker may do.
pub fn of_worker(worker: &WorkerName) -> Permissions {
    Permissions {
        publish: vec![request(worker)],
        subscribe: vec![format!("{}.>", reply_prefix(worker)), stop(worker)],
    }
}

/// What the site may do.
pub fn of_site() -> Permissions {
    Permissions {
        publish: vec![format!("{REPLIES}.>"), format!("{STOPS}.*")],
        subscribe: vec![all_requests()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> WorkerName {
        text.parse().unwrap()
    }

    #[test]
    fn worker_is_known_by_its_subject() {
        let box_1 = name("box-1");
        assert_eq!(worker_of_request(&request(&box_1)), Some(box_1));
        for wrong in [
            "millibox.v1.request",
            "millibox.v1.request.",
            "millibox.v1.request.box-1.more",
            "millibox.v1.requestbox-1",
            "millibox.v2.request.box-1",
        ] {
            assert_eq!(worker_of_request(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn reply_to_a_different_worker_is_no_reply() {
        let (one, ten) = (name("box-1"), name("box-10"));
        let own = format!("{}.abc.1", reply_prefix(&one));
        assert!(is_reply(&one, &own));
        assert!(!is_reply(&ten, &own));
        assert!(!is_reply(&one, &format!("{}.abc", reply_prefix(&ten))));
        assert!(!is_reply(&one, &reply_prefix(&one)));
        assert!(!is_reply(&one, &request(&ten)));
    }

    #[test]
    fn workers_share_no_subject() {
        let (one, two) = (of_worker(&name("a")), of_worker(&name("b")));
        let all = |it: &Permissions| [it.publish.clone(), it.subscribe.clone()].concat();
        for subject in all(&one) {
            assert!(!all(&two).contains(&subject), "{subject}");
        }
    }
}
