//! What a connection is to be sent next.

/// A part of a file.
#[derive(Clone, Copy, Debug)]
pub struct FilePart<'f, F> {
    /// The file. What is at this place of it does not change.
    pub file: &'f F,
    /// Where the part begins.
    pub from: u64,
    /// How many bytes it has.
    pub length: usize,
}

/// Bytes, and perhaps a part of a file behind them.
#[derive(Debug)]
pub struct Output<'f, F> {
    /// The bytes.
    pub bytes: &'f [u8],
    /// The part of a file.
    pub file: Option<FilePart<'f, F>>,
}

/// A driver that sends no files has this type of them: there are none.
#[derive(Clone, Copy, Debug)]
pub enum NoFile {}

impl<'f, F> Output<'f, F> {
    /// Only bytes.
    #[must_use]
    pub const fn bytes(bytes: &'f [u8]) -> Self {
        Self { bytes, file: None }
    }

    /// How many bytes it is in all.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len() + self.file.as_ref().map_or(0, |part| part.length)
    }

    /// Whether it is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its beginning: so many bytes at most.
    #[must_use]
    pub fn first(self, most: usize) -> Self {
        let bytes = self.bytes.get(..most).unwrap_or(self.bytes);
        let room = most - bytes.len();
        let file = self.file.filter(|_| room > 0);
        Self { bytes, file: file.map(|part| FilePart { length: part.length.min(room), ..part }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginning_has_no_part_of_the_file_while_there_are_bytes_before_it() {
        let output = || Output { bytes: b"head", file: Some(FilePart { file: &(), from: 7, length: 10 }) };
        assert_eq!(output().len(), 14);
        let first = output().first(4);
        assert!(first.bytes == b"head" && first.file.is_none());
        let first = output().first(6);
        assert_eq!((first.bytes.len(), first.file.map(|part| (part.from, part.length))), (4, Some((7, 2))));
        let first = output().first(100);
        assert_eq!(first.len(), 14);
    }
}
