//! The interactive shell: a prompt with completion and history, and events as they come.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use council_client::{Client, Events, Watcher};
use rustyline::config::Configurer;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Editor, ExternalPrinter};

use super::complete::Helper;
use super::failure::Failure;
use super::verbs::{self, Next};
use super::{Shell, ShellOptions, complain, event_text};

/// Lines that are remembered.
const REMEMBERED: usize = 1000;

/// Reads and runs lines until the end.
pub(super) fn run(client: Client, options: ShellOptions, watcher: Watcher, events: Events) -> ExitCode {
    match read_lines(client, options, watcher, events) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: the terminal cannot be used: {error}");
            eprintln!("hint: give the command as arguments: `diwan shell ls /`");
            ExitCode::FAILURE
        }
    }
}

fn read_lines(
    client: Client,
    options: ShellOptions,
    watcher: Watcher,
    events: Events,
) -> rustyline::Result<()> {
    let mut editor: Editor<Helper, FileHistory> = Editor::new()?;
    editor.set_completion_type(CompletionType::List);
    editor.set_max_history_size(REMEMBERED)?;
    let remembered = history_file();
    if let Some(file) = &remembered {
        // There is none the first time.
        let _ = editor.load_history(file);
    }
    let mut out = io::stdout();
    let mut shell = Shell::new(client, options, &mut out, watcher);
    show_events(&mut editor, &shell, events)?;
    writeln!(
        shell.out,
        "Connecting to {}. `help` lists the commands, `quit` leaves.",
        shell.options.connection.servers
    )?;
    if let Err(failure) = shell.reach() {
        complain(&failure, shell.colours);
    }
    loop {
        editor.set_helper(Some(Helper::new(shell.client.clone(), shell.colours)));
        match editor.readline(&prompt(&shell)) {
            Ok(text) => {
                if run_lines(&text, &mut shell, &mut editor)? == Next::Quit {
                    break;
                }
            }
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(error),
        }
    }
    if let Some(file) = &remembered {
        save_history(&mut editor, file);
    }
    Ok(())
}

/// Runs what was entered: one line, or as many as were pasted at once.
fn run_lines(
    text: &str,
    shell: &mut Shell<'_>,
    editor: &mut Editor<Helper, FileHistory>,
) -> rustyline::Result<Next> {
    for line in text.lines() {
        // A password stays out of files.
        if !line.trim_start().starts_with("addauth") {
            editor.add_history_entry(line)?;
        }
        match shell.line(line) {
            Ok(Next::Quit) => return Ok(Next::Quit),
            Ok(Next::Go) => {}
            Err(Failure::Output(error)) => return Err(error.into()),
            Err(failure) => complain(&failure, shell.colours),
        }
        shell.out.flush()?;
    }
    Ok(Next::Go)
}

/// A history that cannot be kept is no reason to fail.
fn save_history(editor: &mut Editor<Helper, FileHistory>, file: &PathBuf) {
    if let Some(directory) = file.parent() {
        let _ = std::fs::create_dir_all(directory);
    }
    let _ = editor.save_history(file);
}

fn prompt(shell: &Shell<'_>) -> String {
    let state = verbs::state_name(shell.client.state());
    format!("[zk: {}({state}) {}] ", shell.options.connection.servers, shell.history.len())
}

/// Shows events above the prompt, as they come.
fn show_events(
    editor: &mut Editor<Helper, FileHistory>,
    shell: &Shell<'_>,
    events: Events,
) -> rustyline::Result<()> {
    let mut printer = editor.create_external_printer()?;
    let prints = Arc::clone(&shell.prints);
    std::thread::Builder::new().name(String::from("events")).spawn(move || {
        while let Ok(event) = events.recv() {
            if prints.load(Ordering::Relaxed) && printer.print(format!("{}\n", event_text(&event))).is_err() {
                return;
            }
        }
    })?;
    Ok(())
}

fn history_file() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let state = state.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/state")))?;
    Some(state.join("diwan").join("history"))
}
