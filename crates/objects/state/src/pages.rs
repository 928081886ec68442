//! What a run has changed of an object's memory: pages, and of each the lines that differ, so that a call costs by what it wrote.

/// Bytes of a page of an object's memory.
pub const PAGE_BYTES: usize = 4096;
/// Bytes of a line of a page.
pub const LINE_BYTES: usize = PAGE_BYTES / LINES;
/// Lines of a page: each has a bit.
const LINES: usize = 64;
const WHOLE: u64 = u64::MAX;

/// Bytes of the number whose bits say which lines a record has.
const WHICH_BYTES: usize = size_of::<u64>();

/// A page's record: what an object has of a page that differs from its version's image. Either the whole page, or a number whose bits
/// say which lines are the object's own, and behind it these lines; all others are the image's.
///
/// A record that failing memory has changed is read, too: what it does not have is the image's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnPage<'a> {
    which: u64,
    contents: &'a [u8],
}

impl<'a> OwnPage<'a> {
    /// What is the image's.
    pub const NONE: Self = Self { which: 0, contents: &[] };

    /// Reads a record.
    #[must_use]
    pub fn of(record: &'a [u8]) -> Self {
        if record.len() == PAGE_BYTES {
            return Self { which: WHOLE, contents: record };
        }
        match record.split_first_chunk::<WHICH_BYTES>() {
            Some((which, contents)) => Self { which: u64::from_le_bytes(*which), contents },
            None => Self { which: 0, contents: &[] },
        }
    }

    /// Whether bytes are a record.
    pub(crate) fn is_sound(record: &[u8]) -> bool {
        let OwnPage { which, contents } = OwnPage::of(record);
        let is_short = which != WHOLE || record.len() == PAGE_BYTES;
        which != 0 && is_short && contents.len() == which.count_ones() as usize * LINE_BYTES
    }

    /// The lines that are its own, by their bits.
    #[must_use]
    pub const fn which(self) -> u64 {
        self.which
    }

    /// Its own lines, each with its number, in order.
    pub fn lines(self) -> impl Iterator<Item = (usize, &'a [u8; LINE_BYTES])> {
        places(self.which).zip(self.contents.as_chunks().0)
    }

    /// Puts its own lines into a page that is the image's.
    pub fn put_into(self, page: &mut [u8]) {
        for (line, contents) in self.lines() {
            page[line * LINE_BYTES..][..LINE_BYTES].copy_from_slice(contents);
        }
    }

    /// All lines from that one on: its own, and those of the image's page between them.
    pub fn over(
        self,
        image: &'a [u8; PAGE_BYTES],
        first: usize,
    ) -> impl Iterator<Item = &'a [u8; LINE_BYTES]> {
        let lines = self.contents.as_chunks().0;
        let mut own = lines.get(rank(self.which, first)..).unwrap_or_default().iter();
        let mut which = self.which >> first;
        image.as_chunks().0[first..].iter().map(move |line| {
            let is_own = which & 1 == 1;
            which >>= 1;
            if is_own { own.next().unwrap_or(line) } else { line }
        })
    }
}

/// How many lines a record has before that one.
const fn rank(which: u64, line: usize) -> usize {
    if which == WHOLE { line } else { (which & !(u64::MAX << line)).count_ones() as usize }
}

/// Where lines begin in a record that has them, in order.
fn places_in(record: &[u8], lines: u64) -> impl Iterator<Item = usize> + use<> {
    let OwnPage { which, contents } = OwnPage::of(record);
    let begin = record.len() - contents.len();
    places(lines).map(move |line| begin + rank(which, line) * LINE_BYTES)
}

/// What has changed of one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// It is as in the version's image again.
    Gone,
    /// It was as in the image, and all of it is here. The lines whose bits are set differ from the image.
    New(u64),
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

    /// A page is this now, and any of its lines may differ from the image.
    pub fn whole(&mut self, number: u32, page: &[u8; PAGE_BYTES]) {
        self.lines(number, WHOLE, page);
    }

    /// A page that was as in the version's image is this now: the lines whose bits are set differ.
    pub fn new_page(&mut self, number: u32, lines: u64, page: &[u8; PAGE_BYTES]) {
        self.changes.push((number, Change::New(lines)));
        self.contents.extend_from_slice(page);
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
                (*number, Some(Lines { lines, own: lines, contents }))
            }
            Change::New(own) => {
                let contents;
                (contents, rest) = rest.split_at(PAGE_BYTES);
                (*number, Some(Lines { lines: WHOLE, own, contents }))
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
    /// Those that are here.
    lines: u64,
    /// Those that differ from the image, of a new page.
    own: u64,
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

    /// Which differ from the image, of a new page; otherwise all that are here.
    pub(crate) const fn own(&self) -> u64 {
        self.own
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

    /// Whether these are some lines of a page, and its record has all of them: they may take the places of others.
    pub(crate) fn fit_in_place(self, record: &[u8]) -> bool {
        self.lines != WHOLE && self.lines & !OwnPage::of(record).which() == 0
    }

    /// Puts the lines into a record that has them. What was in their places is appended to `kept`.
    pub(crate) fn exchange(self, record: &mut [u8], kept: &mut Vec<u8>) -> KeptLines {
        let begin = kept.len();
        for (start, contents) in places_in(record, self.lines).zip(self.contents.chunks(LINE_BYTES)) {
            let place = &mut record[start..start + LINE_BYTES];
            kept.extend_from_slice(place);
            place.copy_from_slice(contents);
        }
        KeptLines { lines: self.lines, begin }
    }

    /// The record of a page that had this one, or none: with these lines in it. `by_lines`: a new one has its own lines only.
    #[must_use]
    pub fn record(self, before: Option<&[u8]>, by_lines: bool) -> Vec<u8> {
        let own = match before {
            Some(before) => OwnPage::of(before).which() | self.lines,
            // One that has none of its own would be no record.
            None if by_lines && self.own != 0 => self.own,
            None => WHOLE,
        };
        let mut page = [0; PAGE_BYTES];
        if let Some(before) = before {
            OwnPage::of(before).put_into(&mut page);
        }
        self.put_into(&mut page);
        if own == WHOLE {
            return page.to_vec();
        }
        let lines = places(own).map(|line| &page[line * LINE_BYTES..][..LINE_BYTES]);
        let mut record = own.to_le_bytes().to_vec();
        lines.for_each(|line| record.extend_from_slice(line));
        record
    }
}

/// Lines of a page as they were, which lie among others from there on.
pub(crate) struct KeptLines {
    lines: u64,
    begin: usize,
}

impl KeptLines {
    /// The last ones that are kept go back into the record, and are kept no longer.
    pub(crate) fn put_back(&self, record: &mut [u8], kept: &mut Vec<u8>) {
        let contents = kept[self.begin..].chunks(LINE_BYTES);
        for (start, contents) in places_in(record, self.lines).zip(contents) {
            record[start..start + LINE_BYTES].copy_from_slice(contents);
        }
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
    fn record_that_memory_has_changed_is_read_and_is_not_sound() {
        let mut pages = Pages::default();
        pages.new_page(3, 0b101, &[7; PAGE_BYTES]);
        let sound = pages.iter().next().unwrap().1.unwrap().record(None, true);
        assert!(OwnPage::is_sound(&sound) && sound.len() == WHICH_BYTES + 2 * LINE_BYTES);
        let lines = |record: &[u8]| OwnPage::of(record).lines().map(|(line, _)| line).collect::<Vec<_>>();
        assert_eq!(lines(&sound), [0, 2]);
        let image = [1; PAGE_BYTES];
        let over = OwnPage::of(&sound).over(&image, 1).map(|line| line[0]);
        assert_eq!(over.take(4).collect::<Vec<_>>(), [1, 7, 1, 1]);
        assert_eq!(OwnPage::of(&sound[..WHICH_BYTES]).over(&image, 63).map(|line| line[0]).last(), Some(1));
        let flipped = |bit: u8| [&[sound[0] ^ bit], &sound[1..]].concat();
        let wrong =
            [flipped(1), flipped(2), sound[..sound.len() - 1].to_vec(), vec![], vec![0; 8], vec![0; 7]];
        let mut pages = Pages::default();
        pages.new_page(3, 0, &[0; PAGE_BYTES]);
        assert!(OwnPage::is_sound(&pages.iter().next().unwrap().1.unwrap().record(None, true)));
        for wrong in wrong {
            assert!(!OwnPage::is_sound(&wrong) && lines(&wrong).len() <= 2, "{wrong:?}");
        }
        let all = [&u64::MAX.to_le_bytes()[..], &[7; PAGE_BYTES]].concat();
        assert!(!OwnPage::is_sound(&all) && OwnPage::is_sound(&[7; PAGE_BYTES]), "one form for a whole page");
    }

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
