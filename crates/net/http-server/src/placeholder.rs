//! What `hyper` would have sent: read, and mostly thrown away.

use crate::exchange::PLACEHOLDER;

/// What one of its heads means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Own {
    /// It stands for a response of ours.
    Placeholder,
    /// The client is to send its body.
    Continue,
    /// What the client sent is no HTTP, or too long: the status that says so.
    Error(u16),
}

/// Takes the heads out that are whole.
pub(crate) fn take(bytes: &mut Vec<u8>) -> Vec<Own> {
    let mut heads = Vec::new();
    let mut from = 0;
    while let Some(length) = bytes.get(from..).and_then(end_of_head) {
        let status = bytes.get(from + 9..from + 12).and_then(|digits| core::str::from_utf8(digits).ok());
        match status.and_then(|digits| digits.parse().ok()) {
            Some(100) => heads.push(Own::Continue),
            Some(status) if status == PLACEHOLDER.as_u16() => heads.push(Own::Placeholder),
            Some(status) => heads.push(Own::Error(status)),
            None => {}
        }
        from += length;
    }
    bytes.drain(..from);
    heads
}

fn end_of_head(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_taken_when_they_are_whole() {
        let mut bytes =
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\nconnection: close\r\n\r\nHTTP/1.1 431 "
                .to_vec();
        assert_eq!(take(&mut bytes), [Own::Continue, Own::Placeholder]);
        bytes.extend_from_slice(b"Too\r\ncontent-length: 0\r\n\r\n");
        assert_eq!(take(&mut bytes), [Own::Error(431)]);
        assert!(bytes.is_empty());
    }
}
