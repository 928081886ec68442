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

/// What nearly all of them are: a placeholder behind which the connection stays open.
const USUAL: &[u8] = b"HTTP/1.1 204 No Content\r\n\r\n";

/// Takes the heads out that are whole, and shows what each means.
pub(crate) fn take(bytes: &mut Vec<u8>, mut show: impl FnMut(Own)) {
    let mut from = 0;
    while let Some(rest) = bytes.get(from..) {
        if rest.starts_with(USUAL) {
            show(Own::Placeholder);
            from += USUAL.len();
            continue;
        }
        let Some(length) = end_of_head(rest) else { break };
        let status = rest.get(9..12).and_then(|digits| core::str::from_utf8(digits).ok());
        match status.and_then(|digits| digits.parse().ok()) {
            Some(100) => show(Own::Continue),
            Some(status) if status == PLACEHOLDER.as_u16() => show(Own::Placeholder),
            Some(status) => show(Own::Error(status)),
            None => {}
        }
        from += length;
    }
    bytes.drain(..from);
}

fn end_of_head(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(bytes: &mut Vec<u8>) -> Vec<Own> {
        let mut heads = Vec::new();
        take(bytes, |own| heads.push(own));
        heads
    }

    #[test]
    fn heads_are_taken_when_they_are_whole() {
        let mut bytes =
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\nconnection: close\r\n\r\nHTTP/1.1 431 "
                .to_vec();
        assert_eq!(taken(&mut bytes), [Own::Continue, Own::Placeholder]);
        bytes.extend_from_slice(b"Too\r\ncontent-length: 0\r\n\r\n");
        assert_eq!(taken(&mut bytes), [Own::Error(431)]);
        assert!(bytes.is_empty());
    }

    #[test]
    fn usual_head_is_taken_once_all_of_it_is_there() {
        let mut bytes = [USUAL, USUAL, &USUAL[..26]].concat();
        assert_eq!(taken(&mut bytes), [Own::Placeholder; 2]);
        bytes.push(b'\n');
        assert_eq!(taken(&mut bytes), [Own::Placeholder]);
        assert!(bytes.is_empty());
    }
}
