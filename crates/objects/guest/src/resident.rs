//! A copy of an object between two calls.

use std::sync::Arc;

use objects_state::guest::{Ended, Entry, Failure, Host, LINE_BYTES, PAGE_BYTES, Pages, Run, VersionHash};

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
            let page = host.page(*number).expect("a page that is listed is there");
            page_mut(&mut instance, *number).copy_from_slice(page);
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
            let before = (own, image_page(image, number));
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
            let (number, at) = (page_of(part), part.start % PAGE_BYTES);
            let page = host.page(number).unwrap_or_else(|| image_page(&self.prepared.image, number));
            let place = &mut self.instance.bytes_mut()[part.start..part.start + part.bytes];
            place.copy_from_slice(&page[at..at + part.bytes]);
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
    (own, image): (Option<&[u8]>, &[u8; PAGE_BYTES]),
    pages: &mut Pages,
) -> bool {
    let before = own.unwrap_or(image);
    let (mut lines, mut is_image) = (0_u64, true);
    for part in written {
        let at = part.start % PAGE_BYTES;
        // A stripe begins with a line, and what may be written of the next one is less than a line.
        for at in (at..at + part.bytes).step_by(LINE_BYTES) {
            let line = |page| line_at(page, at);
            if differs(line(now), line(before)) {
                lines |= 1 << (at / LINE_BYTES);
                is_image &= !differs(line(now), line(image));
            }
        }
    }
    match own {
        _ if lines == 0 => {}
        Some(_) if is_image && now == image => pages.gone(number),
        Some(_) => pages.lines(number, lines, now),
        None => {
            pages.whole(number, now);
            return true;
        }
    }
    false
}

fn line_at(page: &[u8], at: usize) -> &[u8; LINE_BYTES] {
    page[at..].first_chunk().expect("a page has whole lines")
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
