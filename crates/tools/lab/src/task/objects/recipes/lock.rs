//! A lock: pairs of acquire and release, or hand-offs among clients that all want it.

use std::io;
use std::time::{Duration, Instant};

use super::holder::Holder;
use super::{Asker, Crowd, Heard, Recipe, Tally, own, result};

/// How long a holder keeps the lock where others wait: a second holder would be seen. It counts nowhere.
const HELD: Duration = Duration::from_millis(1);

pub(super) struct Lock {
    path: String,
    /// Whether what lies between a release and the next grant is measured.
    hands_off: bool,
    holder: Holder,
    /// Whether each client gives the lock back, or else waits for it or keeps it.
    releasing: Vec<bool>,
    /// Who gives the lock back next, with which fence, and when.
    held: Option<(usize, u64, Instant)>,
    /// When the lock was given back last.
    released: Option<Instant>,
    /// When the pair that is under way was begun.
    began: Instant,
}

impl Lock {
    pub(super) fn new(hands_off: bool) -> Self {
        Self {
            path: own("lock"),
            hands_off,
            holder: Holder::default(),
            releasing: Vec::new(),
            held: None,
            released: None,
            began: Instant::now(),
        }
    }

    fn acquire(&mut self, place: usize, crowd: &mut Crowd<'_>) {
        self.began = Instant::now();
        self.releasing[place] = false;
        crowd.command(place, &format!("{}/acquire", self.path), "{}");
    }

    fn release(&mut self, place: usize, fence: u64, crowd: &mut Crowd<'_>) {
        self.holder.releases(place);
        self.releasing[place] = true;
        self.released = Some(Instant::now());
        crowd.command(place, &format!("{}/release", self.path), &format!("{{\"fence\":{fence}}}"));
    }

    fn granted(&mut self, heard: &Heard, crowd: &mut Crowd<'_>, tally: &mut Tally) -> io::Result<()> {
        let now = Instant::now();
        let answer = result(heard, "acquire")?;
        if !answer.says("acquired", "true") {
            tally.outcome.tell(|| format!("acquire was answered with {}", answer.in_words()));
        }
        let fence = answer.number("fence");
        let judged = self.holder.granted(heard.place, fence);
        let is_alone = judged.is_ok();
        tally.hold(judged);
        let fence = fence.unwrap_or_default();
        if !self.hands_off || !is_alone {
            self.release(heard.place, fence, crowd);
            return Ok(());
        }
        if let Some(released) = self.released {
            tally.record(now.saturating_duration_since(released));
        }
        self.held = Some((heard.place, fence, now + HELD));
        Ok(())
    }
}

impl Recipe for Lock {
    const NAME: &'static str = "lock";

    fn begin(&mut self, crowd: &mut Crowd<'_>) -> io::Result<()> {
        self.releasing = vec![false; crowd.len()];
        (0..crowd.len()).for_each(|place| self.acquire(place, crowd));
        Ok(())
    }

    fn heard(&mut self, heard: &Heard, crowd: &mut Crowd<'_>, tally: &mut Tally) -> io::Result<()> {
        if !self.releasing[heard.place] {
            return self.granted(heard, crowd, tally);
        }
        result(heard, "release")?;
        if !self.hands_off {
            tally.record(self.began.elapsed());
        }
        if !tally.is_ending {
            self.acquire(heard.place, crowd);
        }
        Ok(())
    }

    fn due(&mut self, crowd: &mut Crowd<'_>) -> Option<Duration> {
        let (place, fence, at) = self.held?;
        let left = at.saturating_duration_since(Instant::now());
        if left.is_zero() {
            self.held = None;
            self.release(place, fence, crowd);
        }
        Some(left)
    }

    fn end(&mut self, asker: &mut Asker<'_>, tally: &mut Tally) -> io::Result<()> {
        tally.outcome.checked.writes += self.holder.grants;
        let path = format!("{}/holder", self.path);
        let answer = asker.must(|wire| wire.get(&path))?;
        if answer.text("session").is_some() {
            tally.outcome.tell(|| format!("all gave the lock back, and it has {}", answer.in_words()));
        }
        Ok(())
    }
}
