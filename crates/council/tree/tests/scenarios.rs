//! Runs the scenarios beside it: one behaviour a file, as commands and what they answer. Each is a test of its own, with the
//! name of its file.
//!
//! `UPDATE_GOLDENFILES=1 cargo test -p council-tree --test scenarios NAME` writes the answers again; review them.

mod support;

use base::WallTime;
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use council_tree::{
    Change, ChangeKind, Command, Operation, Origin, Outcome, Policy, SnapshotProgress, SubOutcome, permits,
};
use council_wire::{Acl, ErrorCode, OpCode, SessionId, Stat};
use goldenscript::{Argument, Context};
use libtest_mimic::{Arguments, Trial};
use support::{World, Write};

/// The commands of a scenario. A client's command carries its session's number as prefix: `1: create /a`.
///
/// ```text
/// session 1 [timeout=30000]                   opens a session
/// 1: attach generation=2 [timeout=]           moves it;  1: expire generation=1;  1: close
/// 1: identify digest bob:hash                 adds an identity
/// 1: create /a [data] [flags=N] [op=create2|container|ttl] [ttl=N] [acl=scheme:id:perms,..] [null=1] [fill=N]
/// 1: delete /a [version]                      1: set /a data [version=N]        1: setacl /a acl [version=N]
/// 1: multi "create /a" "delete /b" ..         1: raw opcode hexbytes
/// 1: at generation=N sequence=N               the place that the next command claims
/// time N | policy extended quota skipacl sasl x509 | epoch | level N | refuse code | config text version
/// reap /a [never=N] | reapable now=N [never=N] [limit=N]
/// stat /a | get /a | ls /a | acl /a | count /a | ephemerals 1 | sizes | owner /a
/// 1: may read /a                              whether its identities have that permission
/// digest [keep=name]                          keeps the digest, or says which kept one it equals
/// snapshot begin | snapshot chunk N | snapshot load    (load: takes the rest, loads it, compares with the beginning)
/// snapshot restore                                     (takes the rest, and puts it in the tree's place)
/// ```
struct Runner {
    world: World,
    snapshot: Vec<u8>,
    begun: Option<(u64, Vec<String>)>,
    digests: Vec<(String, u64)>,
    claimed: Option<(u32, u64)>,
}

type Answer = Result<String, Box<dyn Error>>;

impl goldenscript::Runner for Runner {
    type Command = goldenscript::Command;

    fn run(&mut self, command: &goldenscript::Command, context: &Context) -> Answer {
        let mut args = Args::new(command);
        let answer = match &context.prefix {
            Some(prefix) => self.client(prefix.parse()?, &command.name, &mut args)?,
            None => match self.ensemble(&command.name, &mut args)? {
                Some(answer) => answer,
                None => self.look(&command.name, &mut args)?,
            },
        };
        args.finish()?;
        Ok(answer)
    }
}

impl Runner {
    fn new() -> Self {
        Self { world: World::new(), snapshot: Vec::new(), begun: None, digests: Vec::new(), claimed: None }
    }

    #[expect(clippy::too_many_lines, reason = "one story, told in order")]
    fn client(&mut self, id: i64, name: &str, args: &mut Args) -> Answer {
        match name {
            "identify" => {
                let (scheme, identity) = (args.next()?, args.next().unwrap_or_default());
                let client = self.world.clients.entry(id).or_default();
                Ok(if client.identities.add(&scheme, &identity) { "" } else { "known" }.into())
            }
            "may" => self.may(id, args),
            "at" => {
                self.claimed = Some((args.number("generation")?, args.number("sequence")?));
                Ok(String::new())
            }
            "close" => self.send(id, Operation::CloseSession { session: SessionId(id) }),
            "refuse" => self.send(id, Operation::Refuse(code(&args.next()?)?)),
            "refuse_many" => {
                let (refusal, count) = (code(&args.next()?)?, args.number("count")?);
                let claims = self.claimed.is_some();
                let answer = self.send(id, Operation::RefuseMany { refusal, count });
                let more = if claims { 0 } else { u64::from(count) - 1 };
                self.world.clients.entry(id).or_default().sequence += more;
                answer
            }
            "attach" => {
                let (generation, timeout_ms) =
                    (args.number("generation")?, args.number_or("timeout", 30_000)?);
                let answer = self.tell(|world| {
                    world.internal(Operation::Attach { session: SessionId(id), generation, timeout_ms })
                });
                if answer.contains("SessionAttached") {
                    let client = self.world.clients.entry(id).or_default();
                    (client.generation, client.sequence) = (generation, 0);
                }
                Ok(answer)
            }
            "expire" => {
                let generation = args.number("generation")?;
                Ok(self
                    .tell(|world| world.internal(Operation::Expire { session: SessionId(id), generation })))
            }
            "raw" => {
                let opcode = OpCode::from_code(args.next()?.parse()?).ok_or("no such operation")?;
                let hex = args.next().unwrap_or_default();
                let body: Result<Vec<u8>, _> =
                    (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16)).collect();
                self.send(id, Operation::Client { opcode, body: &body? })
            }
            _ => {
                let write = write(name, args)?;
                self.send(id, Operation::Client { opcode: write.opcode(), body: &write.body() })
            }
        }
    }

    fn may(&mut self, id: i64, args: &mut Args) -> Answer {
        let permission = match args.next()?.as_str() {
            "read" => 1,
            "write" => 2,
            "create" => 4,
            "delete" => 8,
            _ => 16,
        };
        let path = args.next()?;
        let node = self.world.tree.node(&path).ok_or("no node")?;
        let client = self.world.clients.entry(id).or_default();
        let (identities, policy) = (client.identities.identities(), self.world.policy);
        let may = permits(node.acl(), permission, identities, policy);
        assert_eq!(may, node.permits(permission, identities, policy));
        Ok(String::from(if may { "yes" } else { "no" }))
    }

    fn send(&mut self, id: i64, operation: Operation<'_>) -> Answer {
        if let Some((generation, sequence)) = self.claimed.take() {
            let origin = Origin { session: SessionId(id), generation, sequence };
            return Ok(self.tell(|world| {
                world.apply(&Command { origin: Some(origin), ..Command::internal(operation) })
            }));
        }
        Ok(self.tell(|world| world.send(id, operation)))
    }

    fn ensemble(&mut self, name: &str, args: &mut Args) -> Result<Option<String>, Box<dyn Error>> {
        Ok(Some(match name {
            "session" => {
                let (id, timeout_ms) = (args.next()?.parse()?, args.number_or("timeout", 30_000)?);
                self.tell(|world| world.open(id, timeout_ms))
            }
            "time" => {
                self.world.time_ms = args.next()?.parse()?;
                String::new()
            }
            "policy" => {
                self.world.policy = Policy::standard();
                while let Ok(word) = args.next() {
                    self.world.policy = self.world.policy | switch(&word)?;
                }
                String::new()
            }
            "epoch" => self.tell(|world| world.internal(Operation::RaiseEpoch)),
            "level" => {
                let level = args.next()?.parse()?;
                self.tell(|world| world.internal(Operation::FeatureLevel(level)))
            }
            "config" => {
                let (text, version) = (args.next()?, args.next()?.parse()?);
                self.tell(|world| world.internal(Operation::SetConfig { text: text.as_bytes(), version }))
            }
            "reap" => {
                let (path, never_used_ms) = (args.next()?, args.number_or("never", 0)?);
                self.tell(|world| world.internal(Operation::Reap { path: &path, never_used_ms }))
            }
            "create" | "delete" | "set" => {
                let write = write(name, args)?;
                let body = write.body();
                self.tell(|world| world.internal(Operation::Client { opcode: write.opcode(), body: &body }))
            }
            "snapshot" => self.snapshot(args)?,
            _ => return Ok(None),
        }))
    }

    fn snapshot(&mut self, args: &mut Args) -> Answer {
        let tree = &mut self.world.tree;
        match args.next()?.as_str() {
            "begin" => {
                tree.snapshot_begin();
                self.snapshot.clear();
                self.begun = Some((tree.digest(), support::dump(tree)));
                Ok(String::new())
            }
            "chunk" => {
                let progress = tree.snapshot_chunk(&mut self.snapshot, args.next()?.parse()?);
                let side = if tree.snapshot_side_bytes() > 0 { "something" } else { "nothing" };
                Ok(format!("{progress:?} with {side} aside").replace(char::is_numeric, ""))
            }
            "load" => {
                self.snapshot.extend(support::take_snapshot(tree, 100));
                let loaded = support::load(&self.snapshot, 7)?;
                let (digest, dump) = self.begun.take().ok_or("no snapshot has begun")?;
                let same = loaded.digest() == digest && support::dump(&loaded) == dump;
                Ok(format!(
                    "{} with {} nodes",
                    if same { "the beginning" } else { "another tree" },
                    loaded.node_count()
                ))
            }
            "restore" => {
                self.snapshot.extend(support::take_snapshot(tree, 100));
                let mut restored = support::load(&self.snapshot, 7)?;
                restored.succeed(tree);
                self.world.tree = support::reloaded(&mut restored)?;
                Ok(format!("{} nodes, {} bytes", restored.node_count(), restored.approximate_data_size()))
            }
            _ => Err("snapshot: begin, chunk, load or restore".into()),
        }
    }

    fn look(&mut self, name: &str, args: &mut Args) -> Answer {
        let tree = &self.world.tree;
        match name {
            "reapable" => {
                let (now, never) = (args.number("now")?, args.number_or("never", 0)?);
                let mut due = tree.reapable(WallTime::of_ms(now), never, args.number_or("limit", 100)?);
                due.sort();
                return Ok(due.join(" "));
            }
            "ephemerals" => {
                let owned: Vec<_> = tree.ephemerals_of(SessionId(args.next()?.parse()?)).collect();
                return Ok(owned.join(" "));
            }
            "sizes" => {
                return Ok(format!(
                    "nodes={} data={} ephemerals={} acls={} sessions={}",
                    tree.node_count(),
                    tree.approximate_data_size(),
                    tree.ephemeral_count(),
                    tree.acl_count(),
                    tree.sessions().len()
                ));
            }
            "digest" => {
                let digest = tree.digest();
                if let Some(name) = args.option("keep") {
                    self.digests.push((name, digest));
                    return Ok(String::new());
                }
                let same: Vec<_> =
                    self.digests.iter().filter(|kept| kept.1 == digest).map(|kept| kept.0.as_str()).collect();
                return Ok(if same.is_empty() { String::from("new") } else { same.join(" ") });
            }
            _ => {}
        }
        self.look_at(name, &args.next()?)
    }

    fn look_at(&self, name: &str, path: &str) -> Answer {
        let tree = &self.world.tree;
        if name == "count" {
            return Ok(format!("{:?}", tree.all_children_number(path)));
        }
        let Some(node) = tree.node(path) else { return Ok(String::from("no node")) };
        match name {
            "stat" => Ok(stat(&node.stat())),
            "get" => Ok(match node.data() {
                None => String::from("null"),
                Some(data) => format!("{:?}", String::from_utf8_lossy(data)),
            }),
            "ls" => {
                let mut children: Vec<_> = node.children().collect();
                assert_eq!(children.len(), node.num_children());
                children.sort_unstable();
                Ok(children.join(" "))
            }
            "acl" => Ok(node.acl().iter().map(entry).collect::<Vec<_>>().join(" ")),
            "owner" => Ok(format!(
                "owner={:#x} container={} ttl={:?}",
                node.stat().ephemeral_owner,
                node.is_container(),
                node.ttl_ms()
            )),
            other => Err(format!("unknown command `{other}`").into()),
        }
    }

    /// Runs something and returns its outcome, its zxid if it took one, and its changes.
    fn tell(&mut self, run: impl FnOnce(&mut World) -> (Outcome, Vec<Change>)) -> String {
        let before = self.world.tree.last_zxid();
        let (outcome, changes) = run(&mut self.world);
        let after = self.world.tree.last_zxid();
        let mut answer = match after == before {
            true => String::from("no zxid"),
            false => format!("{after}"),
        };
        let _ = write!(answer, " {}", describe(&outcome));
        for change in &changes {
            assert_eq!(change.zxid, after, "a change carries its command's zxid");
            let kind = match change.kind {
                ChangeKind::Created => "created",
                ChangeKind::Deleted => "deleted",
                ChangeKind::DataChanged => "changed",
            };
            let _ = write!(answer, "\n  {kind} {}", change.path);
            if change.ephemeral_owner != SessionId::NONE {
                let _ = write!(answer, " of {}", change.ephemeral_owner);
            }
            for (whose, acl) in [("acl", &change.acl), ("parent", &change.parent_acl)] {
                if acl[..] != [Acl::open()] {
                    let _ =
                        write!(answer, " {whose}={}", acl.iter().map(entry).collect::<Vec<_>>().join(","));
                }
            }
        }
        answer
    }
}

/// A command's arguments, each to be used.
struct Args {
    positional: std::collections::VecDeque<String>,
    options: Vec<(String, String)>,
}

impl Args {
    fn new(command: &goldenscript::Command) -> Self {
        let mut args = Self { positional: Default::default(), options: Vec::new() };
        for argument in &command.args {
            match argument {
                Argument::Positional(value) => args.positional.push_back(value.clone()),
                Argument::KeyValue(key, value) => args.options.push((key.clone(), value.clone())),
                _ => {}
            }
        }
        args
    }

    fn next(&mut self) -> Result<String, Box<dyn Error>> {
        self.positional.pop_front().ok_or_else(|| "an argument is missing".into())
    }

    fn option(&mut self, key: &str) -> Option<String> {
        let at = self.options.iter().position(|option| option.0 == key)?;
        Some(self.options.remove(at).1)
    }

    fn number<N: std::str::FromStr<Err = std::num::ParseIntError>>(
        &mut self,
        key: &str,
    ) -> Result<N, Box<dyn Error>> {
        Ok(self.option(key).ok_or_else(|| format!("`{key}` is missing"))?.parse()?)
    }

    fn number_or<N: std::str::FromStr<Err = std::num::ParseIntError>>(
        &mut self,
        key: &str,
        otherwise: N,
    ) -> Result<N, Box<dyn Error>> {
        self.option(key).map_or(Ok(otherwise), |value| value.parse().map_err(Into::into))
    }

    fn finish(&self) -> Result<(), Box<dyn Error>> {
        match (self.positional.front(), self.options.first()) {
            (None, None) => Ok(()),
            (left, option) => Err(format!("left over: {left:?} {option:?}").into()),
        }
    }
}

fn switch(word: &str) -> Result<Policy, Box<dyn Error>> {
    Ok(match word {
        "extended" => Policy::EXTENDED_TYPES,
        "quota" => Policy::ENFORCE_QUOTA,
        "skipacl" => Policy::SKIP_ACL,
        "sasl" => Policy::SASL_KNOWN,
        "x509" => Policy::X509_KNOWN,
        "reconfig" => Policy::RECONFIG_ENABLED,
        _ => return Err("no such switch".into()),
    })
}

fn code(number: &str) -> Result<ErrorCode, Box<dyn Error>> {
    ErrorCode::from_code(number.parse()?).ok_or_else(|| "no such code".into())
}

/// A write, from its name and arguments.
#[expect(clippy::too_many_lines, reason = "one story, told in order")]
fn write(name: &str, args: &mut Args) -> Result<Write, Box<dyn Error>> {
    let acl = |text: &str| -> Result<Vec<Acl>, Box<dyn Error>> {
        text.split(',').filter(|entry| !entry.is_empty()).map(parse_acl).collect()
    };
    Ok(match name {
        "create" => {
            let path = args.next()?;
            let filler: usize = args.number_or("fill", 0)?;
            let data = args.next().unwrap_or_default() + &"x".repeat(filler);
            let (opcode, flags) = match args.option("op").as_deref() {
                None => (OpCode::Create, 0),
                Some("create2") => (OpCode::Create2, 0),
                Some("container") => (OpCode::CreateContainer, 4),
                Some("ttl") => (OpCode::CreateTtl, 5),
                Some(_) => return Err("no such create".into()),
            };
            Write::Create {
                opcode,
                path,
                data: args.option("null").is_none().then(|| data.into_bytes()),
                acl: acl(&args.option("acl").unwrap_or_else(|| "world:anyone:31".into()))?,
                flags: args.number_or("flags", flags)?,
                ttl_ms: args.number_or("ttl", 1_000)?,
            }
        }
        "delete" => Write::Delete { path: args.next()?, version: args.number_or("version", -1)? },
        "check" => Write::Check { path: args.next()?, version: args.number_or("version", -1)? },
        "set" => {
            let path = args.next()?;
            let data = args.next().unwrap_or_default();
            let data = args.option("null").is_none().then(|| data.into_bytes());
            Write::SetData { path, data, version: args.number_or("version", -1)? }
        }
        "setacl" => {
            let path = args.next()?;
            let list = acl(&args.next().unwrap_or_default())?;
            Write::SetAcl { path, acl: list, version: args.number_or("version", -1)? }
        }
        "multi" => {
            let mut writes = Vec::new();
            while let Ok(line) = args.next() {
                let mut words = line.split(' ');
                let name = words.next().unwrap_or_default();
                let mut inner = Args { positional: Default::default(), options: Vec::new() };
                for word in words {
                    match word.split_once('=') {
                        Some((key, value)) => inner.options.push((key.into(), value.into())),
                        None => inner.positional.push_back(word.into()),
                    }
                }
                writes.push(write(name, &mut inner)?);
                inner.finish()?;
            }
            Write::Multi(writes)
        }
        other => return Err(format!("unknown command `{other}`").into()),
    })
}

/// `scheme:id:permissions`; the id may hold colons.
fn parse_acl(text: &str) -> Result<Acl, Box<dyn Error>> {
    let (scheme, rest) = text.split_once(':').ok_or("an ACL is scheme:id:permissions")?;
    let (id, permissions) = rest.rsplit_once(':').ok_or("an ACL is scheme:id:permissions")?;
    Ok(Acl { permissions: permissions.parse()?, scheme: scheme.into(), id: id.into() })
}

fn entry(acl: &Acl) -> String {
    format!("{}:{}:{}", acl.scheme, acl.id, acl.permissions)
}

fn stat(stat: &Stat) -> String {
    format!(
        "czxid={:#x} mzxid={:#x} pzxid={:#x} ctime={} mtime={} version={} cversion={} aversion={} owner={:#x} length={} children={}",
        stat.czxid,
        stat.mzxid,
        stat.pzxid,
        stat.ctime,
        stat.mtime,
        stat.version,
        stat.cversion,
        stat.aversion,
        stat.ephemeral_owner,
        stat.data_length,
        stat.num_children
    )
}

fn describe(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Created { path, .. } => format!("Created {path}"),
        Outcome::DataSet { stat } => format!("DataSet version={}", stat.version),
        Outcome::AclSet { stat } => format!("AclSet aversion={}", stat.aversion),
        Outcome::Multi(results) => {
            let results: Vec<_> = results
                .iter()
                .map(|result| match result {
                    SubOutcome::Created { path } => format!("Created {path}"),
                    SubOutcome::Created2 { path, stat } => {
                        format!("Created2 {path} owner={:#x}", stat.ephemeral_owner)
                    }
                    SubOutcome::DataSet { stat } => format!("DataSet version={}", stat.version),
                    SubOutcome::Failed(code) => format!("{}", code.code()),
                    other => format!("{other:?}"),
                })
                .collect();
            format!("Multi[{}]{}", results.join(", "), if outcome.is_failed_multi() { " failed" } else { "" })
        }
        other => format!("{other:?}"),
    }
}

/// Each file is a test of its own, named after the file.
fn main() -> ExitCode {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let files = std::fs::read_dir(folder).expect("the scenarios are there");
    let mut tests: Vec<_> =
        files.map(|file| scenario(file.expect("a folder's entry can be read").path())).collect();
    assert!(tests.len() >= 40, "only {} scenarios were found", tests.len());
    tests.push(Trial::test("a_snapshot_of_a_fresh_tree_says_its_digest", || {
        a_snapshot_of_a_fresh_tree_says_its_digest();
        Ok(())
    }));
    tests.sort_by(|one, other| one.name().cmp(other.name()));
    libtest_mimic::run(&Arguments::from_args(), tests).exit_code()
}

fn scenario(file: PathBuf) -> Trial {
    let name = file.file_name().expect("a file").to_string_lossy().into_owned();
    Trial::test(name, move || Ok(goldenscript::run(&mut Runner::new(), file)?))
}

/// What is done once the progress is known does not matter to scenarios.
fn a_snapshot_of_a_fresh_tree_says_its_digest() {
    let mut world = World::new();
    world.tree.snapshot_begin();
    let digest = world.tree.digest();
    let mut out = Vec::new();
    assert_eq!(world.tree.snapshot_chunk(&mut out, 1 << 20), SnapshotProgress::Done { digest });
}
