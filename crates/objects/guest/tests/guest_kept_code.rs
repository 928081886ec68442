//! Machine code in files: a later process compiles nothing again, and runs nothing that another has put there.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{Bench, around};
use objects_guest::{Guests, Settings};
use objects_state::guest::{Engine, Version};

const VERSION: objects_state::guest::VersionHash = common::VERSION;

fn module() -> Vec<u8> {
    let body = "(call $give (i64.add (i64.load (i32.const 64)) (i64.const 1)))";
    wat::parse_str(around(r#"(memory (export "memory") 1) (data (i32.const 64) "\06")"#, body)).unwrap()
}

/// A process with that directory, which has made the module ready.
fn process(directory: &Path) -> Bench {
    let engine = Guests::new(Settings { directory: Some(directory.into()), ..Settings::default() });
    engine.prepare(&Version { hash: VERSION, module: &module(), source: None });
    engine.ready(VERSION).unwrap();
    Bench { engine, version: VERSION, objects: Default::default(), position: 0 }
}

fn works(bench: &mut Bench) {
    assert_eq!(bench.call("x", b"").outcome.unwrap(), 7_i64.to_le_bytes());
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(directory.join("code")).unwrap().flatten().map(|entry| entry.path());
    let mut files: Vec<_> = files.filter(|file| file.extension().is_some_and(|end| end == "code")).collect();
    files.sort();
    files
}

#[test]
fn second_process_compiles_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut first = process(folder.path());
    works(&mut first);
    assert_eq!((first.engine.compiled_count(), files(folder.path()).len()), (1, 1));
    drop(first);
    let mut second = process(folder.path());
    works(&mut second);
    assert_eq!(second.engine.compiled_count(), 0);
}

#[test]
fn damaged_code_is_compiled_anew_and_kept_again() {
    let folder = tempfile::tempdir().unwrap();
    drop(process(folder.path()));
    let file = files(folder.path()).remove(0);
    let sound = fs::read(&file).unwrap();
    for place in [0, 40, sound.len() / 2, sound.len() - 1] {
        let mut damaged = sound.clone();
        damaged[place] ^= 1;
        fs::write(&file, damaged).unwrap();
        let mut again = process(folder.path());
        works(&mut again);
        assert_eq!(again.engine.compiled_count(), 1, "{place}");
        assert_eq!(fs::read(&file).unwrap(), sound, "it is kept again");
    }
    fs::write(&file, b"").unwrap();
    works(&mut process(folder.path()));
}

#[test]
fn code_that_another_has_put_there_is_not_run() {
    let (own, theirs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    drop(process(own.path()));
    drop(process(theirs.path()));
    // The very same module, by the same build: only the secret is another.
    let (file, foreign) = (files(own.path()).remove(0), files(theirs.path()).remove(0));
    assert_eq!(file.file_name(), foreign.file_name());
    fs::copy(foreign, &file).unwrap();
    let mut again = process(own.path());
    works(&mut again);
    assert_eq!(again.engine.compiled_count(), 1);
}

#[test]
fn directory_that_cannot_be_used_is_done_without() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("code"), b"no directory").unwrap();
    fs::create_dir(folder.path().join("marks")).unwrap();
    works(&mut process(folder.path()));
}
