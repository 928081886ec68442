//! DER (X.690), as much as the name in a certificate needs: elements with a one-byte tag and a definite length. Borrows
//! from what it reads, and believes no length that reaches beyond it.

/// The known tags.
pub(crate) mod tag {
    pub(crate) const INTEGER: u8 = 0x02;
    pub(crate) const OBJECT_IDENTIFIER: u8 = 0x06;
    pub(crate) const UTF8_STRING: u8 = 0x0c;
    pub(crate) const PRINTABLE_STRING: u8 = 0x13;
    pub(crate) const TELETEX_STRING: u8 = 0x14;
    pub(crate) const IA5_STRING: u8 = 0x16;
    pub(crate) const GENERAL_STRING: u8 = 0x1b;
    pub(crate) const BMP_STRING: u8 = 0x1e;
    pub(crate) const SEQUENCE: u8 = 0x30;
    pub(crate) const SET: u8 = 0x31;
    /// `[0] EXPLICIT`.
    pub(crate) const CONTEXT_0: u8 = 0xa0;
}

/// One element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element<'a> {
    pub(crate) tag: u8,
    pub(crate) content: &'a [u8],
    /// The whole encoding: tag, length and content.
    pub(crate) encoding: &'a [u8],
}

/// Elements one behind the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Elements<'a>(pub(crate) &'a [u8]);

impl<'a> Elements<'a> {
    /// Takes the next element; `None` if there is none, or it is no DER.
    pub(crate) fn next(&mut self) -> Option<Element<'a>> {
        let (tag, rest) = self.0.split_first()?;
        // A tag of several bytes stands nowhere before a certificate's extensions.
        if tag & 0x1f == 0x1f {
            return None;
        }
        let (length, rest) = length(rest)?;
        let (content, rest) = rest.split_at_checked(length)?;
        let encoding = self.0.get(..self.0.len() - rest.len())?;
        self.0 = rest;
        Some(Element { tag: *tag, content, encoding })
    }

    /// Takes the next element, which must have this tag.
    pub(crate) fn expect(&mut self, tag: u8) -> Option<Element<'a>> {
        self.next().filter(|element| element.tag == tag)
    }

    /// Takes the next element if it has this tag.
    pub(crate) fn optional(&mut self, tag: u8) -> Option<Element<'a>> {
        if self.0.first() == Some(&tag) { self.next() } else { None }
    }

    /// Whether all were taken.
    pub(crate) const fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }
}

/// A length in the one form that DER allows, and what is behind it.
fn length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    if *first < 0x80 {
        return Some((usize::from(*first), rest));
    }
    let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
    if digits.len() > 4 || digits.first().is_none_or(|digit| *digit == 0) {
        return None;
    }
    let length = digits.iter().fold(0_u32, |length, digit| length << 8 | u32::from(*digit));
    let length = usize::try_from(length).ok()?;
    (length >= 0x80).then_some((length, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(bytes: &[u8]) -> Option<usize> {
        Elements(bytes).next().map(|element| element.content.len())
    }

    #[test]
    fn elements_follow_each_other() {
        let mut elements = Elements(&[2, 1, 7, 0x30, 0, 0x0c, 2, b'a', b'b']);
        assert_eq!(elements.optional(tag::SEQUENCE), None);
        assert_eq!(elements.expect(tag::INTEGER).map(|one| one.content), Some(&[7][..]));
        assert_eq!(elements.optional(tag::SEQUENCE).map(|one| one.content.len()), Some(0));
        let text = elements.next().expect("a text");
        assert_eq!(
            (text.tag, text.content, text.encoding),
            (tag::UTF8_STRING, &b"ab"[..], &b"\x0c\x02ab"[..])
        );
        assert!(elements.is_at_end() && elements.next().is_none());
    }

    #[test]
    fn length_has_one_form_and_stays_within_the_bytes() {
        let long = |header: &[u8], bytes: usize| [&[4], header, &vec![0; bytes][..]].concat();
        assert_eq!(only(&long(&[0x7f], 127)), Some(127));
        assert_eq!(only(&long(&[0x81, 0x80], 128)), Some(128));
        assert_eq!(only(&long(&[0x82, 1, 0], 256)), Some(256));
        for (header, bytes) in [
            (&[0x7f][..], 126),
            (&[0x80], 10),
            (&[0x81, 0x7f], 127),
            (&[0x82, 0, 0x80], 128),
            (&[0x84, 0xff, 0xff, 0xff, 0xff], 100),
            (&[0x85, 0, 0, 0, 0, 1], 1),
            (&[0x88, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], 1),
            (&[0xff], 1),
            (&[], 0),
        ] {
            assert_eq!(only(&long(header, bytes)), None, "{header:?}");
        }
        assert_eq!(only(&[0x1f, 1, 0]), None, "a tag of several bytes");
    }
}
