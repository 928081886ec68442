//! Verbs about the connection, the ensemble and the shell itself.

use council_client::{Error, KeeperState, SessionState};

use super::super::Shell;
use super::super::failure::Failure;
use super::super::show;
use super::super::words::{self, Arguments};
use super::{Done, Next, Verb};

/// What needs no server.
pub(super) const LOCAL: &[&str] = &["help", "history", "printwatches", "quit", "version"];

/// Lines that `history` shows.
const SHOWN: usize = 11;

pub(super) const VERBS: &[Verb] = &[
    Verb {
        name: "connect",
        usage: "connect [host:port[,host:port]..[/chroot]]",
        about: "open a new session, there or where the last one was",
        options: &[],
        words_min: 0,
        run: connect,
    },
    Verb { name: "close", usage: "close", about: "end the session", options: &[], words_min: 0, run: close },
    Verb {
        name: "addauth",
        usage: "addauth scheme auth",
        about: "add an identity: `addauth digest user:password`",
        options: &[],
        words_min: 1,
        run: add_auth,
    },
    Verb {
        name: "whoami",
        usage: "whoami",
        about: "show the connection's identities",
        options: &[],
        words_min: 0,
        run: who_am_i,
    },
    Verb {
        name: "config",
        usage: "config [-c] [-w] [-s]",
        about: "show the ensemble; -c as clients name it, -w watch, -s with the stat",
        options: &["c", "w", "s"],
        words_min: 0,
        run: config,
    },
    Verb {
        name: "reconfig",
        usage: "reconfig [-s] [-v version] [[-file path] | [-members serverID=host:port1:port2;port3[,...]*]] | \
                [-add serverId=host:port1:port2;port3[,...]]* [-remove serverId[,...]*]",
        about: "change the ensemble",
        options: &["s", "v=", "file=", "members=", "add=", "remove="],
        words_min: 0,
        run: reconfig,
    },
    Verb {
        name: "history",
        usage: "history",
        about: "show the last lines",
        options: &[],
        words_min: 0,
        run: history,
    },
    Verb {
        name: "redo",
        usage: "redo cmdno",
        about: "run a line again",
        options: &[],
        words_min: 1,
        run: redo,
    },
    Verb {
        name: "version",
        usage: "version",
        about: "show this shell's version",
        options: &[],
        words_min: 0,
        run: |shell, _| {
            writeln!(shell.out, "Diwan CLI version: {}", env!("CARGO_PKG_VERSION"))?;
            Ok(Next::Go)
        },
    },
    Verb { name: "help", usage: "help [verb]", about: "show this", options: &[], words_min: 0, run: help },
    Verb {
        name: "quit",
        usage: "quit",
        about: "end the session and the shell",
        options: &[],
        words_min: 0,
        run: |_, _| Ok(Next::Quit),
    },
];

fn connect(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    shell.connect(arguments.word(0))?;
    Ok(Next::Go)
}

fn close(shell: &mut Shell<'_>, _: &Arguments) -> Done {
    if shell.client.state() == SessionState::Closed {
        return Err(Failure::Refused(Error::Closed, String::new()));
    }
    shell.client.close();
    Ok(Next::Go)
}

fn add_auth(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let scheme = arguments.word(0).unwrap_or_default();
    let credentials = arguments.word(1).unwrap_or_default();
    shell.wait(shell.client.add_auth(scheme, credentials.as_bytes()), scheme)?;
    Ok(Next::Go)
}

fn who_am_i(shell: &mut Shell<'_>, _: &Arguments) -> Done {
    let identities = shell.wait(shell.client.who_am_i(), "")?;
    writeln!(shell.out, "Auth scheme: User")?;
    for identity in identities {
        writeln!(shell.out, "{}: {}", identity.scheme, identity.user)?;
    }
    Ok(Next::Go)
}

fn config(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let watcher = shell.watcher_if(arguments.has("w"), false);
    let (data, stat) = shell.wait(shell.client.config(watcher.as_ref()), "/zookeeper/config")?;
    let text = String::from_utf8_lossy(&data.unwrap_or_default()).into_owned();
    let shown = if arguments.has("c") { client_addresses(&text) } else { text };
    writeln!(shell.out, "{shown}")?;
    if arguments.has("s") {
        show::stat(shell.out, &stat)?;
    }
    Ok(Next::Go)
}

/// The version, and the servers as a connect string: from lines `server.N=..;[address:]port` and `version=..`.
fn client_addresses(text: &str) -> String {
    let mut version = "";
    let mut servers = Vec::new();
    for (key, value) in text.lines().filter_map(|line| line.split_once('=')) {
        if key == "version" {
            version = value;
        } else if let Some((quorum, client)) = value.split_once(';') {
            let host = quorum.split(':').next().unwrap_or_default();
            let (address, port) = client.rsplit_once(':').unwrap_or((host, client));
            let address = if address == "0.0.0.0" { host } else { address };
            servers.push(format!("{address}:{port}"));
        }
    }
    format!("{version} {}", servers.join(","))
}

fn reconfig(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let (whole, steps) = (["file", "members"], ["add", "remove"]);
    let said = |names: &[&str]| names.iter().filter(|name| arguments.has(name)).count();
    if said(&whole) + said(&steps) == 0 {
        return Err(Failure::Usage(VERBS[5].usage));
    }
    if said(&whole) > 0 && said(&steps) > 0 || said(&whole) > 1 {
        return Err(Failure::said("-file, -members, and -add with -remove exclude each other"));
    }
    let version = match arguments.value("v") {
        Some(text) => i64::from_str_radix(text, 16)
            .map_err(|_| Failure::said("-v must be followed by a configuration version in hexadecimal"))?,
        None => -1,
    };
    let members = match (arguments.value("file"), arguments.value("members")) {
        (Some(file), _) => Some(
            std::fs::read_to_string(file)
                .map_err(|error| Failure::said(format!("cannot read `{file}`: {error}")))?
                .lines()
                .map(str::trim)
                .filter(|line| line.starts_with("server."))
                .collect::<Vec<_>>()
                .join(","),
        ),
        (None, members) => members.map(str::to_ascii_lowercase),
    };
    let (joining, leaving) = (arguments.value("add"), arguments.value("remove"));
    let change = shell.client.reconfig(joining, leaving, members.as_deref(), version);
    let (data, stat) = shell.wait(change, "")?;
    let text = data.unwrap_or_default();
    writeln!(shell.out, "Committed new configuration:\n{}", String::from_utf8_lossy(&text))?;
    if arguments.has("s") {
        show::stat(shell.out, &stat)?;
    }
    Ok(Next::Go)
}

fn history(shell: &mut Shell<'_>, _: &Arguments) -> Done {
    let first = shell.history.len().saturating_sub(SHOWN);
    for (index, line) in shell.history.iter().enumerate().skip(first) {
        writeln!(shell.out, "{index} - {line}")?;
    }
    Ok(Next::Go)
}

fn redo(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let index: Option<usize> = arguments.word(0).and_then(|text| text.parse().ok());
    // The last line is this one.
    let line =
        index.filter(|index| index + 1 < shell.history.len()).and_then(|index| shell.history.get(index));
    let Some(line) = line.cloned() else { return Err(Failure::said("Command index out of range")) };
    let words = words::split(&line);
    if words.first().is_some_and(|verb| verb == "redo") {
        return Err(Failure::said("No redoing redos"));
    }
    if let Some(last) = shell.history.last_mut() {
        last.clone_from(&line);
    }
    shell.perform(&words)
}

fn help(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    if let Some(name) = arguments.word(0) {
        let verb = super::find(name).ok_or_else(|| super::super::unknown(name))?;
        writeln!(shell.out, "{}\n    {}", verb.usage, verb.about)?;
        return Ok(Next::Go);
    }
    for verb in super::all() {
        writeln!(shell.out, "{:<22}{}", verb.name, verb.about)?;
    }
    writeln!(shell.out, "`help VERB` shows how a verb is called")?;
    Ok(Next::Go)
}

/// How a prompt names the state of a session.
pub(in super::super) const fn state_name(state: SessionState) -> &'static str {
    match state {
        SessionState::Connected => "CONNECTED",
        SessionState::ConnectedReadOnly => "CONNECTEDREADONLY",
        SessionState::AuthFailed => "AUTH_FAILED",
        SessionState::Closed | SessionState::Expired => "CLOSED",
        _ => "CONNECTING",
    }
}

/// Whether an event only concerns the connection.
pub(in super::super) fn is_of_connection(event: &council_client::Event) -> bool {
    event.path.is_none() && event.state != KeeperState::Expired
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_becomes_a_connect_string() {
        let text = "server.1=h1:2888:3888:participant;0.0.0.0:2181\nserver.2=h2:2888:3888;2182\nversion=a0";
        assert_eq!(client_addresses(text), "a0 h1:2181,h2:2182");
        assert_eq!(client_addresses(""), " ");
    }
}
