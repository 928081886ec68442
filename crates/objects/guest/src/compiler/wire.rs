//! What a member and its compiler's process say to each other: one question, one answer, each with a head of fixed length.
//!
//! An answer counts only if it is whole, if it is for the code that was asked for, and if its hash is right. The name of the code
//! follows from the module, the engine's version and settings, and the processor, and each side works it out itself. So a program
//! of another build, what a library prints, and an answer that is cut short or damaged are never taken for machine code.

use sha2::{Digest as _, Sha256};

use super::CodeName;

const QUESTION: &[u8; 8] = b"DIWANcq1";
const ANSWER: &[u8; 8] = b"DIWANca1";

/// Bytes of a question's head: a mark, the name of the code that is wanted, the length of the module behind it.
pub(super) const QUESTION_HEAD_BYTES: usize = 8 + 32 + 8;
/// Bytes of an answer's head: a mark, the kind, the name of the code, the length of what follows, the hash.
pub(super) const ANSWER_HEAD_BYTES: usize = 8 + 1 + 32 + 8 + 32;

/// What an answer brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Machine code.
    Code = 1,
    /// Why there is none.
    Refusal = 2,
}

/// The head of a question.
pub(super) fn question_head(name: &CodeName, length: usize) -> [u8; QUESTION_HEAD_BYTES] {
    let mut head = [0; QUESTION_HEAD_BYTES];
    head[..8].copy_from_slice(QUESTION);
    head[8..40].copy_from_slice(name);
    head[40..].copy_from_slice(&(length as u64).to_le_bytes());
    head
}

/// The name and the length in the head of a question, if it is one.
pub(super) fn read_question_head(head: &[u8; QUESTION_HEAD_BYTES]) -> Option<(CodeName, u64)> {
    let (mark, rest) = head.split_first_chunk::<8>()?;
    let (name, rest) = rest.split_first_chunk::<32>()?;
    let (length, _) = rest.split_first_chunk::<8>()?;
    (mark == QUESTION).then(|| (*name, u64::from_le_bytes(*length)))
}

/// The head of an answer.
pub(super) fn answer_head(kind: Kind, name: &CodeName, body: &[u8]) -> [u8; ANSWER_HEAD_BYTES] {
    let mut head = [0; ANSWER_HEAD_BYTES];
    head[..8].copy_from_slice(ANSWER);
    head[8] = kind as u8;
    head[9..41].copy_from_slice(name);
    head[41..49].copy_from_slice(&(body.len() as u64).to_le_bytes());
    let hash = hash(&head[..49], body);
    head[49..].copy_from_slice(&hash);
    head
}

fn hash(head: &[u8], body: &[u8]) -> [u8; 32] {
    Sha256::new_with_prefix(head).chain_update(body).finalize().into()
}

/// How many bytes an answer has that begins so. Nothing as long as its head is not whole.
///
/// # Errors
/// It is no answer for code of that name, or a longer one than there may be.
pub(super) fn answer_bytes(
    beginning: &[u8],
    name: &CodeName,
    body_bytes_max: usize,
) -> Result<Option<usize>, &'static str> {
    let there = beginning.len().min(ANSWER.len());
    if beginning[..there] != ANSWER[..there] {
        return Err("what it says is no answer");
    }
    let Some(head) = beginning.first_chunk::<ANSWER_HEAD_BYTES>() else { return Ok(None) };
    if head[9..41] != *name {
        return Err("its answer is for other code");
    }
    let length = head[41..49].first_chunk().map_or(u64::MAX, |length| u64::from_le_bytes(*length));
    let length = usize::try_from(length).ok().filter(|length| *length <= body_bytes_max);
    length.map(|length| Some(ANSWER_HEAD_BYTES + length)).ok_or("its answer is longer than it may be")
}

/// What a whole answer brings.
///
/// # Errors
/// It is not whole, or not as it was made.
pub(super) fn read_answer(mut answer: Vec<u8>, name: &CodeName) -> Result<(Kind, Vec<u8>), &'static str> {
    match answer_bytes(&answer, name, usize::MAX - ANSWER_HEAD_BYTES)? {
        Some(length) if length == answer.len() => {}
        Some(length) if length < answer.len() => return Err("there is more behind its answer"),
        _ => return Err("its answer is not whole"),
    }
    let (head, body) = answer.split_at(ANSWER_HEAD_BYTES);
    if hash(&head[..49], body) != head[49..] {
        return Err("its answer is damaged");
    }
    let kind = match head[8] {
        1 => Kind::Code,
        2 => Kind::Refusal,
        _ => return Err("its answer is of an unknown kind"),
    };
    answer.drain(..ANSWER_HEAD_BYTES);
    Ok((kind, answer))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: CodeName = [3; 32];

    fn answer(kind: Kind, body: &[u8]) -> Vec<u8> {
        [&answer_head(kind, &NAME, body)[..], body].concat()
    }

    #[test]
    fn question_comes_back() {
        let head = question_head(&NAME, 700);
        assert_eq!(read_question_head(&head), Some((NAME, 700)));
        assert_eq!(read_question_head(&[0; QUESTION_HEAD_BYTES]), None);
    }

    #[test]
    fn answer_comes_back() {
        for (kind, body) in [(Kind::Code, &b"code"[..]), (Kind::Refusal, b""), (Kind::Refusal, b"why")] {
            let whole = answer(kind, body);
            assert_eq!(answer_bytes(&whole, &NAME, 4), Ok(Some(whole.len())));
            assert_eq!(read_answer(whole, &NAME), Ok((kind, body.to_vec())));
        }
    }

    #[test]
    fn answer_that_is_cut_changed_or_continued_anywhere_is_none() {
        let whole = answer(Kind::Code, b"machine code");
        for cut in 0..whole.len() {
            assert_eq!(read_answer(whole[..cut].to_vec(), &NAME), Err("its answer is not whole"), "{cut}");
        }
        for (at, bit) in (0..whole.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
            let mut changed = whole.clone();
            changed[at] ^= 1 << bit;
            assert!(read_answer(changed, &NAME).is_err(), "{at}");
        }
        let more = [&whole[..], b"x"].concat();
        assert_eq!(read_answer(more, &NAME), Err("there is more behind its answer"));
    }

    #[test]
    fn answer_for_other_code_or_of_too_many_bytes_is_refused_by_its_head() {
        let whole = answer(Kind::Code, &[0; 100]);
        let head = &whole[..ANSWER_HEAD_BYTES];
        assert_eq!(answer_bytes(head, &[4; 32], 100), Err("its answer is for other code"));
        assert_eq!(answer_bytes(head, &NAME, 99), Err("its answer is longer than it may be"));
        assert_eq!(answer_bytes(head, &NAME, 100), Ok(Some(whole.len())));
        assert_eq!(answer_bytes(&head[..20], &NAME, 100), Ok(None));
        assert_eq!(answer_bytes(b"running 1 test", &NAME, 100), Err("what it says is no answer"));
    }
}
