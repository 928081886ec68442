//! Bytes as a script: taken piece by piece from the front, so that a change of one byte changes little else.

/// What is left of an input.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    /// The whole input.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// One byte; nothing at the end.
    pub fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    /// Two bytes as a number, the high one first; nothing at the end.
    pub fn short(&mut self) -> Option<u16> {
        let (first, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(u16::from_be_bytes(*first))
    }

    /// A piece with its length in two bytes before it, cut short at the end of the input; nothing at the end.
    pub fn piece(&mut self) -> Option<&'a [u8]> {
        let length = usize::from(self.short()?);
        let (piece, rest) = self.rest.split_at(length.min(self.rest.len()));
        self.rest = rest;
        Some(piece)
    }

    /// All that is left.
    #[must_use]
    pub const fn rest(self) -> &'a [u8] {
        self.rest
    }
}

/// Appends a piece as [`Input::piece`] takes it.
///
/// # Panics
/// When it is longer than 65535 bytes.
pub fn put_piece(out: &mut Vec<u8>, piece: &[u8]) {
    let length = u16::try_from(piece.len()).expect("a seed's piece is short");
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(piece);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_back_and_the_last_may_be_cut() {
        let mut bytes = vec![7];
        put_piece(&mut bytes, b"one");
        put_piece(&mut bytes, b"two");
        bytes.pop();
        let mut input = Input::new(&bytes);
        assert_eq!(
            (input.byte(), input.piece(), input.piece()),
            (Some(7), Some(&b"one"[..]), Some(&b"tw"[..]))
        );
        assert_eq!((input.piece(), input.byte()), (None, None));
    }
}
