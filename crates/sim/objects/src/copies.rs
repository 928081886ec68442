//! Copies of a state by way of its snapshot, on which a command is tried: for what the models do not know, the bytes of objects.

use base::WallTime;
use objects_state::{Command, Effect, Effects, Loader, Outcome, SnapshotProgress, State};
use serde_json::Value;

use crate::model::{Group, Told};
use crate::outcome::parsed;
use crate::rules::Wrong;

/// What the model says of a command, and whether that is a call which the state, which has not applied it yet, refuses for its
/// bytes.
pub(crate) fn apply_beside(
    group: &mut Group,
    state: &mut State,
    clock_ms: i64,
    command: &Command,
) -> Result<(Vec<Told>, bool), Wrong> {
    group.quotas.refused_for_bytes.clear();
    if group.quotas.has_bytes() {
        let mut effects = Effects::new();
        copy(state, 1 << 20, 1 << 20)?.apply(WallTime::of_ms(clock_ms), command, &mut effects);
        group.quotas.refused_for_bytes = refused_for_bytes(command, &effects).into();
    }
    let is_hinted = group.quotas.refused_for_bytes.contains(&true);
    let told = group.apply(clock_ms, command);
    Ok((told, is_hinted && group.quotas.refused_for_bytes.is_empty()))
}

/// Whether that refusal is by a quota of bytes: its words say so.
fn is_of_bytes(detail: &str) -> bool {
    detail.contains("the quota of namespace") && detail.contains(" bytes; ")
}

/// Which pieces of a command were refused for their bytes. A copy of a request that was refused before is no piece of work, and
/// asks for no hint.
fn refused_for_bytes(command: &Command, effects: &Effects) -> Vec<bool> {
    let outcome = effects.iter().find_map(|effect| match effect {
        Effect::Answered { outcome, .. } => Some(outcome),
        _ => None,
    });
    match (command, outcome) {
        (Command::Batch(_), Some(Outcome::Done(result))) => {
            let results = parsed(result)["results"].as_array().cloned().unwrap_or_default();
            let detail = |result: &Value| result["problem"]["detail"].as_str().is_some_and(is_of_bytes);
            results.iter().map(detail).collect()
        }
        (_, Some(Outcome::Refused(problem))) => vec![is_of_bytes(&problem.detail)],
        _ => Vec::new(),
    }
}

/// The state by way of its snapshot.
pub(crate) fn copy(state: &mut State, chunk: usize, piece: usize) -> Result<State, Wrong> {
    let before = state.digest();
    state.snapshot_begin();
    let mut bytes = Vec::new();
    while !matches!(state.snapshot_chunk(&mut bytes, chunk), SnapshotProgress::Done { .. }) {}
    let loaded = load(&bytes, piece)?;
    if loaded.digest() != before {
        return Err((24, "what was loaded has another digest".into()));
    }
    Ok(loaded)
}

pub(crate) fn load(bytes: &[u8], piece: usize) -> Result<State, Wrong> {
    let mut loader = Loader::new();
    let loaded = bytes.chunks(piece.max(1)).try_for_each(|piece| loader.chunk(piece));
    loaded
        .and_then(|()| loader.finish())
        .map_err(|wrong| (24, format!("a snapshot does not load: {wrong:?}")))
}
