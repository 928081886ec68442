//! What people do with live objects from the command line, over HTTP.

mod access;
mod call;
mod complete;
mod list;
mod new;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Subcommand;

pub(crate) const HELP: &str = "\
An object is named TYPE/NAME. Objects of built-in types come to be by the first call.

  diwan object call counter/visits increment
  diwan object call lock/build acquire '{\"ttl_ms\":30000}'
  diwan object list
  diwan object inspect lock/build
  diwan object waits
  diwan object delete counter/visits
  diwan object new hits --lang rust";

/// Commands of live objects.
#[derive(Debug, Subcommand)]
pub(crate) enum ObjectCommand {
    /// Show the objects.
    List(list::ListArguments),
    /// Show one object: since when it is there, and how many calls wait for it.
    Inspect(list::InspectArguments),
    /// Call a method, and print its result.
    Call(call::CallArguments),
    /// Show the objects for which calls wait.
    Waits(list::ListArguments),
    /// Delete an object: its waiters are told, and its holders hold nothing any more.
    Delete(call::DeleteArguments),
    /// Begin a type of your own: write a folder with an example, in Rust or Python.
    New(new::NewArguments),
}

/// Runs one.
pub(crate) fn run(command: &ObjectCommand, out: &mut impl Write) -> io::Result<ExitCode> {
    let done = match command {
        ObjectCommand::List(arguments) => list::list(arguments, |_| true, out),
        ObjectCommand::Waits(arguments) => list::list(arguments, list::has_waiters, out),
        ObjectCommand::Inspect(arguments) => list::inspect(arguments, out),
        ObjectCommand::Call(arguments) => call::call(arguments, out),
        ObjectCommand::Delete(arguments) => call::delete(arguments, out),
        ObjectCommand::New(arguments) => new::new(arguments, out),
    };
    match done {
        Ok(()) => out.flush().map(|()| ExitCode::SUCCESS),
        Err(failure) => failure.tell(),
    }
}
