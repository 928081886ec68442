//! Scenario files: one behaviour each, with the intent in its first lines and what every client got below each
//! command. Each is a test of its own, with the name of its file. `UPDATE_GOLDENFILES=1` writes the outputs anew, to be
//! reviewed.

mod support;

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use base::Secret;
use council_frontend::auth::{SaslConfig, digest_id};
use council_frontend::{FromCore, FrontConfig, Peer};
use council_tree::Policy;
use council_wire::{Acl, ConnectRequest, MultiHeader, OpCode, Writer};
use goldenscript::{ArgumentConsumer, Command, Context, Runner};
use libtest_mimic::{Arguments, Trial};
use support::{House, peer, wire};

/// Each file is a test of its own, named after the file.
fn main() -> ExitCode {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let files = std::fs::read_dir(folder).expect("the scenarios are there");
    let mut tests: Vec<_> =
        files.map(|file| scenario(file.expect("a folder's entry can be read").path())).collect();
    assert!(tests.len() >= 40, "only {} scenarios were found", tests.len());
    tests.sort_by(|one, other| one.name().cmp(other.name()));
    libtest_mimic::run(&Arguments::from_args(), tests).exit_code()
}

fn scenario(file: PathBuf) -> Trial {
    let name = file.file_name().expect("a file").to_string_lossy().into_owned();
    Trial::test(name, move || Ok(goldenscript::run(&mut Play::default(), file)?))
}

/// One scenario being played.
#[derive(Default)]
struct Play {
    config: FrontConfig,
    house: Option<House>,
}

type Outcome<T> = Result<T, Box<dyn Error>>;

impl Runner for Play {
    type Command = Command;

    fn run(&mut self, command: &Command, _context: &Context) -> Outcome<String> {
        let mut args = command.consume_args();
        // One letter is a client, and what it does comes next.
        let (client, name) = match command.name.as_str() {
            client if client.len() == 1 => (client, args.next_pos().ok_or("what does the client do?")?),
            server => ("", server),
        };
        if name == "config" {
            self.configure(&mut args)?;
        } else if !self.connection(name, client, &mut args)? && !self.server(name, &mut args)? {
            self.operation(name, client, &mut args)?;
        }
        args.reject_next()?;
        Ok(self.house().take_log())
    }
}

impl Play {
    fn house(&mut self) -> &mut House {
        self.house.get_or_insert_with(|| House::new(&self.config, 2))
    }

    #[expect(clippy::too_many_lines, reason = "one story, told in order")]
    fn configure(&mut self, args: &mut ArgumentConsumer<'_>) -> Outcome<()> {
        let config = &mut self.config;
        config.connections_max = parse(args, "connections")?.unwrap_or(config.connections_max);
        config.connections_per_ip_max = parse(args, "per_ip")?.unwrap_or(config.connections_per_ip_max);
        config.request_bytes_max = parse(args, "maxbuffer")?.unwrap_or(config.request_bytes_max);
        config.request_skip_bytes_max = parse(args, "skip")?.unwrap_or(config.request_skip_bytes_max);
        config.outstanding_max = parse(args, "outstanding")?.unwrap_or(config.outstanding_max);
        config.waiting_reads_max = parse(args, "waiting_reads")?.unwrap_or(config.waiting_reads_max);
        config.watches_per_connection_max =
            parse(args, "watches")?.unwrap_or(config.watches_per_connection_max);
        config.output_bytes_max = parse(args, "output")?.unwrap_or(config.output_bytes_max);
        config.output_bytes_all_max = parse(args, "output_all")?.unwrap_or(config.output_bytes_all_max);
        config.output_bytes_close_max = parse(args, "output_close")?.unwrap_or(config.output_bytes_close_max);
        config.history_bytes_max = parse(args, "history")?.unwrap_or(config.history_bytes_max);
        config.identities_max = parse(args, "identities")?.unwrap_or(config.identities_max);
        config.cost.path_bytes_max = parse(args, "path")?.unwrap_or(config.cost.path_bytes_max);
        config.cost.acl_entries_max = parse(args, "acl_entries")?.unwrap_or(config.cost.acl_entries_max);
        config.cost.steps_max = parse(args, "steps")?.unwrap_or(config.cost.steps_max);
        config.cost.ephemerals_max = parse(args, "ephemerals")?.unwrap_or(config.cost.ephemerals_max);
        config.cost.quota_text_bytes_max =
            parse(args, "quota_text")?.unwrap_or(config.cost.quota_text_bytes_max);
        config.catch_up = parse(args, "catch_up")?.unwrap_or(config.catch_up);
        config.audit = parse(args, "audit")?.unwrap_or(config.audit);
        if let Some(user) = args.take_key("super") {
            config.auth.super_digest = Some(digest_id(config.auth.digest_algorithm, user.as_bytes()));
        }
        if let Some(schemes) = args.take_key("enforced") {
            config.auth.enforced_schemes = schemes.split(',').map(str::to_owned).collect();
        }
        if let Some(subject) = args.take_key("x509_super") {
            config.auth.x509_super_user = Some(subject.to_owned());
        }
        if let Some((user, password)) = args.take_key("sasl").and_then(|user| user.split_once(':')) {
            let users = [(user, Secret(password.to_owned()))].into_iter().collect();
            config.policy = config.policy | Policy::SASL_KNOWN;
            config.auth.sasl =
                Some(SaslConfig { super_users: vec!["admin".into()], ..SaslConfig::new(&users) });
        }
        if let Some(names) = args.take_key("ensemble") {
            config.auth.ensemble_names = Some(names.split(',').map(str::to_owned).collect());
        }
        let on = |config: &mut FrontConfig, policy, on: Option<bool>| {
            config.policy = config.policy.with(policy, on.unwrap_or(config.policy.contains(policy)));
        };
        on(config, Policy::X509_KNOWN, parse(args, "x509")?);
        on(config, Policy::EXTENDED_TYPES, parse(args, "ttl")?);
        on(config, Policy::SKIP_ACL, parse(args, "skip_acl")?);
        on(config, Policy::DIGEST_KNOWN, parse(args, "digest")?);
        on(config, Policy::RECONFIG_ENABLED, parse(args, "reconfig")?);
        Ok(())
    }

    /// Sockets, sessions and raw bytes. Whether it was one of these commands.
    fn connection(&mut self, name: &str, client: &str, args: &mut ArgumentConsumer<'_>) -> Outcome<bool> {
        let house = self.house();
        match name {
            "open" => open(house, client, args)?,
            "connect" => connect(house, client, args)?,
            "raw" => {
                let mut digits = String::new();
                while let Some(some) = args.next_pos() {
                    digits.push_str(some);
                }
                house.send(client, &hex(&digits)?);
            }
            "text" => {
                let text = args.next_pos().ok_or("a text is missing")?;
                house.send(client, text.as_bytes());
            }
            "zeros" => {
                let count = args.next_pos().ok_or("a count is missing")?.parse()?;
                house.send(client, &vec![0; count]);
            }
            "break" => house.disconnect(client),
            "stall" => house.clients.get_mut(client).ok_or("no such client")?.stalled = true,
            "read" => {
                house.clients.get_mut(client).ok_or("no such client")?.stalled = false;
                house.pump();
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// What happens on the server's side. Whether it was one of these commands.
    #[expect(clippy::too_many_lines, reason = "one story, told in order")]
    fn server(&mut self, name: &str, args: &mut ArgumentConsumer<'_>) -> Outcome<bool> {
        let house = self.house();
        match name {
            "hold" => house.core.held = true,
            "release" => match args.next_pos() {
                Some(count) => house.release(count.parse()?),
                None => {
                    house.core.held = false;
                    house.pump();
                }
            },
            "waiting" => {
                let waiting = house.waiting();
                writeln!(house.log, "{waiting}")?;
            }
            "tick" => {
                let ms: u64 = args.next_pos().ok_or("milliseconds are missing")?.parse()?;
                house.now.mono_us += ms * 1000;
                house.now.wall = house.now.wall.plus_ms(ms as i64);
                let now = house.now;
                house.fronts.iter_mut().for_each(|front| front.tick(now));
                house.pump();
            }
            "writable" => {
                let on = args.next_pos().ok_or("true or false is missing")?.parse()?;
                house.deliver_to_all(FromCore::Writable(on));
            }
            "expire" => {
                let client = args.next_pos().ok_or("a client is missing")?;
                let session = house.clients.get(client).ok_or("no such client")?.session;
                let stream = house.core.expire(session);
                house.deliver(stream);
                house.pump();
            }
            "touch" => {
                let round = args.next_pos().ok_or("a round is missing")?.parse()?;
                house.deliver_to_all(FromCore::TouchRound { round });
                for (round, sessions) in std::mem::take(&mut house.core.touched) {
                    writeln!(house.log, "round {round}: {sessions:?}")?;
                }
            }
            "cons" | "wchc" | "wchp" | "wchs" | "stats" => list(house, name)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn operation(&mut self, name: &str, client: &str, args: &mut ArgumentConsumer<'_>) -> Outcome<()> {
        let (opcode, body) = encode(name, args)?;
        self.house().ask(client, opcode, &body);
        Ok(())
    }
}

fn open(house: &mut House, client: &str, args: &mut ArgumentConsumer<'_>) -> Outcome<()> {
    let mut from = peer();
    if let Some(ip) = parse(args, "ip")? {
        from.ip = ip;
    }
    let certificate_subject = args.take_key("subject").map(Box::from);
    let shard = parse(args, "shard")?.unwrap_or(0);
    house.open(client, shard, Peer { secure: certificate_subject.is_some(), certificate_subject, ..from });
    Ok(())
}

fn connect(house: &mut House, client: &str, args: &mut ArgumentConsumer<'_>) -> Outcome<()> {
    let mine = house.clients.get(client);
    let again = args
        .take_key("session")
        .map(|of| (of.to_owned(), house.clients.get(of).map(|of| (of.session, of.password))));
    let (session_id, mut password) = match again {
        None => (0, [0; 16]),
        Some((_, Some((session, password)))) => (session.0, password),
        Some((number, None)) => (number.parse()?, [0; 16]),
    };
    if parse(args, "wrong")?.unwrap_or(false) {
        password = [0xee; 16];
    }
    if mine.is_none_or(|client| client.conn.is_none()) {
        open(house, client, args)?;
    }
    let request = ConnectRequest {
        protocol_version: 0,
        last_zxid_seen: parse(args, "seen")?.unwrap_or(0),
        timeout_ms: parse(args, "timeout")?.unwrap_or(10_000),
        session_id,
        password: Some(&password),
        read_only: parse(args, "readonly")?,
    };
    house.send(client, &wire::connect(&request));
    Ok(())
}

fn list(house: &mut House, what: &str) -> Outcome<()> {
    let mut log = String::new();
    for front in &house.fronts {
        match what {
            "cons" => front.connections().try_for_each(|one| {
                let (ip, session, last) = (one.ip, one.session, one.last_operation);
                let (queued, received, sent) = (one.queued, one.received, one.sent);
                let (xid, zxid, latency) = (one.last_xid, one.last_zxid.0, one.latency_max_ms);
                writeln!(log, "{ip} queued={queued} recved={received} sent={sent} sid={session} lop={last} lcxid={xid} lzxid={zxid} maxlat={latency}")
            })?,
            "wchc" => front.watches_by_session().try_for_each(|(session, paths)| {
                writeln!(log, "{session}: {}", paths.collect::<Vec<_>>().join(" "))
            })?,
            "wchp" => front.watches_by_path().try_for_each(|(path, sessions)| {
                writeln!(log, "{path}: {:?}", sessions.collect::<Vec<_>>())
            })?,
            "wchs" => {
                let summary = front.watch_summary();
                writeln!(log, "{} connections watching {} paths, {} watches", summary.connections, summary.paths, summary.watches)?;
            }
            _ => {
                let stats = front.stats();
                writeln!(
                    log,
                    "connections={} sessions={} outstanding={} in_flight={} watches={} filtered={} caught_up={}",
                    stats.connections,
                    stats.sessions,
                    stats.outstanding,
                    stats.in_flight_bytes,
                    stats.watch_count,
                    stats.events_filtered,
                    stats.events_caught_up
                )?;
            }
        }
    }
    house.log.push_str(&log);
    Ok(())
}

/// A request by its name and arguments.
#[expect(clippy::too_many_lines, reason = "one story, told in order")]
fn encode(name: &str, args: &mut ArgumentConsumer<'_>) -> Outcome<(OpCode, Vec<u8>)> {
    let opcode = OpCode::ALL.iter().copied().find(|opcode| opcode.name() == name).ok_or("no such command")?;
    let watch = parse(args, "watch")?.unwrap_or(false);
    let version: i32 = parse(args, "version")?.unwrap_or(-1);
    if matches!(opcode, OpCode::Multi | OpCode::MultiRead) {
        return Ok((opcode, multi(args)?));
    }
    let path = args.next_pos();
    let text = path.unwrap_or_default();
    let body = match opcode {
        OpCode::Create | OpCode::Create2 | OpCode::CreateContainer => {
            let flags = parse(args, "flags")?.unwrap_or(0);
            let acl = acl(args)?;
            wire::create(text, args.next_pos().map(str::as_bytes), &acl, flags)
        }
        OpCode::CreateTtl => {
            let flags = parse(args, "flags")?.unwrap_or(5);
            let ttl_ms: i64 = parse(args, "ttl")?.unwrap_or(1000);
            let mut body = wire::create(text, None, &[Acl::open()], flags);
            Writer::new(&mut body).i64(ttl_ms);
            body
        }
        OpCode::Delete | OpCode::Check => wire::body(|writer| {
            writer.text(text).i32(version);
        }),
        OpCode::SetData => {
            let data = args.next_pos().map(str::as_bytes);
            wire::body(|writer| {
                writer.text(text).buffer(data).i32(version);
            })
        }
        OpCode::SetAcl => {
            let acl = acl(args)?;
            wire::body(|writer| {
                writer.text(text);
                Acl::write_all(&acl, writer);
                writer.i32(version);
            })
        }
        OpCode::Exists | OpCode::GetData | OpCode::GetChildren | OpCode::GetChildren2 => {
            wire::read(text, watch)
        }
        OpCode::AddWatch | OpCode::CheckWatches | OpCode::RemoveWatches => {
            let kind: i32 = args.next_pos().ok_or("a mode or type is missing")?.parse()?;
            wire::body(|writer| {
                writer.text(text).i32(kind);
            })
        }
        OpCode::Auth => {
            let auth = args.next_pos().map(str::as_bytes);
            wire::body(|writer| {
                writer.i32(0).string(path).buffer(auth);
            })
        }
        OpCode::Sasl => wire::body(|writer| {
            writer.buffer(path.map(str::as_bytes));
        }),
        OpCode::SetWatches | OpCode::SetWatches2 => set_watches(opcode, text.parse()?, args),
        OpCode::Ping | OpCode::WhoAmI | OpCode::CloseSession => Vec::new(),
        OpCode::Reconfig => wire::body(|writer| {
            writer.string(None).string(None).string(None).i64(-1);
        }),
        _ => wire::body(|writer| {
            writer.string(path);
        }),
    };
    Ok((opcode, body))
}

fn set_watches(opcode: OpCode, seen: i64, args: &mut ArgumentConsumer<'_>) -> Vec<u8> {
    let lists = ["data", "exist", "child", "persistent", "recursive"]
        .map(|list| args.take_key(list).unwrap_or_default());
    let count = if opcode == OpCode::SetWatches { 3 } else { 5 };
    wire::body(|writer| {
        writer.i64(seen);
        for list in lists.iter().take(count) {
            let paths: Vec<_> = list.split(',').filter(|path| !path.is_empty()).collect();
            writer.texts(paths.into_iter());
        }
    })
}

/// `acl=scheme:id:permissions,...`; open if there is none.
fn acl(args: &mut ArgumentConsumer<'_>) -> Outcome<Vec<Acl>> {
    let Some(list) = args.take_key("acl") else { return Ok(vec![Acl::open()]) };
    let entry = |entry: &str| {
        let (scheme, rest) = entry.split_once(':').ok_or("an ACL entry is scheme:id:permissions")?;
        let (id, permissions) = rest.rsplit_once(':').ok_or("an ACL entry is scheme:id:permissions")?;
        // A digest's id is given as user/password, and hashed here.
        let id = id.split_once('/').map_or_else(
            || id.to_owned(),
            |(user, password)| digest_id(Default::default(), format!("{user}:{password}").as_bytes()),
        );
        Ok(Acl { permissions: permissions.parse()?, scheme: scheme.to_owned(), id })
    };
    list.split(',').filter(|one| !one.is_empty()).map(entry).collect()
}

/// Operations of a multi: `create:/path:data`, `delete:/path`, `set:/path:data`, `check:/path:version`, `get:/path`,
/// `ls:/path`, or `op:NUMBER` for a header with nothing behind it.
fn multi(args: &mut ArgumentConsumer<'_>) -> Outcome<Vec<u8>> {
    let mut out = Vec::new();
    while let Some(one) = args.next_pos() {
        let mut parts = one.splitn(3, ':');
        let (kind, path, rest) = (parts.next(), parts.next().unwrap_or_default(), parts.next());
        let (opcode, body) = match kind.unwrap_or_default() {
            "create" => (1, wire::create(path, rest.map(str::as_bytes), &[Acl::open()], 0)),
            "create2" => (15, wire::create(path, rest.map(str::as_bytes), &[Acl::open()], 0)),
            "delete" => (
                2,
                wire::body(|writer| {
                    writer.text(path).i32(-1);
                }),
            ),
            "set" => (
                5,
                wire::body(|writer| {
                    writer.text(path).buffer(rest.map(str::as_bytes)).i32(-1);
                }),
            ),
            "check" => {
                let version = rest.unwrap_or("-1").parse()?;
                (
                    13,
                    wire::body(|writer| {
                        writer.text(path).i32(version);
                    }),
                )
            }
            "get" => (4, wire::read(path, rest == Some("watch"))),
            "ls" => (8, wire::read(path, rest == Some("watch"))),
            _ => (path.parse()?, Vec::new()),
        };
        let mut writer = Writer::new(&mut out);
        MultiHeader { operation: opcode, done: false, err: -1 }.write(&mut writer);
        writer.raw(&body);
    }
    MultiHeader::END.write(&mut Writer::new(&mut out));
    Ok(out)
}

fn hex(text: &str) -> Outcome<Vec<u8>> {
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    let byte = |at| digits.get(at..at + 2).ok_or("an odd number of hex digits");
    (0..digits.len()).step_by(2).map(|at| Ok(u8::from_str_radix(byte(at)?, 16)?)).collect()
}

/// The value of a `key=value` argument, if it is there.
fn parse<T: std::str::FromStr<Err: Error + 'static>>(
    args: &mut ArgumentConsumer<'_>,
    key: &str,
) -> Outcome<Option<T>> {
    Ok(args.take_key(key).map(str::parse).transpose()?)
}
