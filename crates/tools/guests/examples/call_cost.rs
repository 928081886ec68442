//! What one call of an object costs a member where commands are applied: `increment` of a built-in counter, and `hit` of an object
//! whose module counts alike, in one thread without a log and a network. Least and median of the parts of a run.
//!
//! `cargo run --release -p tools-guests --example call_cost -- hits.wasm [hits.py]`

use std::sync::Arc;
use std::time::Instant;

use base::WallTime;
use objects_guest::{Guests, Settings};
use objects_state::limits::PIECE_BYTES;
use objects_state::{
    Call, Caller, Command, Effect, Effects, Identity, Invocation, ObjectName, Origin, Outcome, Principal,
    State, type_named,
};
use sha2::{Digest as _, Sha256};

const PARTS: usize = 40;
const CALLS_PER_PART: u64 = 1_000;
/// The feature level of the log with all that this build knows.
const LEVEL: u32 = 10;
const DESCRIPTION: &str = r#"{"name":"hits","methods":{"hit":{"kind":"command"},"get":{"kind":"query"}}}"#;

struct Bench {
    state: State,
    number: u64,
    effects: Effects,
}

impl Bench {
    fn caller(&mut self) -> Caller {
        self.number += 1;
        Caller {
            origin: Origin { member: 1, number: self.number },
            principal: Principal::from("ann"),
            identity: Identity::Anonymous,
        }
    }

    fn apply(&mut self, command: &Command) -> &Effects {
        self.effects.clear();
        self.state.apply(WallTime::of_ms(1_000_000), command, &mut self.effects);
        &self.effects
    }

    /// Applies what has to succeed.
    fn must(&mut self, command: &Command) {
        let effects = self.apply(command);
        let is_done = |effect: &Effect| matches!(effect, Effect::Answered { outcome: Outcome::Done(_), .. });
        assert!(effects.iter().any(is_done), "{effects:?}");
    }

    fn upload(&mut self, bytes: &[u8]) -> [u8; 32] {
        let hash = Sha256::digest(bytes).into();
        for (number, piece) in bytes.chunks(PIECE_BYTES).enumerate() {
            let (caller, offset) = (self.caller(), (number * PIECE_BYTES) as u64);
            let size = bytes.len() as u64;
            self.must(&Command::TypePiece { caller, hash, size, offset, bytes: piece.to_vec() });
        }
        hash
    }

    fn put(&mut self, module: &[u8], source: Option<&[u8]>) {
        let hash = self.upload(module);
        let source = source.map(<[u8]>::to_vec);
        let (caller, name, description) = (self.caller(), "hits".into(), DESCRIPTION.into());
        self.must(&Command::TypePut { caller, name, module: hash, source, description });
        for (kind, version) in self.state.preparing() {
            let ready = self.state.engine().ready(version);
            assert!(ready.is_ok(), "{ready:?}");
            self.apply(&Command::TypeReady { kind, version });
        }
    }

    /// Nanoseconds of a call, in order.
    fn measure(&mut self, object: &ObjectName, method: &str) -> Vec<u64> {
        let mut parts = Vec::new();
        for _ in 0..PARTS {
            let calls: Vec<_> = (0..CALLS_PER_PART).map(|_| self.call(object, method)).collect();
            let begun = Instant::now();
            for call in &calls {
                self.effects.clear();
                self.state.apply(WallTime::of_ms(1_000_000), call, &mut self.effects);
            }
            parts.push(begun.elapsed().as_nanos() as u64 / CALLS_PER_PART);
        }
        let last = self.call(object, method);
        self.must(&last);
        parts.sort_unstable();
        parts
    }

    fn call(&mut self, object: &ObjectName, method: &str) -> Command {
        let invocation = Invocation { method: method.into(), args: Default::default() };
        let (caller, object) = (self.caller(), object.clone());
        let (incarnation, wait_ms, opens) = (None, None, None);
        Command::Call(Call { caller, object, incarnation, create: true, wait_ms, opens, invocation })
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let module = arguments.next().map(|path| std::fs::read(path).expect("a module"));
    let source = arguments.next().map(|path| std::fs::read(path).expect("a source"));
    // As at a member: it is noted which run is under way.
    let kept = tempfile::tempdir().expect("a folder for what the engine keeps");
    let directory = Some(kept.path().to_owned());
    let engine = Arc::new(Guests::new(Settings { directory, ..Settings::default() }));
    let mut bench = Bench { state: State::with_engine(engine), number: 0, effects: Effects::new() };
    bench.apply(&Command::FeatureLevel(LEVEL));
    let kind = type_named("counter").expect("a built-in type");
    let counter = ObjectName { kind, name: "a".into() };
    let built_in = bench.measure(&counter, "increment");
    println!("counter: least {} ns, median {} ns", built_in[0], built_in[PARTS / 2]);
    let Some(module) = module else { return };
    bench.put(&module, source.as_deref());
    let kind = bench.state.type_named("hits").expect("it was put");
    let hits = ObjectName { kind, name: "a".into() };
    let caller = bench.caller();
    bench.must(&Command::Create { caller, object: hits.clone(), args: Default::default() });
    let own = bench.measure(&hits, "hit");
    println!("hits: least {} ns, median {} ns", own[0], own[PARTS / 2]);
}
