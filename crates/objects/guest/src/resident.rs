//! A copy of an object between two calls.

use std::sync::Arc;

use objects_state::guest::{
    Ended, Entry, Failure, Host, LINE_BYTES, OwnPage, PAGE_BYTES, Pages, Run, VersionHash,
};

use crate::description::Codec;
use crate::dirty::Written;
use crate::imports::{Facts, Phase, Random};
use crate::instance::Instance;
use crate::memory::Image;
use crate::prepared::Prepared;

/// Lines that a copy has room for between two runs.
const WRITTEN_KEPT_MAX: usize = 256;

/// An empty page.
static ZEROS: [u8; PAGE_BYTES] = [0; PAGE_BYTES];

/// A copy of an object.
pub(crate) struct Resident {
    version: VersionHash,
    prepared: Arc<Prepared>,
    instance: Instance,
    /// The position that it was left at.
    changed: u64,
    /// Pages that are its own and no longer the image's, at the most.
    own_pages: usize,
    /// Bytes that it took when that was noted last.
    noted: usize,
    /// The registers that it was left with.
    registers: Vec<u8>,
    /// Room for what a run has written.
    written: Vec<Written>,
}

/// A run that has ended, and of which nothing is taken back yet.
pub(crate) struct Entered(Ended);

impl Resident {
    /// Makes an object from image and pages.
    pub(crate) fn new(prepared: Arc<Prepared>, run: &Run<'_>, host: &dyn Host) -> Box<Self> {
        let mut instance = Instance::new(&prepared.recipe)
            .unwrap_or_else(|failure| unreachable!("the image's instance was made as well: {failure:?}"));
        instance.set_registers(host.registers().unwrap_or(&prepared.registers));
        let pages = host.pages();
        for number in &pages {
            let record = host.page(*number).expect("a page that is listed is there");
            OwnPage::of(record).put_into(page_mut(&mut instance, *number));
        }
        let (registers, own_pages) = (instance.registers(), pages.len());
        let (version, changed, written, noted) = (run.version, run.changed, Vec::new(), 0);
        Box::new(Self { version, prepared, instance, changed, own_pages, noted, registers, written })
    }

    /// Whether it is the object that a run means.
    pub(crate) fn is(&self, run: &Run<'_>) -> bool {
        self.version == run.version && self.changed == run.changed
    }

    pub(crate) fn is_of(&self, version: VersionHash) -> bool {
        self.version == version
    }

    /// Bytes that it takes, at the most.
    pub(crate) fn bytes(&self) -> usize {
        /// An instance without pages of its own: its store, its page tables.
        const INSTANCE_BYTES: usize = 32 << 10;
        let dirty = self.instance.dirty_bytes();
        INSTANCE_BYTES + dirty + (self.own_pages * PAGE_BYTES).min(self.instance.bytes().len())
    }

    /// The same, if that is something else than the last time.
    pub(crate) fn other_bytes(&mut self) -> Option<usize> {
        let bytes = self.bytes();
        (std::mem::replace(&mut self.noted, bytes) != bytes).then_some(bytes)
    }

    /// Runs a command's part. What it changes goes into `room`. Whether the copy may be kept is told beside.
    pub(crate) fn run(&mut self, run: &Run<'_>, host: &dyn Host, room: Pages) -> (Ended, bool) {
        let entered = self.enter(run, host);
        self.settle(entered, run.kept_at, host, room)
    }

    /// The first part of it, for which the host need not know the object's memory.
    pub(crate) fn enter(&mut self, run: &Run<'_>, host: &dyn Host) -> Entered {
        let phase = match run.entry {
            Entry::Call { .. } => Phase::Call,
            _ => Phase::Event,
        };
        Entered(self.entered(run, phase, host))
    }

    /// The rest of it: what the run has written becomes the object's, or is taken back.
    pub(crate) fn settle(
        &mut self,
        Entered(left): Entered,
        kept_at: u64,
        host: &dyn Host,
        room: Pages,
    ) -> (Ended, bool) {
        if left.outcome.is_err() {
            let ended = Ended { pages: Pages::default(), registers: None, acts: Vec::new(), ..left };
            return (ended, self.restore(host));
        }
        let pages = self.changes(host, room);
        let registers = self.take_registers();
        if !pages.is_empty() || registers.is_some() {
            self.changed = kept_at;
        }
        (Ended { pages, registers, acts: self.instance.take_acts(), ..left }, true)
    }

    /// Runs a query and takes back what it wrote.
    pub(crate) fn query(&mut self, run: &Run<'_>, host: &dyn Host) -> (Ended, bool) {
        let ended = self.entered(run, Phase::Query, host);
        let is_kept = self.restore(host);
        (ended, is_kept)
    }

    /// Runs a query on a copy that is thrown away, or a part of a migration that is only tried. Of one that takes over, which begins
    /// with the image, it is told which pages it has written.
    pub(crate) fn ask(&mut self, run: &Run<'_>, host: &dyn Host) -> Ended {
        let phase = match run.entry {
            Entry::Call { .. } => Phase::Query,
            _ => Phase::Event,
        };
        let ended = self.entered(run, phase, host);
        match run.entry {
            Entry::Migrate(_) if ended.outcome.is_ok() => {
                Ended { pages: self.changes(host, Pages::default()), ..ended }
            }
            _ => ended,
        }
    }

    fn entered(&mut self, run: &Run<'_>, phase: Phase, host: &dyn Host) -> Ended {
        let facts = Facts {
            phase,
            codec: if run.bytes { Codec::Raw } else { self.prepared.description.codec },
            now_ms: run.now_ms,
            position: run.position,
            random: Random(run.seed),
        };
        let fuel = self.prepared.description.fuel.min(run.fuel_max);
        // Within its slice a run ends as it would with more.
        let slice = run.slice.filter(|slice| *slice < fuel);
        let left = self.instance.enter(run.entry, facts, slice.unwrap_or(fuel), host);
        let outcome = match left.outcome {
            Err(Failure::OutOfFuel) if slice.is_some() => Err(Failure::Unfinished),
            outcome => outcome,
        };
        Ended { outcome, pages: Pages::default(), registers: None, acts: Vec::new(), fuel: left.fuel }
    }

    /// What differs from before.
    fn changes(&mut self, host: &dyn Host, mut pages: Pages) -> Pages {
        let Self { instance, written, prepared, own_pages, .. } = self;
        instance.take_written(written);
        let (memory, image) = (instance.bytes(), &prepared.image);
        let by_page = || written.chunk_by(|one, next| page_of(one) == page_of(next));
        pages.clear();
        let mut parts = by_page();
        host.each_page(&mut by_page().map(|parts| page_of(&parts[0])), &mut |number, own| {
            let parts = parts.next().expect("each page is looked at once, in order");
            let before = (own.map(OwnPage::of), image_page(image, number));
            let is_own = compare(number, parts, page(memory, number), before, &mut pages);
            *own_pages += usize::from(is_own);
        });
        give_back(written);
        pages
    }

    /// The registers, if a run has changed them.
    fn take_registers(&mut self) -> Option<Vec<u8>> {
        let registers = self.instance.registers_unless(&self.registers)?;
        self.registers.clone_from(&registers);
        Some(registers)
    }

    /// Takes back what a run has written; whether that was possible.
    fn restore(&mut self, host: &dyn Host) -> bool {
        // A memory does not shrink.
        if self.instance.registers()[..4] != self.registers[..4] {
            return false;
        }
        self.instance.set_registers(&self.registers);
        self.instance.take_written(&mut self.written);
        for part in &self.written {
            let number = page_of(part);
            let own = host.page(number).map_or(OwnPage::NONE, OwnPage::of);
            let before = own.over(image_page(&self.prepared.image, number), first_line(part));
            let place = &mut self.instance.bytes_mut()[part.start..part.start + part.bytes];
            for (place, before) in place.chunks_mut(LINE_BYTES).zip(before) {
                place.copy_from_slice(&before[..place.len()]);
            }
        }
        give_back(&mut self.written);
        true
    }
}

/// One run that writes much leaves no more room behind than others need.
fn give_back(written: &mut Vec<Written>) {
    written.clear();
    written.shrink_to(WRITTEN_KEPT_MAX);
}

/// Takes what differs of parts of a page from its own, or the image's if it had none. Whether it has its own from now on.
fn compare(
    number: u32,
    written: &[Written],
    now: &[u8; PAGE_BYTES],
    (own, image): (Option<OwnPage<'_>>, &[u8; PAGE_BYTES]),
    pages: &mut Pages,
) -> bool {
    let Some(own) = own else {
        let lines = written.iter().fold(0, |lines, part| lines | lines_that_differ(part, now, None, image));
        match lines {
            0 => {}
            _ if has_many(lines) => pages.whole(number, now),
            _ => pages.new_page(number, lines, now),
        }
        return lines != 0;
    };
    let lines = written.iter().fold(0, |lines, part| lines | lines_that_differ(part, now, Some(own), image));
    if lines != 0 {
        // Lines that are not its own are the image's.
        match is_equal(lines, now, image) && is_equal(own.which(), now, image) {
            true => pages.gone(number),
            false if lines & !own.which() != 0 && has_many(lines | own.which()) => pages.whole(number, now),
            false => pages.lines(number, lines, now),
        }
    }
    false
}

/// The line of its page with which a written part begins: stripes begin with one.
const fn first_line(part: &Written) -> usize {
    part.start % PAGE_BYTES / LINE_BYTES
}

/// Whether so many lines of a page are an object's own that its record has all: it does not grow again and again.
const fn has_many(lines: u64) -> bool {
    lines.count_ones() > 32
}

/// Lines of a written part that differ from what they were, by their bits.
fn lines_that_differ(
    part: &Written,
    now: &[u8; PAGE_BYTES],
    own: Option<OwnPage<'_>>,
    image: &[u8; PAGE_BYTES],
) -> u64 {
    // What may be written of the stripe behind is less than a line.
    let first = first_line(part);
    let end = first + part.bytes.div_ceil(LINE_BYTES);
    let before = own.unwrap_or(OwnPage::NONE).over(image, first);
    let lines = (first..end).zip(&now.as_chunks().0[first..end]).zip(before);
    lines.fold(0, |lines, ((line, now), before)| lines | u64::from(differs(now, before)) << line)
}

/// Whether none of those lines differs.
fn is_equal(mut lines: u64, one: &[u8; PAGE_BYTES], other: &[u8; PAGE_BYTES]) -> bool {
    let (one, other) = (one.as_chunks().0, other.as_chunks().0);
    while lines != 0 {
        let line = lines.trailing_zeros() as usize;
        lines &= lines - 1;
        if differs(&one[line], &other[line]) {
            return false;
        }
    }
    true
}

/// Whether two lines differ: without a branch for each word.
fn differs(one: &[u8; LINE_BYTES], other: &[u8; LINE_BYTES]) -> bool {
    let (one, other) = (one.as_chunks().0, other.as_chunks().0);
    let word = |bytes: &[u8; 8]| u64::from_ne_bytes(*bytes);
    one.iter().zip(other).fold(0, |all, (one, other)| all | word(one) ^ word(other)) != 0
}

/// The page that a written part lies in.
const fn page_of(part: &Written) -> u32 {
    (part.start / PAGE_BYTES) as u32
}

fn page(memory: &[u8], number: u32) -> &[u8; PAGE_BYTES] {
    memory[number as usize * PAGE_BYTES..].first_chunk().expect("a memory has whole pages")
}

/// A page of the image, which is empty behind its end.
pub(crate) fn image_page(image: &Image, number: u32) -> &[u8; PAGE_BYTES] {
    let start = number as usize * PAGE_BYTES;
    image.bytes().get(start..).and_then(<[u8]>::first_chunk).unwrap_or(&ZEROS)
}

fn page_mut(instance: &mut Instance, number: u32) -> &mut [u8] {
    let start = number as usize * PAGE_BYTES;
    let page = instance.bytes_mut().get_mut(start..start + PAGE_BYTES);
    page.expect("a page of an object lies in its memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page of which each line is one of a few.
    fn page(lines: &[u8; 64]) -> [u8; PAGE_BYTES] {
        std::array::from_fn(|at| lines[at / LINE_BYTES])
    }

    /// A page before and behind a run.
    struct Case {
        image: [u8; PAGE_BYTES],
        record: Option<Vec<u8>>,
        before: [u8; PAGE_BYTES],
        now: [u8; PAGE_BYTES],
        written: [Written; 2],
    }

    /// A page as it was, with lines that are the image's in its record or not, and a stripe of it that a run has written.
    fn case(mut drawn: impl FnMut(u64) -> u64) -> Case {
        // Most lines are alike, so that they often become what they were.
        let image_lines: [u8; 64] = std::array::from_fn(|_| drawn(2) as u8);
        let some = drawn(1 << 31) << 33 | drawn(1 << 31);
        let own = if drawn(4) == 0 { 0 } else { some & (u64::MAX << drawn(64)) };
        let mut lines = image_lines;
        (0..64).filter(|line| own >> line & 1 == 1).for_each(|line| lines[line] = drawn(2) as u8);
        let before = page(&lines);
        let record = (own != 0).then(|| {
            let mut pages = Pages::default();
            pages.new_page(0, own, &before);
            pages.iter().next().unwrap().1.unwrap().record(None, true)
        });
        let first = drawn(8) as usize * 8;
        let goes_back = drawn(2) == 0;
        for line in first..first + 8 {
            match goes_back {
                true => lines[line] = image_lines[line],
                false if drawn(3) == 0 => lines[line] = 2,
                false => {}
            }
        }
        let start = first * LINE_BYTES;
        let written =
            [Written { start, bytes: 512 }, Written { start: (start + 512) % PAGE_BYTES, bytes: 15 }];
        Case { image: page(&image_lines), record, before, now: page(&lines), written }
    }

    #[test]
    fn record_with_what_a_run_changed_is_the_page_behind_it_and_goes_with_the_last_difference() {
        let mut seed = 7_u64;
        let mut drawn = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let mut ends = [0; 4];
        for step in 0..4_000 {
            let Case { image, record, before, now, written } = case(&mut drawn);
            let mut pages = Pages::default();
            let is_own = compare(0, &written, &now, (record.as_deref().map(OwnPage::of), &image), &mut pages);
            let change = pages.iter().next();
            assert_eq!(is_own, record.is_none() && change.is_some(), "step {step}");
            assert_eq!(change.is_some(), now != before, "step {step}");
            let record = match change {
                None => record,
                Some((_, None)) => None,
                Some((_, Some(lines))) => Some(lines.record(record.as_deref(), true)),
            };
            assert!(record.is_none() || change.is_none() || now != image, "step {step}: it goes");
            let mut after = image;
            record.iter().for_each(|record| OwnPage::of(record).put_into(&mut after));
            assert_eq!(after, now, "step {step}");
            ends[usize::from(change.is_some()) + 2 * usize::from(record.is_some())] += 1;
        }
        assert!(ends.iter().all(|count| *count > 20), "{ends:?}");
    }
}
