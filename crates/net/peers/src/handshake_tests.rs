//! Two sides of a handshake over a pipe in memory, and what a stranger can make of it.

use std::collections::VecDeque;

use net_peer_pairs::Lane;

use super::*;
use crate::group_number::GroupNumber;
use crate::hello::HelloRefusal;
use crate::secret::EnsembleSecret;

fn hello(number: u64, wanted: u64) -> Hello {
    let seat = Some((base::MemberId(number), [9; 16]));
    let (number, wanted) = (ClaimedNumber(number), ClaimedNumber(wanted));
    let numbering = crate::numbering::Numbering::OneByte;
    Hello {
        numbering,
        group: GroupNumber::FIRST,
        lane: Lane::Bulk,
        attempt: 3,
        number,
        seat,
        life: 77,
        wanted,
        level: 1,
    }
}

fn prover(byte: u8) -> Prover {
    Prover::new(&EnsembleSecret::new(&[byte; 32]).expect("long enough"))
}

fn terms(number: u64, wanted: u64, prover: Option<&Prover>) -> Terms<'_> {
    Terms {
        own: hello(number, wanted),
        nonce: [number as u8; 32],
        prover,
        binding: [0; 32],
        hints: Hints::PLAIN,
    }
}

/// A connection whose other end is a member that answers, fed a byte at a time.
struct Pipe<'a> {
    answering: Answering,
    terms: Terms<'a>,
    sent: Vec<u8>,
    back: VecDeque<u8>,
    verdict: Option<Result<Hello, Refusal>>,
    /// Changes what the dialler sends, by position.
    spoil: Option<usize>,
}

impl<'a> Pipe<'a> {
    fn to(terms: Terms<'a>) -> Self {
        Self {
            answering: Answering::new(),
            terms,
            sent: Vec::new(),
            back: VecDeque::new(),
            verdict: None,
            spoil: None,
        }
    }
}

impl Write for Pipe<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            let byte = if self.spoil == Some(self.sent.len()) { byte ^ 1 } else { *byte };
            self.sent.push(byte);
            if self.verdict.is_some() {
                continue;
            }
            let mut out = Vec::new();
            match self.answering.take(&[byte], &self.terms, |_| Ok(self.terms.own), &mut out) {
                Ok(told) => self.verdict = told.map(Ok),
                Err(why) => self.verdict = Some(Err(why)),
            }
            self.back.extend(out);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Pipe<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(self.back.len());
        buffer[..length].iter_mut().zip(self.back.drain(..length)).for_each(|(place, byte)| *place = byte);
        Ok(length)
    }
}

/// What the dialler and the other make of each other.
fn talk(dialler: &Terms<'_>, answerer: Terms<'_>) -> (Result<Hello, Refusal>, Result<Hello, Refusal>) {
    let mut pipe = Pipe::to(answerer);
    let dialled = open(&mut pipe, dialler).expect("it is answered");
    (dialled, pipe.verdict.expect("a verdict"))
}

#[test]
fn members_with_one_secret_or_none_learn_who_the_other_is() {
    let one = prover(1);
    for secret in [None, Some(&one)] {
        let (dialled, answered) = talk(&terms(2, 1, secret), terms(1, 0, secret));
        assert_eq!(answered, Ok(hello(2, 1)));
        let other = dialled.expect("welcome");
        assert_eq!((other.number.0, other.lane, other.attempt), (1, Lane::Bulk, 3));
    }
}

#[test]
fn secret_that_differs_or_is_missing_lets_nobody_in_and_tells_a_stranger_nothing() {
    let (one, other) = (prover(1), prover(2));
    let setting = Hints::PLAIN.secret;
    for (dialler, answerer, kind, why) in [
        (Some(&one), Some(&other), HandshakeRefusal::WrongProof, "does not know the ensemble's secret"),
        (None, Some(&one), HandshakeRefusal::WithoutSecret { setting }, "it has no secret"),
        (Some(&one), None, HandshakeRefusal::SecretAskedFor { setting }, "this member has none"),
    ] {
        let (dialled, answered) = talk(&terms(2, 1, dialler), terms(1, 0, answerer));
        assert!(kind.to_string().contains(why), "{kind}");
        assert_eq!(answered, Err(kind.into()));
        assert_eq!(dialled.expect_err("refused").to_string(), format!("it refuses: {NOT_LET_IN}"));
    }
}

#[test]
fn proof_does_not_hold_for_changed_bytes_another_nonce_or_another_binding() {
    let one = prover(1);
    let mut pipe = Pipe::to(terms(1, 0, Some(&one)));
    open(&mut pipe, &terms(2, 1, Some(&one))).expect("answered").expect("welcome");
    let recorded = pipe.sent;
    for at in MAGIC.len() + 3..recorded.len() {
        let mut pipe = Pipe { spoil: Some(at), ..Pipe::to(terms(1, 0, Some(&one))) };
        pipe.write_all(&recorded).expect("written");
        assert!(pipe.verdict.expect("a verdict").is_err(), "{at}");
    }
    let replay = |terms| {
        let mut pipe = Pipe::to(terms);
        pipe.write_all(&recorded).expect("written");
        pipe.verdict.expect("a verdict")
    };
    assert!(replay(terms(1, 0, Some(&one))).is_ok(), "the same nonce, as it never is");
    assert!(replay(Terms { nonce: [8; 32], ..terms(1, 0, Some(&one)) }).is_err());
    assert!(replay(Terms { binding: [8; 32], ..terms(1, 0, Some(&one)) }).is_err());
}

#[test]
fn answer_of_one_that_does_not_know_the_secret_is_not_believed() {
    /// Says 0 and a greeting with a secret, 0 and a hello with a proof made up.
    struct Impostor(VecDeque<u8>);
    impl Read for Impostor {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = buffer.len().min(self.0.len());
            buffer[..length].iter_mut().zip(self.0.drain(..length)).for_each(|(place, byte)| *place = byte);
            Ok(length)
        }
    }
    impl Write for Impostor {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let (one, other) = (prover(1), prover(2));
    let own = hello(1, 0).encode();
    let greeting = terms(1, 0, Some(&other)).greeting();
    let said = [&[0][..], &greeting, &[0], &own, &[7; PROOF_BYTES]].concat();
    let refused = open(&mut Impostor(said.into()), &terms(2, 1, Some(&one))).expect("answered");
    assert_eq!(refused, Err(HandshakeRefusal::WrongProof.into()));
}

#[test]
fn other_protocols_and_builds_are_named() {
    let refused = |bytes: &[u8]| {
        let mut pipe = Pipe::to(terms(1, 0, None));
        pipe.write_all(bytes).expect("written");
        let told: Vec<u8> = pipe.back.drain(..).collect();
        (
            pipe.verdict.expect("refused at once").expect_err("refused").to_string(),
            String::from_utf8_lossy(&told).into_owned(),
        )
    };
    let (why, told) = refused(b"DIWNPEER\x01\0\0");
    assert!(why.contains("version 1") && told.contains("version 1"), "{why}");
    let (why, told) = refused(&[0x16, 3, 1]);
    assert!(why.contains("speaks TLS") && !told.contains("TLS"), "{why}");
    assert!(refused(b"GET / HTTP/1.1\r\n").0.contains("another protocol"));
    assert!(refused(&[0, 0, 0, 0x2c]).0.contains("another protocol"));

    let answered =
        |bytes: &[u8]| status(&mut &bytes[..], Hints::PLAIN).expect("read").expect_err("refused").to_string();
    assert!(answered(&[TLS_ALERT]).contains("`sslQuorum` differs"));
    assert!(answered(&[0x48]).contains("another protocol"));
    assert_eq!(answered(b"\x01\x05\0ab\nd\x1b"), "it refuses: ab d ");
}

#[test]
fn judge_of_the_door_is_heard() {
    let mut pipe = Answering::new();
    let (dialler, own, mut out) = (terms(2, 1, None), terms(1, 0, None), Vec::new());
    pipe.take(&dialler.greeting(), &own, |_| Ok(own.own), &mut out).expect("a greeting");
    assert_eq!(pipe.wants(), INTRODUCTION_BYTES);
    out.clear();
    let introduction = [&dialler.own.encode()[..], &[0; PROOF_BYTES]].concat();
    let refusal = Refusal::from(HelloRefusal::OtherConnection);
    let refused = pipe.take(&introduction, &own, |_| Err(refusal.clone()), &mut out);
    assert_eq!(out, [b"\x01\x28\0", refusal.to_string().as_bytes()].concat());
    assert_eq!(refused, Err(refusal));
}
