//! Verbs about watches.

use council_client::{WatchMode, WatcherType};

use super::super::Shell;
use super::super::failure::Failure;
use super::super::words::Arguments;
use super::{Done, Next, Verb, path};

pub(super) const VERBS: &[Verb] = &[
    Verb {
        name: "addWatch",
        usage: "addWatch [-m mode] path # optional mode is one of [PERSISTENT, PERSISTENT_RECURSIVE] - default is \
                PERSISTENT_RECURSIVE",
        about: "watch a node until the watch is removed; recursive also all below it",
        options: &["m="],
        words_min: 1,
        run: add_watch,
    },
    Verb {
        name: "removewatches",
        usage: "removewatches path [-c|-d|-p|-r|-a] [-l]",
        about: "stop watching: -c children, -d data, -p persistent, -r recursive, -a all; -l here only",
        options: &["c", "d", "p", "r", "a", "l"],
        words_min: 1,
        run: remove_watches,
    },
    Verb {
        name: "printwatches",
        usage: "printwatches [on|off]",
        about: "whether events are shown",
        options: &[],
        words_min: 0,
        run: print_watches,
    },
];

fn add_watch(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let mode = match arguments.value("m").map(str::to_ascii_uppercase).as_deref() {
        None | Some("PERSISTENT_RECURSIVE") => WatchMode::PersistentRecursive,
        Some("PERSISTENT") => WatchMode::Persistent,
        Some(_) => return Err(Failure::Usage(VERBS[0].usage)),
    };
    let path = path(arguments);
    if let Some(watcher) = shell.watcher_if(true, true) {
        shell.wait(shell.client.add_watch(path, mode, &watcher), path)?;
    }
    Ok(Next::Go)
}

fn remove_watches(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let kinds = [
        ("c", WatcherType::Children),
        ("d", WatcherType::Data),
        ("p", WatcherType::Persistent),
        ("r", WatcherType::PersistentRecursive),
    ];
    let kind =
        kinds.iter().find(|(option, _)| arguments.has(option)).map_or(WatcherType::Any, |(_, kind)| *kind);
    let path = path(arguments);
    let removal = match arguments.has("l") {
        true => shell.client.forget_watches(path, kind),
        false => shell.client.remove_watches(path, kind),
    };
    shell.wait(removal, path)?;
    Ok(Next::Go)
}

fn print_watches(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    match arguments.word(0) {
        None => {
            let word = if shell.prints_watches() { "on" } else { "off" };
            writeln!(shell.out, "printwatches is {word}")?;
        }
        Some(word) => shell.print_watches(word == "on"),
    }
    Ok(Next::Go)
}
