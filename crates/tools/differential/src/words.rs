//! Four-letter words: their layout is compared, what they measure is not.

use super::normalise::Side;
use super::script::{Action, Step};

/// Names in `mntr` that ZooKeeper does not know, by a part of them, and those that its namespaces make: what was read
/// or written below each name is remembered since a server's start, and neither server is restarted for a script.
const OWN_NAMES: [&str; 4] = ["diwan_", "zk_process_", "zk_fsync_threshold_exceed_count", "_per_namespace"];

/// How a session of the script is called.
const SESSION: &str = "<session ";

/// The comparable form of an answer.
pub(crate) fn normal(step: &Step, text: &str, side: Side<'_>) -> String {
    let Action::Word(word) = step.action else { return text.to_owned() };
    let text = with_sessions_named(text, side);
    match word {
        // Lists of properties: which names there are is each server's own affair.
        "envi" => {
            text.lines().next().unwrap_or_default().to_owned()
                + property(&text, "zookeeper.version").map_or("", |_| " +version")
        }
        "conf" => kept(&text, |line| !line.starts_with("data") && !line.starts_with("clientPort")),
        "mntr" => {
            let name = |line: &str| line.split('\t').next().unwrap_or_default().to_owned();
            let shared = |name: &String| !OWN_NAMES.iter().any(|own| name.contains(own));
            sorted(text.lines().map(name).filter(shared))
        }
        "dump" => {
            // Sessions whose ephemeral nodes are all gone are listed, or not.
            let lines = text.lines().filter(|line| !(line.starts_with("0x") && line.ends_with(':')));
            sorted(lines.map(|line| without_numbers(&without_connection(line))))
        }
        "srvr" | "stat" => {
            let measured = text.lines().filter(|line| !line.starts_with("Zookeeper version: "));
            sorted(
                measured
                    .map(|line| line.split_once(": ").map_or_else(|| without_numbers(line), without_value)),
            )
        }
        "wchc" | "wchp" => sorted(without_empty_groups(&text).into_iter().map(without_numbers)),
        _ => sorted(text.lines().map(|line| without_numbers(&without_connection(line)))),
    }
}

/// A session or path that has no watches any more is listed by the one server for as long as it remembers it. The
/// lists are headings (sessions or paths) with indented lines below (paths or sessions).
fn without_empty_groups(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().collect();
    let groups = lines.chunk_by(|_, next| next.starts_with('\t')).filter(|group| group.len() > 1);
    groups.flatten().copied().collect()
}

/// Closed connections linger in the lists for a moment: that there is a list, and how a line looks, is all that is fixed.
fn without_connection(line: &str) -> String {
    let mark = ["sid=0x", "sessionId: 0x"].into_iter().find_map(|mark| Some(line.find(mark)? + mark.len()));
    let Some(start) = mark else { return line.to_owned() };
    let rest = line[start..]
        .trim_start_matches(|character| character != ',' && character != '>')
        .trim_start_matches('>');
    format!("{}{rest}", &line[..start])
}

/// `Mode: standalone` stays; of every other line the name stays.
fn without_value((name, value): (&str, &str)) -> String {
    if name == "Mode" { format!("{name}: {value}") } else { format!("{name}: #") }
}

fn property<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
}

fn kept(text: &str, keep: impl Fn(&str) -> bool) -> String {
    text.lines().filter(|line| keep(line)).collect::<Vec<_>>().join("\n")
}

fn sorted(lines: impl Iterator<Item = String>) -> String {
    let mut lines: Vec<String> = lines.collect();
    lines.sort_unstable();
    // How many connections are listed depends on how fast a closed one is forgotten.
    lines.dedup();
    lines.join("\n")
}

fn with_sessions_named(text: &str, side: Side<'_>) -> String {
    side.sessions.iter().enumerate().fold(text.to_owned(), |text, (index, session)| {
        text.replace(&format!("{session:x}"), &format!("{SESSION}{}>", char::from(b'A' + (index % 26) as u8)))
    })
}

/// A number becomes one `#`, and so does a hexadecimal one behind `0x`.
fn without_numbers(line: &str) -> String {
    let mut out = String::new();
    let mut hexadecimal = false;
    for character in line.chars() {
        hexadecimal =
            (hexadecimal && character.is_ascii_hexdigit()) || (character == 'x' && out.ends_with('#'));
        let number = character.is_ascii_digit() || (hexadecimal && character != 'x');
        if !number {
            out.push(character);
        } else if !out.ends_with('#') {
            out.push('#');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(word: &'static str, text: &str) -> String {
        let side = Side { marks: &[], step: 0, sessions: &[0x1000_00ab] };
        normal(&Step { client: 0, action: Action::Word(word) }, text, side)
    }

    #[test]
    fn what_is_measured_does_not_count_and_what_is_said_does() {
        let said = |mode, zxid| {
            format!("Zookeeper version: 3, built\nLatency min/avg/max: 0/0.5/7\nZxid: {zxid}\nMode: {mode}\n")
        };
        assert_eq!(of("srvr", &said("standalone", "0x1f")), of("srvr", &said("standalone", "0x7")));
        assert_ne!(of("srvr", &said("standalone", "0x1f")), of("srvr", &said("leader", "0x1f")));
        assert_ne!(of("srvr", &said("standalone", "0x1f")), of("srvr", "Mode: standalone"));
        assert_ne!(of("ruok", "imok"), of("ruok", "imok\n "));
    }

    #[test]
    fn sessions_go_by_name() {
        assert_eq!(of("wchc", "0x100000ab\n\t/a"), "\t/a\n#x<session A>");
        let two = "a(sid=0x100000ab,lzxid=0xfe)\na(sid=0x9,lzxid=0x2)";
        assert_eq!(of("cons", two), "a(sid=#x,lzxid=#x#)");
    }

    #[test]
    fn a_session_without_watches_is_as_if_it_were_not_there() {
        assert_eq!(of("wchc", "0x7\n0x8\n\t/a\n\tnull"), of("wchc", "0x8\n\t/a\n\tnull\n0x9"));
        assert_ne!(of("wchc", "0x8\n\t/a\n\tnull"), of("wchc", "0x8\n\t/a"));
    }
}
