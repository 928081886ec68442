//! How two members find out who the other is, on a connection that is plain or already encrypted.
//!
//! | message | from | bytes |
//! |---|---|---|
//! | 1 | dialler | greeting: `DIWNPEER`, version, flags, nonce |
//! | 2 | the other | 0 and its greeting, or 1 and why not (two bytes of length, text) |
//! | 3 | dialler | its hello and its proof |
//! | 4 | the other | 0, its hello and its proof; or 1 and why not |
//!
//! Numbers are little-endian and of fixed width. Flag 1 says that the sender has a secret; without one proofs are
//! zeros. The dialler proves first, so a stranger at the port learns nothing of the ensemble, not even its id. A member
//! that is refused before it has proved anything is told a fixed text; the reason is for the log of the one that
//! refuses. Knows no socket and no clock: the code that reads and writes sets the deadline.

use std::io::{self, Read, Write};

use crate::hello::{HELLO_BYTES, Hello};
use crate::hints::Hints;
use crate::numbering::ClaimedNumber;
use crate::proof::{Binding, NONCE_BYTES, Nonce, PROOF_BYTES, Proof, Prover, Side};
use crate::refusal::{HandshakeRefusal, Refusal};

const MAGIC: [u8; 8] = *b"DIWNPEER";
/// Raised when members of one build cannot understand those of another.
const VERSION: u16 = 2;
const HAS_SECRET: u8 = 1;
const GREETING_BYTES: usize = MAGIC.len() + 2 + 1 + NONCE_BYTES;
const INTRODUCTION_BYTES: usize = HELLO_BYTES + PROOF_BYTES;
const REASON_BYTES_MAX: usize = 1024;
/// What a stranger is told, whatever the reason.
const NOT_LET_IN: &str = "it does not let this member in; hint: its log says why";
/// First bytes of TLS records.
const TLS_ALERT: u8 = 0x15;
const TLS_HANDSHAKE: u8 = 0x16;

/// What both sides go by.
pub(crate) struct Terms<'a> {
    /// What this member says of itself.
    pub(crate) own: Hello,
    /// Drawn for this connection.
    pub(crate) nonce: Nonce,
    /// Its secret, if it has one.
    pub(crate) prover: Option<&'a Prover>,
    /// The TLS connection below, if there is one.
    pub(crate) binding: Binding,
    /// What hints call things.
    pub(crate) hints: Hints,
}

impl Terms<'_> {
    pub(crate) fn greeting(&self) -> [u8; GREETING_BYTES] {
        let mut out = Vec::with_capacity(GREETING_BYTES);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.push(if self.prover.is_some() { HAS_SECRET } else { 0 });
        out.extend_from_slice(&self.nonce);
        out.try_into().expect("a greeting has its length")
    }

    fn prove(&self, side: Side, transcript: &[&[u8]]) -> Proof {
        self.prover.map_or([0; PROOF_BYTES], |prover| prover.prove(side, &self.binding, transcript))
    }

    fn believes(&self, side: Side, transcript: &[&[u8]], proof: &Proof) -> Result<(), Refusal> {
        match self.prover {
            Some(prover) if !prover.verify(side, &self.binding, transcript, proof) => {
                Err(HandshakeRefusal::WrongProof.into())
            }
            _ => Ok(()),
        }
    }

    /// Whether the other side of a greeting can be talked to.
    fn judge_greeting(&self, greeting: &[u8; GREETING_BYTES]) -> Result<(), HandshakeRefusal> {
        let [.., low, high, flags] = greeting[..MAGIC.len() + 3] else {
            return Err(foreign(greeting, self.hints));
        };
        if !greeting.starts_with(&MAGIC) {
            return Err(foreign(greeting, self.hints));
        }
        let version = u16::from_le_bytes([low, high]);
        if version != VERSION {
            return Err(HandshakeRefusal::OtherVersion { theirs: version, own: VERSION });
        }
        let setting = self.hints.secret;
        match (self.prover.is_some(), flags & HAS_SECRET != 0) {
            (true, false) => Err(HandshakeRefusal::WithoutSecret { setting }),
            (false, true) => Err(HandshakeRefusal::SecretAskedFor { setting }),
            _ => Ok(()),
        }
    }
}

/// What bytes that are no greeting are.
const fn foreign(bytes: &[u8], hints: Hints) -> HandshakeRefusal {
    match bytes {
        [TLS_HANDSHAKE | TLS_ALERT, ..] => HandshakeRefusal::SpeaksTls,
        _ => HandshakeRefusal::OtherProtocol { hint: hints.foreign },
    }
}

/// Whether these bytes may still become a greeting of this version, looked at as they come: a stranger that speaks
/// something else may never send as many as a greeting has.
fn judge_beginning(bytes: &[u8], hints: Hints) -> Result<(), HandshakeRefusal> {
    let magic = bytes.get(..MAGIC.len()).unwrap_or(bytes);
    if !MAGIC.starts_with(magic) {
        return Err(foreign(bytes, hints));
    }
    match bytes.get(MAGIC.len()..MAGIC.len() + 2) {
        Some(&[low, high]) if [low, high] != VERSION.to_le_bytes() => {
            let theirs = u16::from_le_bytes([low, high]);
            Err(HandshakeRefusal::OtherVersion { theirs, own: VERSION })
        }
        _ => Ok(()),
    }
}

/// The side that answers, whatever pieces bytes come in.
pub(crate) struct Answering {
    inbox: Vec<u8>,
    theirs: Option<[u8; GREETING_BYTES]>,
}

impl Answering {
    pub(crate) fn new() -> Self {
        Self { inbox: Vec::with_capacity(GREETING_BYTES.max(INTRODUCTION_BYTES)), theirs: None }
    }

    /// How many bytes belong to the next message and have not come yet. No more must be taken from the connection.
    pub(crate) fn wants(&self) -> usize {
        let whole = if self.theirs.is_none() { GREETING_BYTES } else { INTRODUCTION_BYTES };
        whole - self.inbox.len()
    }

    /// Takes bytes in, at most as many as are wanted, and appends what to answer; also a refusal. Gives what the dialler
    /// said once it is believed and `judge` lets it in, which says who answers.
    ///
    /// # Errors
    /// Why it is refused, for the log.
    pub(crate) fn take(
        &mut self,
        bytes: &[u8],
        terms: &Terms<'_>,
        judge: impl FnOnce(&Hello) -> Result<Hello, Refusal>,
        out: &mut Vec<u8>,
    ) -> Result<Option<Hello>, Refusal> {
        self.inbox.extend_from_slice(bytes);
        let Some(theirs) = self.theirs else {
            self.greet(terms, out)?;
            return Ok(None);
        };
        let Some((told, proof)) = self.inbox.split_first_chunk::<HELLO_BYTES>() else { return Ok(None) };
        let Ok(proof) = Proof::try_from(proof) else { return Ok(None) };
        let greeting = terms.greeting();
        terms.believes(Side::Dialler, &[&theirs, &greeting, told], &proof).inspect_err(|_| {
            refuse(out, NOT_LET_IN);
        })?;
        let (hello, own) = Hello::decode(told, terms.own.numbering)
            .map_err(Refusal::from)
            .and_then(|hello| judge(&hello).map(|own| (hello, own)))
            .inspect_err(|why| refuse(out, &why.to_string()))?;
        let wanted = ClaimedNumber::NOBODY;
        let own = Hello { lane: hello.lane, attempt: hello.attempt, wanted, ..own }.encode();
        out.push(0);
        out.extend_from_slice(&own);
        out.extend_from_slice(&terms.prove(Side::Answerer, &[&theirs, &greeting, told, &own]));
        Ok(Some(hello))
    }

    fn greet(&mut self, terms: &Terms<'_>, out: &mut Vec<u8>) -> Result<(), HandshakeRefusal> {
        judge_beginning(&self.inbox, terms.hints).inspect_err(|why| {
            // Members of another build may know which.
            let is_member = self.inbox.starts_with(&MAGIC);
            let told = if is_member { why.to_string() } else { NOT_LET_IN.to_owned() };
            refuse(out, &told);
        })?;
        let Ok(theirs) = <[u8; GREETING_BYTES]>::try_from(&self.inbox[..]) else { return Ok(()) };
        terms.judge_greeting(&theirs).inspect_err(|_| refuse(out, NOT_LET_IN))?;
        self.inbox.clear();
        self.theirs = Some(theirs);
        out.push(0);
        out.extend_from_slice(&terms.greeting());
        Ok(())
    }
}

fn refuse(out: &mut Vec<u8>, why: &str) {
    let text = why.as_bytes();
    let text = text.get(..REASON_BYTES_MAX).unwrap_or(text);
    out.push(1);
    out.extend_from_slice(&(text.len() as u16).to_le_bytes());
    out.extend_from_slice(text);
}

/// The side that dials. The inner error says why the two do not go on.
pub(crate) fn open(
    connection: &mut (impl Read + Write),
    terms: &Terms<'_>,
) -> io::Result<Result<Hello, Refusal>> {
    let greeting = terms.greeting();
    connection.write_all(&greeting)?;
    connection.flush()?;
    let theirs = match status(connection, terms.hints)? {
        Ok(()) => exact::<GREETING_BYTES>(connection)?,
        Err(why) => return Ok(Err(why.into())),
    };
    if let Err(why) = terms.judge_greeting(&theirs) {
        return Ok(Err(why.into()));
    }
    let told = terms.own.encode();
    connection.write_all(&told)?;
    connection.write_all(&terms.prove(Side::Dialler, &[&greeting, &theirs, &told]))?;
    connection.flush()?;
    let answer = match status(connection, terms.hints)? {
        Ok(()) => exact::<HELLO_BYTES>(connection)?,
        Err(why) => return Ok(Err(why.into())),
    };
    let proof = exact::<PROOF_BYTES>(connection)?;
    Ok(terms
        .believes(Side::Answerer, &[&greeting, &theirs, &told, &answer], &proof)
        .and_then(|()| Ok(Hello::decode(&answer, terms.own.numbering)?))
        .and_then(|hello| Ok(terms.own.judge_answerer(&hello).map(|()| hello)?)))
}

/// The byte before each answer.
fn status(connection: &mut impl Read, hints: Hints) -> io::Result<Result<(), HandshakeRefusal>> {
    match exact::<1>(connection)? {
        [0] => Ok(Ok(())),
        [1] => {
            let length = usize::from(u16::from_le_bytes(exact(connection)?));
            let mut text = vec![0; length.min(REASON_BYTES_MAX)];
            connection.read_exact(&mut text)?;
            Ok(Err(HandshakeRefusal::Refused(printable(&text))))
        }
        other => Ok(Err(foreign(&other, hints))),
    }
}

/// Text of the other side, fit for a line of the log.
fn printable(text: &[u8]) -> String {
    let clean = |letter: char| if letter.is_control() { ' ' } else { letter };
    String::from_utf8_lossy(text).chars().map(clean).collect()
}

fn exact<const LENGTH: usize>(connection: &mut impl Read) -> io::Result<[u8; LENGTH]> {
    let mut bytes = [0; LENGTH];
    connection.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
#[path = "handshake_tests.rs"]
mod tests;
