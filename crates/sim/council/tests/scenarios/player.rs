//! Plays a scenario: commands become calls of the world, and what that tells is the golden output.

use std::error::Error;

use goldenscript::{ArgumentConsumer, Command, Context, Runner};
use sim_council::ensemble::member_of;

use crate::member::{Member, Settings};
use crate::network::{Ends, Rule};
use crate::world::World;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// From one write of `fill` to the next.
const FILL_PAUSE_MS: u64 = 20;

/// One scenario being played.
#[derive(Default)]
pub(crate) struct Player {
    world: Option<World>,
}

impl Runner for Player {
    type Command = Command;

    fn run(&mut self, command: &Command, _context: &Context) -> Outcome<String> {
        let mut args = command.consume_args();
        if command.name == "members" {
            self.world = Some(found(&mut args)?);
        } else {
            let world = self.world.as_mut().ok_or("a scenario begins with `members`")?;
            let name = command.name.as_str();
            let known = pictures(name, world, &mut args)?
                || time(name, world, &mut args)?
                || network(name, world, &mut args)?
                || members(name, world, &mut args)?
                || clients(name, world, &mut args)?;
            if !known {
                return Err(format!("unknown command `{name}`").into());
            }
        }
        args.reject_next()?;
        Ok(self.world.as_mut().map(World::take_told).unwrap_or_default())
    }
}

fn found(args: &mut ArgumentConsumer<'_>) -> Outcome<World> {
    let mut founders = Vec::new();
    while let Some(number) = args.next_pos() {
        founders.push(number.parse()?);
    }
    let settings = Settings {
        founders,
        lease_ms: parse(args, "lease")?.unwrap_or(2_000),
        election_tick_ms: parse(args, "tick")?.unwrap_or(50),
        window_bytes_max: parse(args, "window")?.unwrap_or(5_000),
        snapshot_chunk_bytes: parse(args, "chunk")?.unwrap_or(64 << 10),
        lag_entries: parse(args, "lag")?.unwrap_or(1_000),
        snapshot_bytes_per_second: parse(args, "snapshot_rate")?.unwrap_or(u64::MAX),
    };
    World::new(settings).map_err(|error| format!("{error:?}").into())
}

fn pictures(name: &str, world: &mut World, args: &mut ArgumentConsumer<'_>) -> Outcome<bool> {
    let picture: fn(&mut Member, &dyn Fn(u64) -> String) -> String = match name {
        "show" => |member, name| member.picture(&name),
        "voters" => |member, name| member.voters(&name),
        "log" => |member, _| member.log(),
        _ => return Ok(false),
    };
    let ids = some_ids(world, args)?;
    let ids = if ids.is_empty() { world.ids() } else { ids };
    world.list(&ids, picture);
    Ok(true)
}

fn time(name: &str, world: &mut World, args: &mut ArgumentConsumer<'_>) -> Outcome<bool> {
    let done = match name {
        "pass" => {
            let text = args.next_pos().ok_or("how long?")?;
            let ms = match text.strip_suffix("ms") {
                Some(ms) => ms.parse::<u64>()?,
                None => text.strip_suffix('s').ok_or("`ms` or `s`")?.parse::<u64>()? * 1_000,
            };
            world.pass(ms)
        }
        "until" => {
            let text = args.next_pos().ok_or("until what?")?;
            match world.until(text) {
                Ok(false) => return Err(format!("nothing says `{text}`").into()),
                told => told.map(drop),
            }
        }
        "stabilize" => world.stabilize(),
        "turn" => one_id(world, args).map(|id| world.turn(id))?,
        "campaign" => {
            let id = one_id(world, args)?;
            match world.campaign(id) {
                Ok(false) => return Err("it asks for no votes".into()),
                asked => asked.map(drop),
            }
        }
        _ => return Ok(false),
    };
    done.map_err(|error| format!("{error:?}"))?;
    Ok(true)
}

fn network(name: &str, world: &mut World, args: &mut ArgumentConsumer<'_>) -> Outcome<bool> {
    match name {
        "cut" | "hold" => {
            let rule = Rule {
                ends: ends(world, args)?,
                kind: args.take_key("kind").map(str::to_owned),
                left: parse(args, "count")?.unwrap_or(u64::MAX),
                holds: name == "hold",
                noticed: parse(args, "noticed")?.unwrap_or(false),
            };
            world.add_rule(rule);
        }
        "heal" => world.heal(),
        "release" => world.network().release(),
        "messages" => world.tell_held(),
        "deliver" | "drop" => {
            let Ends::OneWay(from, to) = ends(world, args)? else { return Err("`1 to 2` is missing".into()) };
            let kind = args.take_key("kind");
            let most = parse(args, "count")?.unwrap_or(usize::MAX);
            let (last, copy) = (parse(args, "last")?.unwrap_or(false), parse(args, "copy")?.unwrap_or(false));
            let taken = world.network().take_held((from, to), kind, most, last, copy);
            if taken.is_empty() {
                let (from, to) = (world.name(from), world.name(to));
                world.tell(format!("nothing is under way from {from} to {to}"));
            }
            if name == "deliver" {
                world.deliver(taken).map_err(|error| format!("{error:?}"))?;
            }
        }
        _ => return Ok(false),
    }
    Ok(true)
}

#[expect(clippy::too_many_lines, reason = "one story, told in order")]
fn members(name: &str, world: &mut World, args: &mut ArgumentConsumer<'_>) -> Outcome<bool> {
    if !["transfer", "snapshot", "stall", "flush", "crash", "restart", "blank", "pause", "resume"]
        .contains(&name)
    {
        return Ok(false);
    }
    if name == "blank" {
        world.blank(args.next_pos().ok_or("a number is missing")?.parse()?);
        return Ok(true);
    }
    let id = one_id(world, args)?;
    let member = world.member(id).ok_or("no such member")?;
    let runs = member.node.is_some();
    if runs == (name == "restart") {
        return Err(if runs { "it runs" } else { "it is down" }.into());
    }
    let done = match name {
        "stall" | "flush" => {
            member.is_stalled = name == "stall";
            world.turn(id)
        }
        "crash" => {
            world.crash(id);
            Ok(())
        }
        "restart" => world.start(id),
        "pause" => {
            world.pause(id);
            Ok(())
        }
        "resume" => world.resume(id),
        _ => {
            let core = member.node.as_mut().ok_or("it is down")?.core();
            if name == "transfer" {
                core.step_aside()
            } else {
                core.request_snapshot()
            }
            world.turn(id)
        }
    };
    done.map_err(|error| format!("{error:?}"))?;
    Ok(true)
}

fn clients(name: &str, world: &mut World, args: &mut ArgumentConsumer<'_>) -> Outcome<bool> {
    if !["client", "move", "write", "fill", "read", "sync", "ping", "super", "reconfig"].contains(&name) {
        return Ok(false);
    }
    let client = args.next_pos().ok_or("which client?")?.to_owned();
    let done = match name {
        "client" | "move" => {
            let id = one_id(world, args)?;
            world.connect(&client, id, parse(args, "timeout")?.unwrap_or(20_000))
        }
        "write" | "fill" | "read" => of_a_znode(name, &client, world, args)?,
        "sync" => world.ask(&client, |visitor, node| visitor.sync(node)),
        "ping" => world.ask(&client, |visitor, node| visitor.ping(node)),
        "super" => world.ask(&client, |visitor, node| visitor.authenticate(node)),
        _ => {
            let joining = parse(args, "add")?.map(|number| format!("server.{number}={}", member_of(number)));
            let leaving = args.take_key("remove");
            world.ask(&client, |visitor, node| visitor.reconfig(node, joining.as_deref(), leaving))
        }
    };
    done.ok_or("it is not connected to a member that runs")?;
    Ok(true)
}

/// A client reads or writes. Nothing if it is not connected.
fn of_a_znode(
    name: &str,
    client: &str,
    world: &mut World,
    args: &mut ArgumentConsumer<'_>,
) -> Outcome<Option<()>> {
    let path = args.next_pos().map(|name| format!("/{name}")).ok_or("a name is missing")?;
    let bytes = parse(args, "bytes")?.map(|bytes| vec![b'x'; bytes]);
    Ok(match name {
        "read" => world.ask(client, |visitor, node| visitor.read(node, &path)),
        "write" => {
            let data = bytes.unwrap_or_else(|| args.next_pos().unwrap_or_default().as_bytes().to_vec());
            world.ask(client, |visitor, node| visitor.write(node, &path, &data))
        }
        _ => {
            let data = bytes.unwrap_or_default();
            (0..parse(args, "count")?.unwrap_or(1)).try_for_each(|number: u64| {
                let path = format!("{path}{number}");
                world.ask(client, |visitor, node| visitor.write(node, &path, &data))?;
                world.pass(FILL_PAUSE_MS).ok()
            })
        }
    })
}

/// Between whom: nothing for all, `1 to 2`, or members that are apart from the others.
fn ends(world: &World, args: &mut ArgumentConsumer<'_>) -> Outcome<Ends> {
    let mut words = Vec::new();
    while let Some(word) = args.next_pos() {
        words.push(word);
    }
    let id = |word: &str| world.id(word).ok_or_else(|| format!("`{word}` is no member"));
    match *words.as_slice() {
        [from, "to", to] => Ok(Ends::OneWay(id(from)?, id(to)?)),
        _ => Ok(World::group(words.iter().map(|word| id(word)).collect::<Result<Vec<_>, _>>()?)),
    }
}

fn one_id(world: &World, args: &mut ArgumentConsumer<'_>) -> Outcome<u64> {
    let word = args.next_pos().ok_or("a member is missing")?;
    Ok(world.id(word).ok_or_else(|| format!("`{word}` is no member"))?)
}

fn some_ids(world: &World, args: &mut ArgumentConsumer<'_>) -> Outcome<Vec<u64>> {
    let mut ids = Vec::new();
    while let Some(word) = args.next_pos() {
        ids.push(world.id(word).ok_or_else(|| format!("`{word}` is no member"))?);
    }
    Ok(ids)
}

fn parse<T: std::str::FromStr>(args: &mut ArgumentConsumer<'_>, key: &str) -> Outcome<Option<T>>
where
    T::Err: Error + 'static,
{
    Ok(args.take_key(key).map(str::parse).transpose()?)
}
