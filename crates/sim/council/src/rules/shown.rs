//! Every Stat that anybody was shown: by answers to reads and to writes, and by the members' trees in the end.

use council_wire::{Reader, Stat};

use crate::history::{Ask, Outcome};
use crate::rules::seen::Seen;
use crate::rules::{Evidence, tell};

/// A Stat, and what was shown with it.
pub(super) struct Shown<'a> {
    pub(super) path: &'a str,
    /// Of which tree.
    pub(super) zxid: i64,
    pub(super) stat: Stat,
    /// The length of the data, if that was shown.
    pub(super) data: Option<usize>,
    /// The number of children, if they were shown.
    pub(super) children: Option<usize>,
    by: By,
}

/// Who showed it.
enum By {
    /// The answer to a call.
    Call(usize),
    /// A member's tree.
    Member(u64),
}

impl<'a> Shown<'a> {
    /// All of them.
    pub(super) fn all(evidence: &Evidence<'a>) -> Vec<Self> {
        let mut all = Vec::new();
        for (number, call) in evidence.history.calls.iter().enumerate() {
            let Some(answer) = call.answer.as_ref().filter(|_| call.outcome() == Outcome::Ok) else {
                continue;
            };
            let (zxid, by) = (answer.zxid, By::Call(number));
            match &call.ask {
                Ask::Set { path, .. } | Ask::SetNull { path, .. } | Ask::SetAcl { path, .. } => {
                    let stat = Stat::read(&mut Reader::new(&answer.body));
                    all.extend(stat.map(|stat| Self { path, zxid, stat, data: None, children: None, by }));
                }
                ask => {
                    let Some((path, _)) = ask.reads() else { continue };
                    let Ok(seen) = Seen::read(ask, &answer.body) else { continue };
                    let (data, children) = (
                        seen.data.map(|data| data.map_or(0, <[u8]>::len)),
                        seen.children.map(|all| all.len()),
                    );
                    all.push(Self { path, zxid, stat: seen.stat, data, children, by });
                }
            }
        }
        for standing in evidence.standings {
            let zxid = standing.zxid;
            all.extend(standing.nodes.iter().map(|(path, held)| {
                let (data, by) = (Some(held.data.len()), By::Member(standing.member));
                Self { path, zxid, stat: held.stat, data, children: None, by }
            }));
        }
        all
    }

    /// Who showed what.
    pub(super) fn tell(&self, evidence: &Evidence<'_>) -> String {
        match self.by {
            By::Call(call) => tell(evidence.history, &evidence.history.calls[call]),
            By::Member(member) => format!("member {member} in its `{}`", self.path),
        }
    }
}
