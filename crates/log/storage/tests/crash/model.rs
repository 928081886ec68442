//! A partition as its owner knows it: what was given, and what was flushed. It knows no file.

use std::collections::BTreeMap;

use base::WallTime;
use log_partition::{LeaderEpoch, Offset, Place, SegmentId, State};
use log_storage::{Restored, RestoredBatch, RestoredEvent};

/// See the module. A batch ends at the offset that is its key.
#[derive(Clone, Default)]
pub(crate) struct Model {
    pub(crate) id: i32,
    /// All that were given, with their places.
    pub(crate) batches: BTreeMap<i64, (Place, Vec<u8>)>,
    pub(crate) end: i64,
    /// What is surely durable.
    pub(crate) flushed_end: i64,
    pub(crate) place: Place,
    /// Where the log begins, which is where a segment does.
    pub(crate) start: i64,
    /// Everything before is committed: it is never cut off.
    pub(crate) committed: i64,
    /// As it was before its end was cut off, if that is not durable.
    pub(crate) before_cut: Option<Box<Model>>,
    /// The epochs that were given.
    pub(crate) epochs: Vec<(LeaderEpoch, Option<Offset>)>,
    /// How many of them are surely durable.
    pub(crate) durable_epochs: usize,
    /// Where it begins at least, after a crash.
    pub(crate) least_start: i64,
    /// Whether it must be there, and whether it may be.
    pub(crate) created_durably: bool,
    pub(crate) dropped: bool,
}

impl Model {
    /// Its segments, with their content.
    pub(crate) fn segments(&self) -> BTreeMap<SegmentId, Vec<u8>> {
        let mut segments = BTreeMap::<_, Vec<u8>>::new();
        for (at, bytes) in self.batches.values().filter(|(at, _)| at.segment.0 >= self.start) {
            let content = segments.entry(SegmentId::appended(at.segment)).or_default();
            assert_eq!(content.len() as u64, at.position);
            content.extend_from_slice(bytes);
        }
        segments
    }

    /// The state that the owner gives.
    pub(crate) fn state(&self) -> State {
        let epochs = self.epochs.len() as i64;
        let bytes = [self.committed, self.start, epochs].map(i64::to_be_bytes).concat();
        State { end: Offset(self.committed), bytes }
    }

    /// Where the next batch stands if the log ends there.
    pub(crate) fn place_at(&self, end: i64) -> Place {
        let last = self.batches.range(..=end).next_back();
        let last = last.map(|(_, (at, bytes))| at.plus(bytes.len() as u64));
        last.filter(|at| at.segment.0 >= self.start).unwrap_or(Place { segment: Offset(end), position: 0 })
    }

    /// Whether what was given back is a beginning of it.
    fn has(&self, given: &Restored) -> bool {
        let is_own = |event: &RestoredEvent| match event {
            RestoredEvent::Batch(batch) => self
                .batches
                .get(&batch.end.0)
                .is_some_and(|own| (own.0, own.1.as_slice()) == (batch.at, &batch.batch[..])),
            _ => true,
        };
        given.end.0 <= self.end && given.events.iter().all(is_own)
    }

    /// What was given back must be what was flushed, with a beginning of what was not. It is the model from then on.
    pub(crate) fn restored(&self, given: &Restored) -> Self {
        if let Some(before) = self.before_cut.as_ref().filter(|_| !self.has(given)) {
            return before.restored(given);
        }
        let (log, end) = (given.log, given.end.0);
        assert!(end >= self.flushed_end, "{log}: flushed to {}, ends at {end}", self.flushed_end);
        let mut model = self.clone();
        model.batches.retain(|batch, _| *batch <= end);
        assert!(
            end == 0 || model.batches.contains_key(&end) || end == self.end,
            "{log}: no batch ends at {end}"
        );
        let number = |bytes: &[u8]| i64::from_be_bytes(bytes.try_into().expect("eight bytes"));
        let state = given.state.as_deref().unwrap_or(&[0; 24]);
        let state = (number(&state[..8]), number(&state[8..16]), number(&state[16..]));
        model.start = given.events.iter().fold(state.1, |start, event| match event {
            RestoredEvent::Start(later, _) => start.max(later.0),
            RestoredEvent::Batch(_) | RestoredEvent::Replaced(_) | RestoredEvent::Epoch(..) => start,
        });
        model.epochs.truncate(self.check_epochs(given, (state.0, state.2)));
        model.durable_epochs = model.epochs.len();
        assert!(model.start >= self.least_start && model.start <= self.start, "{log}: start {}", model.start);
        model.check_batches(given, state.0);
        (model.end, model.flushed_end, model.least_start) = (end, end, model.start);
        let last = model.batches.values().last();
        model.place = last.map_or(Place::default(), |(at, bytes)| at.plus(bytes.len() as u64));
        if model.place.segment.0 < model.start {
            model.place = Place { segment: Offset(model.end), position: 0 };
        }
        (model.created_durably, model.dropped, model.before_cut) = (true, false, None);
        model
    }

    /// Those behind the state are given back, in order, as far as they were durable, and those that were told before it and begin
    /// behind what it is of. Where the log was cut off before their beginning since, they may be forgotten. Gives how many there are with those that the state knows.
    fn check_epochs(&self, given: &Restored, (state_end, in_state): (i64, i64)) -> usize {
        let epoch = |event: &RestoredEvent| match event {
            RestoredEvent::Epoch(promised, begins) => Some((*promised, *begins)),
            _ => None,
        };
        let mut epochs: Vec<_> = given.events.iter().filter_map(epoch).collect();
        let (before, behind) = self.epochs.split_at(usize::try_from(in_state).expect("a count"));
        let is_stale = |at: usize| self.epochs[at..].iter().any(|later| later.1 < self.epochs[at].1);
        epochs.retain(|given| !before.iter().enumerate().any(|(at, own)| own == given && is_stale(at)));
        let is_again = |at: &usize| before[*at].1 > Some(Offset(state_end)) && !is_stale(*at);
        let again = (0..before.len()).filter(is_again).map(|at| &before[at]);
        let wanted: Vec<_> = again.chain(behind).copied().collect();
        assert!(wanted.starts_with(&epochs), "{epochs:?} of {wanted:?}");
        let count = self.epochs.len() - wanted.len() + epochs.len();
        assert!(count >= self.durable_epochs, "{epochs:?} of {wanted:?}: a durable one is lost");
        count
    }

    fn check_batches(&self, given: &Restored, state_end: i64) {
        let log = given.log;
        let batches = || {
            given.events.iter().filter_map(|event| match event {
                RestoredEvent::Batch(batch) => Some(batch),
                RestoredEvent::Start(..) | RestoredEvent::Replaced(_) | RestoredEvent::Epoch(..) => None,
            })
        };
        for batch in batches() {
            let own = self.batches.get(&batch.end.0).expect("it was given");
            assert_eq!((own.0, own.1.as_slice()), (batch.at, &batch.batch[..]));
            assert_eq!(batch.now, WallTime::of_ms(batch.end.0));
        }
        let ends = |which: fn(&RestoredBatch) -> bool| -> Vec<i64> {
            batches().filter(|batch| which(batch)).map(|batch| batch.end.0).collect()
        };
        let behind = |end: i64| -> Vec<i64> { self.batches.range(end + 1..).map(|(end, _)| *end).collect() };
        assert_eq!(ends(|batch| batch.is_behind_state), behind(state_end), "{log}: state at {state_end}");
        let flushed = given.flushed_end.0;
        assert_eq!(ends(|batch| !batch.is_written), behind(flushed), "{log}: behind what is flushed");
    }
}
