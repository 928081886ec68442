//! What runs of modules came to at this member, in few bytes: members that have come to different states compare it, and find
//! the first run that differs. No part of the state.

use twox_hash::XxHash3_64;

use crate::guest::{Act, Ended, Failure};

/// Runs of one command of which this is kept. A command runs fewer modules, but for a session's end that many objects hear of.
const RUNS_MAX: usize = 4_096;

/// A run of an object's module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ran {
    /// The position at which it took effect.
    pub position: u64,
    /// The object, by its space.
    pub space: u64,
    /// A hash of what it came to: result, pages, acts.
    pub digest: u64,
}

/// Bytes of a part that are hashed with the others; of longer ones their own hash is.
const PART_BYTES_MAX: usize = 256;
/// Bytes of room for the parts of a run that are kept for the next one.
const ROOM_KEPT_MAX: usize = 4_096;

/// Runs of the last command, in order.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    ran: Vec<Ran>,
    room: Vec<u8>,
}

impl Runs {
    /// A command begins.
    pub(crate) fn clear(&mut self) {
        self.ran.clear();
    }

    /// A run has ended. `counted`: its fuel counts against what a command may take, so a result may depend on it.
    pub(crate) fn note(&mut self, (position, space): (u64, u64), ended: &Ended, counted: bool) {
        if self.ran.len() < RUNS_MAX {
            let digest = digest(&mut self.room, ended, counted);
            self.ran.push(Ran { position, space, digest });
        }
    }

    pub(crate) fn all(&self) -> &[Ran] {
        &self.ran
    }
}

/// Puts one part behind another. Each is told from the next by its length.
struct Parts<'a>(&'a mut Vec<u8>);

impl Parts<'_> {
    fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        if bytes.len() > PART_BYTES_MAX {
            self.number(XxHash3_64::oneshot(bytes));
        } else {
            self.0.extend_from_slice(bytes);
        }
    }
}

/// Of equal ends equal, in every process and build.
fn digest(room: &mut Vec<u8>, ended: &Ended, counted: bool) -> u64 {
    room.clear();
    let mut parts = Parts(room);
    match &ended.outcome {
        Ok(result) => {
            parts.number(0);
            parts.bytes(result);
        }
        Err(failure) => put_failure(&mut parts, failure),
    }
    parts.number(ended.pages.len() as u64);
    for (number, lines) in ended.pages.iter() {
        parts.number(u64::from(number));
        parts.number(lines.map_or(0, |lines| lines.which()));
        parts.number(lines.map_or(0, |lines| lines.own()));
    }
    parts.bytes(ended.pages.contents());
    parts.number(u64::from(ended.registers.is_some()));
    parts.bytes(ended.registers.as_deref().unwrap_or_default());
    ended.acts.iter().for_each(|act| put_act(&mut parts, act));
    parts.number(if counted { ended.fuel } else { 0 });
    let digest = XxHash3_64::oneshot(room);
    room.clear();
    room.shrink_to(ROOM_KEPT_MAX);
    digest
}

fn put_failure(parts: &mut Parts<'_>, failure: &Failure) {
    let (kind, words) = match failure {
        Failure::Refused { code, detail } => {
            parts.bytes(code.as_bytes());
            (1, detail.as_str())
        }
        Failure::Trapped { detail } => (2, detail.as_str()),
        Failure::OutOfFuel => (3, ""),
        Failure::Unfinished => (4, ""),
        Failure::StackExhausted => (5, ""),
        Failure::OutOfMemory => (6, ""),
        Failure::Broken { detail } => (7, detail.as_str()),
        Failure::Deadly { detail } => (8, detail.as_str()),
    };
    parts.number(kind);
    parts.bytes(words.as_bytes());
}

fn put_act(parts: &mut Parts<'_>, act: &Act) {
    let (kind, numbers, texts): (u64, [u64; 2], [&[u8]; 3]) = match act {
        Act::Park { tag, wait_ms } => (1, [*tag, *wait_ms as u64], [b"", b"", b""]),
        Act::Wake { ticket, result } => (2, [*ticket, 0], [result, b"", b""]),
        Act::Fail { ticket, code, detail } => (3, [*ticket, 0], [code.as_bytes(), detail.as_bytes(), b""]),
        Act::SetTimer { id, after_ms } => (4, [*id, *after_ms as u64], [b"", b"", b""]),
        Act::ClearTimer(id) => (5, [*id, 0], [b"", b"", b""]),
        Act::Send { target, method, args } => (6, [0, 0], [target.as_bytes(), method.as_bytes(), args]),
        Act::Emit { topic, body } => (7, [0, 0], [topic.as_bytes(), body, b""]),
    };
    parts.number(kind);
    numbers.into_iter().for_each(|number| parts.number(number));
    texts.into_iter().for_each(|text| parts.bytes(text));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest::{PAGE_BYTES, Pages};

    fn page(number: u32, page: Option<[u8; PAGE_BYTES]>) -> Pages {
        std::iter::once((number, page)).collect()
    }

    /// Some lines of the same page.
    fn lines(which: u64) -> Pages {
        let mut pages = Pages::default();
        pages.lines(3, which, &[7; PAGE_BYTES]);
        pages
    }

    /// The same page, of which these lines differ from the image.
    fn new_page(own: u64) -> Pages {
        let mut pages = Pages::default();
        pages.new_page(3, own, &[7; PAGE_BYTES]);
        pages
    }

    fn ended() -> Ended {
        let acts = vec![Act::Emit { topic: "a".into(), body: b"1".to_vec() }, Act::ClearTimer(3)];
        let pages = page(3, Some([7; PAGE_BYTES]));
        Ended { outcome: Ok(b"{}".to_vec()), pages, registers: None, acts, fuel: 5 }
    }

    fn digest(ended: &Ended, counted: bool) -> u64 {
        super::digest(&mut vec![9], ended, counted)
    }

    #[test]
    fn digest_of_a_run_differs_with_each_part_of_what_it_came_to() {
        let other = |change: fn(&mut Ended)| {
            let mut ended = ended();
            change(&mut ended);
            ended
        };
        let others = [
            other(|ended| ended.outcome = Ok(b"[]".to_vec())),
            other(|ended| ended.outcome = Err(Failure::OutOfFuel)),
            other(|ended| ended.outcome = Err(Failure::Trapped { detail: "x".into() })),
            other(|ended| ended.outcome = Err(Failure::Broken { detail: "x".into() })),
            other(|ended| ended.pages = page(3, Some([8; PAGE_BYTES]))),
            other(|ended| ended.pages = page(3, None)),
            other(|ended| ended.pages = page(4, Some([7; PAGE_BYTES]))),
            other(|ended| ended.pages = Pages::default()),
            other(|ended| ended.pages = lines(0b1)),
            other(|ended| ended.pages = lines(0b10)),
            other(|ended| ended.pages = new_page(0b1)),
            other(|ended| ended.pages = new_page(0b10)),
            other(|ended| ended.registers = Some(Vec::new())),
            other(|ended| ended.acts.swap(0, 1)),
            other(|ended| ended.acts[0] = Act::Emit { topic: "a1".into(), body: Vec::new() }),
            other(|ended| ended.acts[1] = Act::SetTimer { id: 3, after_ms: 0 }),
            other(|ended| ended.fuel = 6),
        ];
        let mut digests: Vec<_> = others.iter().map(|ended| digest(ended, true)).collect();
        digests.push(digest(&ended(), true));
        let count = digests.len();
        digests.sort_unstable();
        digests.dedup();
        assert_eq!(digests.len(), count);
        assert_eq!(digest(&others[count - 2], false), digest(&ended(), false), "fuel that nobody counts");
    }

    #[test]
    fn digest_of_a_run_is_the_same_in_every_build() {
        assert_eq!(digest(&ended(), true), 8_335_789_034_078_704_732);
    }
}
