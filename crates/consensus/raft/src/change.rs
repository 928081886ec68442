//! Steps of a membership change and their bytes, which are the content of a membership entry.

use raft::eraftpb::{self, ConfChangeTransition, ConfChangeType};

use crate::MemberId;
use crate::message::Malformed;

/// One member's new part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It votes.
    Voter(MemberId),
    /// It receives everything and does not vote.
    Learner(MemberId),
    /// It is no member any more.
    Remove(MemberId),
}

/// What is to change at once. More than one step passes through joint consensus, which ends by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Empty: the end of joint consensus.
    pub steps: Vec<Step>,
}

const STEP_BYTES: usize = 9;

impl Change {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.steps.len() * STEP_BYTES);
        for step in &self.steps {
            let (kind, id) = match *step {
                Step::Voter(id) => (0, id),
                Step::Learner(id) => (1, id),
                Step::Remove(id) => (2, id),
            };
            out.push(kind);
            out.extend_from_slice(&id.0.to_le_bytes());
        }
        out
    }

    /// Reads the content of a membership entry.
    ///
    /// # Errors
    /// [`Malformed`] when the bytes are none.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let (steps, []) = bytes.as_chunks::<STEP_BYTES>() else {
            return Err(Malformed("a membership change that is cut short"));
        };
        let step = |[kind, id @ ..]: &[u8; STEP_BYTES]| {
            let id = MemberId(u64::from_le_bytes(*id));
            match kind {
                0 => Ok(Step::Voter(id)),
                1 => Ok(Step::Learner(id)),
                2 => Ok(Step::Remove(id)),
                _ => Err(Malformed("a membership change of unknown kind")),
            }
        };
        Ok(Self { steps: steps.iter().map(step).collect::<Result<_, _>>()? })
    }

    pub(crate) fn to_engine(&self) -> eraftpb::ConfChangeV2 {
        let mut change = eraftpb::ConfChangeV2::default();
        change.set_transition(ConfChangeTransition::Auto);
        for step in &self.steps {
            let mut single = eraftpb::ConfChangeSingle::default();
            let (kind, id) = match *step {
                Step::Voter(id) => (ConfChangeType::AddNode, id),
                Step::Learner(id) => (ConfChangeType::AddLearnerNode, id),
                Step::Remove(id) => (ConfChangeType::RemoveNode, id),
            };
            single.set_change_type(kind);
            single.node_id = id.0;
            change.mut_changes().push(single);
        }
        change
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_comes_back_whole_and_nothing_else_is_one() {
        let steps =
            vec![Step::Voter(MemberId(1)), Step::Learner(MemberId(u64::MAX)), Step::Remove(MemberId(3))];
        let change = Change { steps };
        let bytes = change.encode();
        assert_eq!(Change::decode(&bytes), Ok(change));
        assert_eq!(Change::decode(&[]), Ok(Change::default()));
        assert!(Change::decode(&bytes[..20]).is_err());
        assert!(Change::decode(&[3; STEP_BYTES]).is_err());
    }
}
