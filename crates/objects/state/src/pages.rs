//! What a run has changed of an object's memory: pages, and of each the lines that differ, so that a call costs by what it wrote.

/// Bytes of a page of an object's memory.
pub const PAGE_BYTES: usize = 4096;
/// Bytes of a line of a page.
pub const LINE_BYTES: usize = PAGE_BYTES / LINES;
/// Lines of a page: each has a bit.
const LINES: usize = 64;
const WHOLE: u64 = u64::MAX;

/// What has changed of one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// It is as in the version's image again.
    Gone,
    /// The lines whose bits are set are others; the contents of all pages' lines lie behind each other.
    Lines(u64),
}

/// Pages that differ from before a run, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pages {
    changes: Vec<(u32, Change)>,
    contents: Vec<u8>,
}

impl Pages {
    /// None, and no room for any.
    #[must_use]
    pub const fn new() -> Self {
        Self { changes: Vec::new(), contents: Vec::new() }
    }

    /// Forgets all, and keeps its room.
    pub fn clear(&mut self) {
        self.changes.clear();
        self.contents.clear();
    }

    /// Bytes for which there is room.
    #[must_use]
    pub const fn room(&self) -> usize {
        self.contents.capacity()
    }

    /// A page is as in the version's image again. It was not before.
    pub fn gone(&mut self, number: u32) {
        self.changes.push((number, Change::Gone));
    }

    /// A page is this now.
    pub fn whole(&mut self, number: u32, page: &[u8; PAGE_BYTES]) {
        self.lines(number, WHOLE, page);
    }

    /// Lines of a page differ from what they were, those whose bits are set; the object has had that page.
    pub fn lines(&mut self, number: u32, lines: u64, page: &[u8; PAGE_BYTES]) {
        self.changes.push((number, Change::Lines(lines)));
        if lines == WHOLE {
            return self.contents.extend_from_slice(page);
        }
        for line in places(lines) {
            self.contents.extend_from_slice(&page[line * LINE_BYTES..][..LINE_BYTES]);
        }
    }

    /// The lines of all pages, behind each other.
    pub(crate) fn contents(&self) -> &[u8] {
        &self.contents
    }

    /// How many.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.changes.len()
    }

    /// Whether none has changed.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Each page, and what differs of it; nothing if it is as in the image again.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Option<Lines<'_>>)> {
        let mut rest = &self.contents[..];
        self.changes.iter().map(move |(number, change)| match *change {
            Change::Gone => (*number, None),
            Change::Lines(lines) => {
                let contents;
                (contents, rest) = rest.split_at(lines.count_ones() as usize * LINE_BYTES);
                (*number, Some(Lines { lines, contents }))
            }
        })
    }
}

impl FromIterator<(u32, Option<[u8; PAGE_BYTES]>)> for Pages {
    fn from_iter<I: IntoIterator<Item = (u32, Option<[u8; PAGE_BYTES]>)>>(pages: I) -> Self {
        let mut all = Self::default();
        for (number, page) in pages {
            match page {
                Some(page) => all.whole(number, &page),
                None => all.gone(number),
            }
        }
        all
    }
}

/// Lines of a page.
#[derive(Clone, Copy, Debug)]
pub struct Lines<'a> {
    lines: u64,
    contents: &'a [u8],
}

impl<'a> Lines<'a> {
    /// The page, if all of its lines are here.
    #[must_use]
    pub fn page(&self) -> Option<&'a [u8]> {
        (self.lines == WHOLE).then_some(self.contents)
    }

    /// Which they are, by their bits.
    #[must_use]
    pub const fn which(&self) -> u64 {
        self.lines
    }

    /// Where each line lies in its page, and what it is.
    pub fn iter(self) -> impl Iterator<Item = (usize, &'a [u8])> {
        places(self.lines).map(|line| line * LINE_BYTES).zip(self.contents.chunks(LINE_BYTES))
    }

    /// Puts the lines into a page.
    pub fn put_into(self, page: &mut [u8]) {
        for (start, line) in self.iter() {
            page[start..start + LINE_BYTES].copy_from_slice(line);
        }
    }

    /// Puts the lines into a page. What was in their places is appended to `kept`.
    pub(crate) fn exchange(self, page: &mut [u8], kept: &mut Vec<u8>) -> KeptLines {
        let begin = kept.len();
        for (start, line) in self.iter() {
            let place = &mut page[start..start + LINE_BYTES];
            kept.extend_from_slice(place);
            place.copy_from_slice(line);
        }
        KeptLines { lines: self.lines, begin }
    }
}

/// Lines of a page as they were, which lie among others from there on.
pub(crate) struct KeptLines {
    lines: u64,
    begin: usize,
}

impl KeptLines {
    /// The last ones that are kept go back, and are kept no longer.
    pub(crate) fn put_back(&self, page: &mut [u8], kept: &mut Vec<u8>) {
        Lines { lines: self.lines, contents: &kept[self.begin..] }.put_into(page);
        kept.truncate(self.begin);
    }
}

/// The lines whose bits are set, in order.
fn places(mut lines: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let next = lines.trailing_zeros() as usize;
        lines &= lines.wrapping_sub(1);
        (next < LINES).then_some(next)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_out_as_they_went_in_and_where_they_belong() {
        let page: [u8; PAGE_BYTES] = std::array::from_fn(|at| (at / LINE_BYTES) as u8 + 1);
        let mut pages = Pages::default();
        pages.lines(3, 1 << 63 | 1, &page);
        pages.gone(4);
        pages.whole(9, &page);
        assert_eq!((pages.len(), pages.is_empty()), (3, false));
        let told: Vec<_> = pages.iter().collect();
        let [(3, Some(some)), (4, None), (9, Some(all))] = told[..] else { panic!("{told:?}") };
        assert!(some.page().is_none() && all.page() == Some(&page[..]));
        let mut into = [0; PAGE_BYTES];
        some.put_into(&mut into);
        let firsts: Vec<u8> = into.chunks(LINE_BYTES).map(|line| line[0]).collect();
        assert_eq!((firsts[0], firsts[63], firsts.iter().sum::<u8>()), (1, 64, 65));
        let mut kept = vec![9];
        let before = all.exchange(&mut into, &mut kept);
        assert_eq!(into, page);
        before.put_back(&mut into, &mut kept);
        assert_eq!(kept, [9]);
        assert_eq!((into[0], into[LINE_BYTES], into[PAGE_BYTES - 1]), (1, 0, 64));
    }
}
