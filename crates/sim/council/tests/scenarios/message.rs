//! Messages between members as lines for readers: their kinds and what they say.

use base::{LogIndex, Term};
use consensus_raft::Message;
use consensus_replica::founding::FoundingMessage;
use council_replica::{CouncilMessage, PeerMessage};

/// Raft's messages, by their number on the wire.
const ENGINE_KINDS: [&str; 13] = [
    "append",
    "append-answer",
    "vote",
    "vote-answer",
    "snapshot",
    "heartbeat",
    "heartbeat-answer",
    "transfer",
    "campaign-now",
    "read-index",
    "read-index-answer",
    "pre-vote",
    "pre-vote-answer",
];

/// What is not told of unless a scenario names it: it comes again and again.
const ROUTINE: [&str; 7] =
    ["heartbeat", "heartbeat-answer", "lease-ask", "lease-grant", "digest", "touch-ask", "touched"];

/// The name of its kind.
pub(crate) fn kind(message: &PeerMessage) -> &'static str {
    match message {
        PeerMessage::Engine(message) => Engine::of(message).kind,
        PeerMessage::Machine(CouncilMessage::Forward(_)) => "forward",
        PeerMessage::Machine(CouncilMessage::TouchAsk { .. }) => "touch-ask",
        PeerMessage::Machine(CouncilMessage::Touched { .. }) => "touched",
        PeerMessage::LeaseAsk { .. } => "lease-ask",
        PeerMessage::LeaseGrant { .. } => "lease-grant",
        PeerMessage::LeaderLost { .. } => "leader-lost",
        PeerMessage::Offer(_) => "offer",
        PeerMessage::Want { .. } => "want",
        PeerMessage::Chunks { .. } => "chunks",
        PeerMessage::Taken { .. } => "taken",
        PeerMessage::Digest { .. } => "digest",
        PeerMessage::Founding(FoundingMessage::Blank { .. }) => "blank",
        PeerMessage::Founding(FoundingMessage::Replaced { .. }) => "replaced",
        PeerMessage::Founding(FoundingMessage::Admitted { .. }) => "admitted",
        PeerMessage::Founding(_) => "founding",
    }
}

/// Whether readers are told of it without asking.
pub(crate) fn is_routine(message: &PeerMessage) -> bool {
    ROUTINE.contains(&kind(message))
}

/// What it says.
pub(crate) fn text(message: &PeerMessage) -> String {
    let says = match message {
        PeerMessage::Engine(message) => return Engine::of(message).text(),
        PeerMessage::Offer(message) => {
            let offer = message.snapshot().expect("an offer is of a snapshot");
            format!("a snapshot of {} (term {})", offer.index, offer.term)
        }
        PeerMessage::LeaseAsk { term, .. } | PeerMessage::LeaseGrant { term, .. } => format!("term {term}"),
        PeerMessage::LeaderLost { term, leader, last_index } => {
            format!("{leader} of term {term}, the log ends at {last_index}")
        }
        PeerMessage::Want { index, chunk } => format!("chunk {chunk} of snapshot {index}"),
        PeerMessage::Chunks { index, first, chunks, end } => {
            let last = first + chunks.len() as u64 - 1;
            let end = if end.is_some() { ", the last" } else { "" };
            format!("{first}..{last} of snapshot {index}{end}")
        }
        PeerMessage::Taken { index, whole: true } => format!("snapshot {index}"),
        PeerMessage::Taken { index, whole: false } => format!("not snapshot {index}"),
        _ => return kind(message).to_owned(),
    };
    format!("{} {says}", kind(message))
}

/// One of raft's own, read from its bytes.
struct Engine {
    kind: &'static str,
    rejects: bool,
    /// To, from, term, then what `Message::encode` writes.
    numbers: [u64; 9],
    /// The indexes and terms of the entries that it carries.
    entries: Vec<(LogIndex, Term)>,
}

impl Engine {
    fn of(message: &Message) -> Self {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        let mut rest = &bytes[2..];
        let numbers = std::array::from_fn(|_| number(&mut rest));
        let context = count(&mut rest);
        rest = &rest[context..];
        let entries = (0..count(&mut rest)).map(|_| {
            rest = &rest[1..];
            let entry = (LogIndex(number(&mut rest)), Term(number(&mut rest)));
            let data = count(&mut rest);
            rest = &rest[data..];
            entry
        });
        let entries = entries.collect();
        Self { kind: ENGINE_KINDS[usize::from(bytes[0])], rejects: bytes[1] & 1 != 0, numbers, entries }
    }

    fn text(&self) -> String {
        let [_, _, term, log_term, index, commit, _, hint, _] = self.numbers;
        let kind = self.kind;
        match kind {
            "append" => {
                let entries = spans(&self.entries);
                format!("{kind} {entries} after {index} (term {log_term}), commit {commit}, term {term}")
            }
            "append-answer" if self.rejects => {
                format!("{kind} rejects {index}, has at most {hint}, term {term}")
            }
            "append-answer" => format!("{kind} has {index}, term {term}"),
            "vote" | "pre-vote" => {
                format!("{kind} in term {term}, the log ends at {index} (term {log_term})")
            }
            "vote-answer" | "pre-vote-answer" if self.rejects => format!("{kind} no, term {term}"),
            "vote-answer" | "pre-vote-answer" => format!("{kind} yes, term {term}"),
            _ => format!("{kind}, term {term}"),
        }
    }
}

/// Entries by index and term, as `1..3 (term 1) 4 (term 2)`.
pub(crate) fn spans(entries: &[(LogIndex, Term)]) -> String {
    if entries.is_empty() {
        return "nothing".to_owned();
    }
    let same = |one: &(LogIndex, Term), next: &(LogIndex, Term)| one.1 == next.1 && one.0.next() == next.0;
    let spans = entries.chunk_by(same).map(|span| {
        let ((first, term), (last, _)) = (span[0], span[span.len() - 1]);
        if first == last {
            format!("{first} (term {term})")
        } else {
            format!("{first}..{last} (term {term})")
        }
    });
    spans.collect::<Vec<_>>().join(" ")
}

fn number(rest: &mut &[u8]) -> u64 {
    let (number, behind) = rest.split_first_chunk().expect("the message is whole");
    *rest = behind;
    u64::from_le_bytes(*number)
}

fn count(rest: &mut &[u8]) -> usize {
    let (count, behind) = rest.split_first_chunk().expect("the message is whole");
    *rest = behind;
    u32::from_le_bytes(*count) as usize
}
