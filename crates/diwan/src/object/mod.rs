//! What people do with live objects from the command line, over HTTP.

mod access;
mod backup;
mod build;
mod call;
mod care;
mod client;
mod complete;
mod credentials;
mod cycles;
mod dev;
mod encryption;
mod export;
mod history;
mod list;
mod lock;
mod moment;
mod new;
mod rights;
mod session;
mod token;
mod types;
mod waits;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Subcommand;

pub(crate) const HELP: &str = "\
An object is named TYPE/NAME. Objects of built-in types come to be by the first call.

  diwan object call counter/visits increment
  diwan object call lock/build acquire '{\"ttl_ms\":30000}'
  diwan object lock build -- make deploy    runs a command while holding lock/build
  diwan object list
  diwan object inspect lock/build
  diwan object waits                        who waits for whom, and sessions that wait for each other
  diwan object history lock/build --follow  what has happened to it, as far as a member remembers
  diwan object delete counter/visits
  diwan object export --all --out backup.jsonl
  diwan object import backup.jsonl --skip-existing
  diwan object backup --out objects.snap    all of it at one position, with sessions and what they hold
  diwan object verify objects.snap
  diwan object restore objects.snap --config diwan.toml

A type of your own is a WebAssembly module. Its objects are created on purpose.

  diwan object new hits --lang rust         begins one: a folder with an example
  diwan object dev hits/                    runs it in three members here, anew at each change
  diwan object put hits/                    builds a crate of Rust or a package of Go and uploads it
  diwan object create hits/home
  diwan object call hits/home hit
  diwan object client hits --lang go        a class for callers of its objects
  diwan object type list
  diwan object migrate hits/home --to 1f3a --dry-run
  diwan object migrate hits/home --to 1f3a
  diwan object rollback hits/home
  diwan object quarantine hits/home         it runs nothing and keeps its state; `release` ends that

Until access is closed, every client that reaches the port may do everything.

  diwan object token create --name admin --allow '*:admin' --out admin.token
  diwan object access close --token-file admin.token
  diwan object token create --name ci --allow 'lock/build:*' --token-file admin.token
  DIWAN_TOKEN=diwan_.. diwan object call lock/build acquire '{\"ttl_ms\":30000}'
  diwan object token revoke ci --token-file admin.token";

const BACKUP_HELP: &str = "\
It takes the right `*:admin`. The file holds all data, whatever the rights say, and hashes of the secrets of sessions and tokens,
so that only its owner may read it. Any one member is asked; the others are named in case it does not answer.

  diwan object backup --server a:7180,b:7180 --out objects.snap --token-file admin.token";

const RESTORE_HELP: &str = "\
The server must be stopped, and have no objects. It becomes a group of its own, which the other members join without their
`objects` directories.

  diwan object restore objects.snap --config diwan.toml
  diwan object restore objects.snap --data-dir /var/lib/diwan --member 2";

/// Commands of live objects.
#[derive(Debug, Subcommand)]
pub(crate) enum ObjectCommand {
    /// Show the objects.
    List(list::ListArguments),
    /// Show one object: since when it is there, and how many calls wait for it.
    Inspect(list::InspectArguments),
    /// Call a method, and print its result.
    Call(call::CallArguments),
    /// Run a command while holding a lock.
    Lock(lock::LockArguments),
    /// Show the calls that wait, who holds what they wait for, and sessions that wait for each other.
    Waits(waits::WaitsArguments),
    /// Show what has happened to an object, as far as the member that answers remembers.
    History(history::HistoryArguments),
    /// Create an object on purpose: it stays until it is deleted.
    Create(call::CreateArguments),
    /// Build a type from a folder, and tell where its module is.
    Build(build::BuildArguments),
    /// Build a type from a folder, or take a module or a source, and upload it as a new version.
    Put(types::PutArguments),
    /// Types that users make.
    #[command(subcommand)]
    Type(types::TypeCommand),
    /// Write a class for callers of a type's objects, from the type's description.
    Client(client::ClientArguments),
    /// Take objects to another version of their type.
    Migrate(care::MigrateArguments),
    /// Take an object back to the version that it was migrated from, within a day.
    Rollback(care::RollbackArguments),
    /// Write objects as lines of JSON, of which `import` makes objects, here or elsewhere.
    Export(export::ExportArguments),
    /// Make objects of what `export` has written. Types of your own are uploaded first.
    Import(export::ImportArguments),
    /// Keep all objects at one position as a file, with sessions, what they hold and calls that wait.
    #[command(after_help = BACKUP_HELP)]
    Backup(backup::BackupArguments),
    /// Check a backup as a whole, without a server, and say what it holds.
    Verify(backup::VerifyArguments),
    /// Make the objects of a stopped server of a backup. For several members it is done on one, and the others join it.
    #[command(after_help = RESTORE_HELP)]
    Restore(backup::RestoreArguments),
    /// Have an object of a type of your own run nothing; it keeps its state.
    Quarantine(care::QuarantineArguments),
    /// Have it run again.
    Release(care::ReleaseArguments),
    /// Delete an object: its waiters are told, and its holders hold nothing any more.
    Delete(call::DeleteArguments),
    /// Tokens, by which programs and people prove who they are.
    #[command(subcommand)]
    Token(token::TokenCommand),
    /// Who may do what, and whether that is looked at.
    #[command(subcommand)]
    Access(rights::RightsCommand),
    /// Begin a type of your own: write a folder with an example.
    New(new::NewArguments),
    /// Run the type of a folder in three members on this machine: build, upload and compare at each change.
    Dev(dev::DevArguments),
}

/// Runs one.
pub(crate) fn run(command: &ObjectCommand, out: &mut impl Write) -> io::Result<ExitCode> {
    if let ObjectCommand::Lock(arguments) = command {
        return lock::lock(arguments);
    }
    let done = match command {
        ObjectCommand::List(arguments) => list::list(arguments, out),
        ObjectCommand::Waits(arguments) => waits::waits(arguments, out),
        ObjectCommand::History(arguments) => history::history(arguments, out),
        ObjectCommand::Inspect(arguments) => list::inspect(arguments, out),
        ObjectCommand::Call(arguments) => call::call(arguments, out),
        ObjectCommand::Lock(_) => Ok(()),
        ObjectCommand::Create(arguments) => call::create(arguments, out),
        ObjectCommand::Build(arguments) => build::build(arguments, out),
        ObjectCommand::Put(arguments) => types::put(arguments, out),
        ObjectCommand::Type(command) => types::run(command, out),
        ObjectCommand::Client(arguments) => client::client(arguments, out),
        ObjectCommand::Migrate(arguments) => care::migrate(arguments, out),
        ObjectCommand::Rollback(arguments) => care::rollback(arguments, out),
        ObjectCommand::Export(arguments) => export::export(arguments, out),
        ObjectCommand::Import(arguments) => export::import(arguments, out),
        ObjectCommand::Backup(arguments) => backup::backup(arguments, out),
        ObjectCommand::Verify(arguments) => backup::verify(arguments, out),
        ObjectCommand::Restore(arguments) => backup::restore(arguments, out),
        ObjectCommand::Quarantine(arguments) => care::quarantine(arguments, out),
        ObjectCommand::Release(arguments) => care::release(arguments, out),
        ObjectCommand::Delete(arguments) => call::delete(arguments, out),
        ObjectCommand::Token(command) => token::run(command, out),
        ObjectCommand::Access(command) => rights::run(command, out),
        ObjectCommand::New(arguments) => new::new(arguments, out),
        ObjectCommand::Dev(arguments) => dev::dev(arguments, out),
    };
    match done {
        Ok(()) => out.flush().map(|()| ExitCode::SUCCESS),
        Err(failure) => failure.tell(),
    }
}
