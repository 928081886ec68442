//! Modules that a generator wrote: none makes the engine panic, and each gives the same twice.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod common;

use common::generated::module;
use common::{Bench, VERSION};
use objects_guest::{Guests, Settings, Tracking, check};
use objects_state::guest::{Engine, Entry, Version};

/// Modules of a run.
const MODULES: u64 = 300;
/// A module in an engine, if it may be there.
fn bench(module: &[u8], settings: Settings) -> Option<Bench> {
    let engine = Guests::new(settings);
    engine.prepare(&Version { hash: VERSION, module, source: None });
    engine.ready(VERSION).ok()?;
    Some(Bench { engine, version: VERSION, objects: Default::default(), position: 0 })
}

/// Why a module is refused, without what differs.
fn refusal(module: &[u8]) -> String {
    let detail = common::prepared(module, None).err().unwrap().detail;
    detail.chars().filter(|letter| !letter.is_ascii_digit()).take(60).collect()
}

#[test]
fn generated_modules_give_the_same_twice_and_never_panic() {
    let mut refused = std::collections::BTreeMap::new();
    let (mut accepted, mut succeeded, mut wrote) = (0, 0, 0);
    for seed in 0..MODULES {
        let Some(module) = module(seed) else { continue };
        let kept = bench(&module, Settings::default());
        let fresh = bench(&module, Settings { tracking: Tracking::Compare, ..Settings::default() });
        assert_eq!(kept.is_some(), fresh.is_some());
        if kept.is_none() {
            *refused.entry(refusal(&module)).or_insert(0) += 1;
        }
        let (Some(mut kept), Some(mut fresh)) = (kept, fresh) else { continue };
        accepted += 1;
        let entries = [
            Entry::Call { method: "", args: b"" },
            Entry::Timer(seed),
            Entry::Call { method: "m", args: &[7; 100] },
            Entry::Save,
            Entry::Timer(1),
            Entry::Save,
        ];
        for entry in entries {
            let ended = kept.enter(1, entry);
            assert_eq!(ended, fresh.enter(1, entry), "module {seed}");
            fresh.engine.forget(1);
            succeeded += u64::from(ended.outcome.is_ok());
            wrote += u64::from(!ended.pages.is_empty() || ended.registers.is_some());
        }
    }
    println!(
        "{accepted} of {MODULES} modules, {succeeded} calls succeeded, {wrote} wrote; refused: {refused:?}"
    );
    assert!(accepted > MODULES / 3 && succeeded > MODULES / 3 && wrote > 20);
}

#[test]
fn bytes_that_are_no_module_are_refused() {
    for seed in 0..50 {
        let Some(mut module) = module(seed) else { continue };
        for at in (8..module.len()).step_by(97) {
            module[at] ^= 0x55;
            // Whatever it says.
            let _ = check(&module, None);
        }
    }
}
