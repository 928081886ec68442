//! What a service asks of the same service at another node, and what it is answered.

use crate::codec::{Input, put_varint};
use crate::{VERSION, WireError, kind};

/// A question, or the answer to one. What its bytes mean the service knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call<'a> {
    /// The number of the question: no other one has it that this node or an earlier process of it has asked the same node.
    pub id: u64,
    /// Whether this is its answer.
    pub is_answer: bool,
    /// What is asked or answered.
    pub bytes: &'a [u8],
}

impl<'a> Call<'a> {
    pub(crate) fn decode(is_answer: bool, mut input: Input<'a>) -> Result<Self, WireError> {
        let (id, bytes) = (input.varint()?, input.bytes()?);
        input.finish()?;
        Ok(Self { id, is_answer, bytes })
    }

    /// Appends it as one message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let kind = if self.is_answer { kind::ANSWER } else { kind::CALL };
        out.extend_from_slice(&[VERSION, kind]);
        put_varint(out, self.id);
        put_varint(out, self.bytes.len() as u64);
        out.extend_from_slice(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Message;

    #[test]
    fn question_and_answer_come_back_and_no_part_of_them_is_one() {
        for is_answer in [false, true] {
            let call = Call { id: 300, is_answer, bytes: b"what" };
            let mut out = Vec::new();
            call.encode(&mut out);
            let Ok(Message::Call(read)) = Message::decode(&out) else { panic!("it is one") };
            assert_eq!(read, call);
            for cut in 0..out.len() {
                assert!(Message::decode(&out[..cut]).is_err(), "cut at {cut}");
            }
            out.push(0);
            assert_eq!(Message::decode(&out).err(), Some(WireError::Trailing));
        }
    }
}
