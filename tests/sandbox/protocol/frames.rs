//! Frames: headers, bodies and memfds.

use super::{
    RawClient, exit_7, frame, frame_error, located, malformed, malformed_run, memfd, world,
};
use millibox::FrameProblem;
use millibox_tests::probe;
use millibox_wire::frame::{HEADER, Header, Kind, MAX_BODY, MAX_INLINE};
use millibox_wire::{DecodeError, Kill, KillReason, Outcome, Run, decode, encode};
use rustix::fs::SealFlags;
use std::os::fd::AsFd;

#[test]
fn frame_without_valid_header_is_rejected() {
    let mut client = RawClient::start();
    client.assert_rejected(0, b"x", &[], &malformed(&DecodeError::Short(1)));
    client.assert_rejected(
        0,
        &[0; HEADER - 1],
        &[],
        &malformed(&DecodeError::Short(HEADER - 1)),
    );
    client.assert_rejected(0, &[0; HEADER], &[], &malformed(&DecodeError::Protocol(0)));
    client.assert_rejected(
        0,
        &[0xff; 100],
        &[],
        &malformed(&DecodeError::Protocol(u32::MAX)),
    );
    let mut other_version = frame(Kind::Run, 5, b"");
    other_version[3] = 1;
    let word = u32::from_ne_bytes(other_version[..4].try_into().unwrap());
    client.assert_rejected(
        0,
        &other_version,
        &[],
        &malformed(&DecodeError::Protocol(word)),
    );
    let mut unknown = frame(Kind::Run, 77, b"");
    unknown[4] = 99;
    client.assert_rejected(77, &unknown, &[], &malformed(&DecodeError::Kind(99)));
}

#[test]
fn frame_that_is_too_long_is_rejected() {
    let mut client = RawClient::start();
    let max_bytes = MAX_INLINE as u64;
    for frame in [
        frame(Kind::Run, 5, &vec![0; MAX_INLINE]),
        vec![0; MAX_INLINE + 1],
    ] {
        let bytes = frame.len() as u64;
        client.assert_rejected(
            0,
            &frame,
            &[],
            &frame_error(FrameProblem::TooLong { bytes, max_bytes }),
        );
    }
}

#[test]
fn frame_with_malformed_body_is_rejected() {
    let mut client = RawClient::start();
    client.assert_rejected(5, &frame(Kind::Run, 5, b""), &[], &malformed_run(b""));
    client.assert_rejected(
        6,
        &frame(Kind::Run, 6, &[0xff; 50]),
        &[],
        &malformed_run(&[0xff; 50]),
    );
    let world = located(world());
    let good = encode(&exit_7(&world));
    let probe = probe();
    for cut in [1, 2, good.len() / 2, good.len() - 1] {
        client.assert_rejected(
            7,
            &frame(Kind::Run, 7, &good[..cut]),
            &[probe.as_fd()],
            &malformed_run(&good[..cut]),
        );
    }
    let longer = frame(Kind::Run, 8, &[&good[..], b"more"].concat());
    client.assert_rejected(
        8,
        &longer,
        &[probe.as_fd()],
        &malformed(&DecodeError::Trailing(4)),
    );
    for length in 0..20 {
        // The supervisor rejects arbitrary bytes and survives.
        let noise: Vec<u8> = (0..length * 7)
            .map(|index| (index * 37 + length * 11) as u8)
            .collect();
        client.send(&frame(Kind::Run, 9, &noise), &[]);
        assert!(matches!(client.result().1.outcome, Outcome::NotStarted(_)));
    }
    client.assert_works();
}

#[test]
fn body_in_memfd_must_be_sealed() {
    let mut client = RawClient::start();
    let probe = probe();
    let sealed = SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW;
    let world = located(world());
    let body = encode(&exit_7(&world));
    let header = |id| {
        Header {
            kind: Kind::Run,
            in_memfd: true,
            id,
        }
        .encode()
    };
    // This request is valid.
    let id = client.id();
    client.send(&header(id), &[memfd(&body, sealed).as_fd(), probe.as_fd()]);
    assert_eq!(client.result().1.outcome, Outcome::Exited(7));
    let id = client.id();
    client.assert_rejected(
        id,
        &header(id),
        &[],
        &frame_error(FrameProblem::MemfdMissing),
    );
    let id = client.id();
    client.assert_rejected(
        id,
        &header(id),
        &[probe.as_fd()],
        &frame_error(FrameProblem::NotMemfd),
    );
    let (read, _write) = millibox_tests::pipe();
    let id = client.id();
    client.assert_rejected(
        id,
        &header(id),
        &[read.as_fd()],
        &frame_error(FrameProblem::NotMemfd),
    );
    for seals in [SealFlags::empty(), SealFlags::WRITE, SealFlags::SHRINK] {
        let id = client.id();
        let expected = frame_error(FrameProblem::MemfdNotSealed);
        client.assert_rejected(
            id,
            &header(id),
            &[memfd(&body, seals).as_fd(), probe.as_fd()],
            &expected,
        );
    }
    let long = vec![0; MAX_BODY + 1];
    let id = client.id();
    let (bytes, max_bytes) = (long.len() as u64, MAX_BODY as u64);
    let too_long = frame_error(FrameProblem::TooLong { bytes, max_bytes });
    client.assert_rejected(id, &header(id), &[memfd(&long, sealed).as_fd()], &too_long);
    let id = client.id();
    client.assert_rejected(
        id,
        &header(id),
        &[memfd(b"", sealed).as_fd()],
        &malformed_run(b""),
    );
}

#[test]
fn message_of_wrong_kind_is_rejected() {
    let mut client = RawClient::start();
    for kind in [Kind::Hello, Kind::Result] {
        client.assert_rejected(
            0,
            &frame(kind, 5, b""),
            &[],
            &frame_error(FrameProblem::WrongDirection),
        );
    }
    let expected = malformed(&decode::<Kill>(&[99]).unwrap_err());
    client.assert_rejected(0, &frame(Kind::Kill, 5, &[99]), &[], &expected);
    // Messages about unknown runs are ignored without a reply.
    for id in [0, 1, u64::MAX] {
        client.send(
            &frame(
                Kind::Kill,
                id,
                &encode(&Kill {
                    reason: KillReason::Caller,
                }),
            ),
            &[],
        );
        client.send(&frame(Kind::Cancel, id, b""), &[]);
    }
    client.assert_works();
}

#[test]
fn client_that_reads_late_receives_all_results() {
    let mut client = RawClient::start();
    // Request more replies than fit into the socket.
    for id in 0..3000u64 {
        client.send(&frame(Kind::Run, id + 10_000, b""), &[]);
    }
    for id in 0..3000u64 {
        assert_eq!(client.result().0, id + 10_000);
    }
    client.assert_works();
}

/// Changes some bytes of valid requests. Each request is answered once, under its id, and the next
/// request is accepted. `MILLIBOX_FRAMES` sets the number of requests.
#[test]
fn mutated_requests_are_answered_once() {
    let mut client = RawClient::start();
    let mut random = millibox_tests::Random::new();
    let probe = probe();
    let good_world = located(world());
    let good = encode(&Run {
        rlimits: vec![(7, 64)],
        cpus: vec![3],
        ..exit_7(&good_world)
    });
    let count = std::env::var("MILLIBOX_FRAMES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(400);
    let (mut not_started, mut others) = (0, 0);
    for round in 0..count {
        let mut body = good.clone();
        for _ in 0..=random.below(3) {
            let at = random.below(body.len() as u64) as usize;
            match random.below(6) {
                0 => body[at] ^= 1 << random.below(8),
                1 => body[at] = random.below(256) as u8,
                2 => body.insert(at, random.below(256) as u8),
                // At least one byte remains to change.
                3 => drop((body.len() > 1).then(|| body.remove(at))),
                4 => body.truncate(at.max(1)),
                // The numbers of the request are at the end.
                _ => {
                    let end = body.len() - 1 - random.below(body.len().min(40) as u64) as usize;
                    body[end] = [0, 1, 0x7f, 0x80, 0xff][random.below(5) as usize];
                }
            }
        }
        let id = client.id();
        let descriptors = [probe.as_fd(); 3];
        client.send(
            &frame(Kind::Run, id, &body),
            &descriptors[..1 + random.below(20) as usize / 18],
        );
        let (answered, result) = client.result();
        assert_eq!(answered, id, "round {round}: {result:?}");
        if let Some(error) = result.outcome.error() {
            assert!(
                error.errno.is_some() || error.hint.is_some(),
                "round {round}: {error:?}"
            );
        }
        match result.outcome {
            Outcome::NotStarted(_) => not_started += 1,
            _ => others += 1,
        }
        if round % 50 == 0 {
            client.assert_works();
        }
    }
    client.assert_works();
    assert!(
        not_started > 0 && others > 0,
        "{not_started} runs were not started, {others} ended otherwise"
    );
}
