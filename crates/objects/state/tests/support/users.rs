//! A world with a type of a user, whose modules a fake engine runs.

use std::sync::Arc;

use objects_state::guest::VersionHash;
use objects_state::limits::PIECE_BYTES;
use objects_state::{Call, Command, Effect, Invocation, ObjectName, State, UserObject, Verdict};
use sha2::{Digest as _, Sha256};

use super::engine::FakeEngine;
use super::{Anyone, Who, World};

pub const DESCRIPTION: &str = r#"{"name":"hits","methods":{
    "add":{"kind":"command"},"touch":{"kind":"command"},"clear":{"kind":"command"},"wait":{"kind":"blocking"},
    "give":{"kind":"command"},"deny":{"kind":"command"},"wake":{"kind":"command"},"timer":{"kind":"command"},
    "untimer":{"kind":"command"},"emit":{"kind":"command"},"refuse":{"kind":"command"},"trap":{"kind":"command"},
    "burn":{"kind":"command"},"grow":{"kind":"command"},"deep":{"kind":"command"},"bad":{"kind":"command"},
    "die":{"kind":"command"},"send":{"kind":"command"},"send_none":{"kind":"command"},
    "send_counter":{"kind":"command"},"send_wrong":{"kind":"command"},"send_and_trap":{"kind":"command"},
    "ping":{"kind":"command"},
    "wake_command":{"kind":"command"},"get":{"kind":"query"}},"session_expired":true}"#;

pub fn hash(module: &[u8]) -> [u8; 32] {
    Sha256::digest(module).into()
}

pub fn version(module: &str) -> VersionHash {
    VersionHash::of(hash(module.as_bytes()), None, DESCRIPTION.as_bytes())
}

/// A world whose modules are run by a fake engine.
pub struct Types {
    pub world: World,
    pub engine: Arc<FakeEngine>,
}

impl Types {
    pub fn new() -> Self {
        let (mut world, engine) = (World::new(), Arc::new(FakeEngine::new(true)));
        world.state = State::with_engine(Arc::clone(&engine) as _);
        Self { world, engine }
    }

    /// With a type `hits` and an object `a` of it, and sessions.
    pub fn with_object(sessions: u8) -> Self {
        let mut types = Self::new();
        types.put("hits", "module one");
        (1..=sessions).for_each(|number| types.world.open(number, 1));
        assert!(types.create("a", "").starts_with("{\"created\":true"));
        types
    }

    pub fn piece(&mut self, module: &[u8], offset: usize) -> String {
        let bytes = module[offset..module.len().min(offset + PIECE_BYTES)].to_vec();
        let (hash, size) = (hash(module), module.len() as u64);
        let caller = self.world.caller(Anyone);
        self.world.answer(&Command::TypePiece { caller, hash, size, offset: offset as u64, bytes })
    }

    pub fn upload(&mut self, module: &[u8]) {
        (0..module.len()).step_by(PIECE_BYTES).for_each(|offset| {
            let answer = self.piece(module, offset);
            assert!(answer.starts_with("{\"received\""), "{answer}");
        });
    }

    pub fn type_put(&mut self, name: &str, module: &[u8], description: &str) -> String {
        let command = Command::TypePut {
            caller: self.world.caller(Anyone),
            name: name.into(),
            module: hash(module),
            source: None,
            description: description.into(),
        };
        self.world.answer(&command)
    }

    /// A group of which all members know what there is.
    pub fn raise_level(&mut self) {
        self.world.apply(&Command::FeatureLevel(3));
    }

    /// With an object `a` of a module, in a group whose runs have slices.
    pub fn sliced(module: &str, sessions: u8) -> Self {
        let mut types = Self::new();
        types.world.apply(&Command::FeatureLevel(5));
        types.put("hits", module);
        (1..=sessions).for_each(|number| types.world.open(number, 1));
        types.create("a", "");
        types.finish_all();
        assert_eq!(types.value(), "{\"value\":0}");
        types
    }

    /// A run beside the commands has ended: the oldest one.
    pub fn finish(&mut self) {
        let runs: Vec<_> = self.world.state.long_runs().collect();
        let run = runs.iter().min_by_key(|run| run.begun).expect("a run is under way");
        self.world.apply(&Command::Finish { space: run.space, begun: run.begun });
    }

    /// How many runs are under way.
    pub fn under_way(&self) -> usize {
        self.world.state.long_runs().count()
    }

    /// All runs end, and all that stands behind them has its turn.
    pub fn finish_all(&mut self) {
        for _ in 0..10_000 {
            if self.under_way() > 0 {
                self.finish();
            } else if self.world.state.next_deadline().is_some_and(|at| at <= self.world.state.stamp()) {
                self.world.apply(&Command::Tick);
            } else {
                return;
            }
        }
        panic!("it never ends");
    }

    /// The members' engines say this of a version.
    pub fn verdict(&mut self, of: VersionHash, rejected: Option<&str>) {
        let kind = self.world.state.type_named("hits").expect("the type is there");
        let verdict = Verdict { rejected: rejected.map(String::from), described: None };
        self.world.apply(&Command::TypeVerdict { kind, version: of, verdict });
    }

    pub fn quarantine(&mut self, reason: Option<&str>) -> String {
        let (object, caller) = (self.object("a"), self.world.caller(Anyone));
        let reason = reason.map(String::from);
        self.world.answer(&Command::Quarantine { caller, object, incarnation: None, reason })
    }

    pub fn rollback(&mut self, lose_commands: bool) -> String {
        let (object, caller) = (self.object("a"), self.world.caller(Anyone));
        self.world.answer(&Command::Rollback { caller, object, incarnation: None, lose_commands })
    }

    pub fn user(&self) -> UserObject {
        self.world.state.describe(&self.object("a")).and_then(|known| known.user).expect("it is there")
    }

    pub fn ready(&mut self) {
        for (kind, version) in self.world.state.preparing() {
            self.world.apply(&Command::TypeReady { kind, version });
        }
    }

    pub fn put(&mut self, name: &str, module: &str) {
        self.upload(module.as_bytes());
        let answer = self.type_put(name, module.as_bytes(), DESCRIPTION);
        assert!(answer.contains("preparing"), "{answer}");
        self.ready();
    }

    pub fn delete_type(&mut self, name: &str, version: VersionHash) -> String {
        let caller = self.world.caller(Anyone);
        self.world.answer(&Command::TypeDelete { caller, name: name.into(), version })
    }

    pub fn object(&self, name: &str) -> ObjectName {
        ObjectName {
            kind: self.world.state.type_named("hits").expect("the type is there"),
            name: name.into(),
        }
    }

    pub fn create(&mut self, name: &str, args: &str) -> String {
        let object = self.object(name);
        let command = Command::Create { caller: self.world.caller(Anyone), object, args: args.into() };
        self.world.answer(&command)
    }

    pub fn delete(&mut self, name: &str) -> String {
        let (object, caller) = (self.object(name), self.world.caller(Anyone));
        self.world.answer(&Command::Delete { caller, object, incarnation: None })
    }

    pub fn new_call(&mut self, who: Who, method: &str, args: &str) -> Call {
        Call {
            caller: self.world.caller(who),
            object: self.object("a"),
            incarnation: None,
            create: true,
            wait_ms: None,
            opens: None,
            invocation: Invocation { method: method.into(), args: args.into() },
        }
    }

    pub fn call(&mut self, who: Who, method: &str, args: &str) -> String {
        let call = self.new_call(who, method, args);
        self.world.answer(&Command::Call(call))
    }

    pub fn value(&self) -> String {
        match self.world.state.query(&self.object("a"), None, false, "get", b"") {
            Ok(result) => result,
            Err(problem) => format!("refused {}", problem.slug.name()),
        }
    }

    pub fn migrate(&mut self, to: VersionHash) -> String {
        let (object, caller) = (self.object("a"), self.world.caller(Anyone));
        self.world.answer(&Command::Migrate { caller, object, incarnation: None, to })
    }

    /// What the last command refused, with the module's own code.
    pub fn code(&self) -> Option<String> {
        self.world.effects.iter().find_map(|effect| match effect {
            Effect::Answered { outcome: objects_state::Outcome::Refused(problem), .. } => {
                problem.code.as_deref().map(String::from)
            }
            _ => None,
        })
    }
}
