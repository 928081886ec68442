//! The binary: configuration, composition of the pieces below, the shell, and the commands that manage ensembles.

mod answer;
mod broker;
mod certificates;
mod cli;
mod config;
mod council;
mod digest;
mod files;
mod http;
mod lab;
mod log;
mod logging;
mod lone_broker;
mod member;
mod names;
mod object;
mod partial;
mod revive;
mod secret;
mod serve;
mod services;
mod shell;
mod signals;
mod status;
mod table;
mod up;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::CommandFactory as _;
use clap_complete::CompleteEnv;
use cli::{Command, ConfigCommand, CouncilCommand, LogArguments, ShortCommand};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|word| word == objects_guest::COMPILE_MODULE) {
        // A member has started this process. It confines itself before anything else is done.
        return objects_guest::compile_module(arguments);
    }
    // Asked by a shell for completions, the process ends here.
    CompleteEnv::with_factory(cli::Cli::command).complete();
    match run(cli::parse().command) {
        Ok(code) => code,
        // The reader of the pipe has closed it.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: cannot write: {error}");
            ExitCode::FAILURE
        }
    }
}

/// `diwan log`: a broker, or a command about all brokers.
fn broker_or_cluster(arguments: LogArguments) -> io::Result<ExitCode> {
    let LogArguments { command, broker } = arguments;
    match command {
        Some(command) => log::run_on_cluster(&command, &mut output()),
        None => Ok(lone_broker::run(broker)),
    }
}

fn output() -> impl Write {
    io::BufWriter::new(io::stdout().lock())
}

fn run(command: Command) -> io::Result<ExitCode> {
    let command = match command {
        Command::Serve(arguments) => {
            let until_input_ends = arguments.until_input_ends;
            return Ok(serve::run(&arguments.sources(), until_input_ends));
        }
        Command::Up(arguments) => {
            files::make_private();
            return up::run(&arguments.options(), &mut io::stdout().lock());
        }
        Command::Log(arguments) => return broker_or_cluster(arguments),
        Command::Records(command) => return log::run(&command, &mut output()),
        Command::Object(command) => return object::run(&command, &mut output()),
        Command::Certificates(arguments) => {
            return certificates::run(&arguments.order(), &mut io::stdout().lock());
        }
        Command::Council(CouncilCommand::Data(command)) => {
            return council::run(&command, &mut io::stdout().lock());
        }
        Command::Short(command) | Command::Council(CouncilCommand::Short(command)) => return short(command),
        Command::Lab { arguments } => return Ok(lab::run(&arguments)),
        Command::Config(command) => command,
    };
    let mut out = output();
    let fine = match command {
        ConfigCommand::Check(arguments) => {
            let (sources, options) = arguments.split();
            config::check(&sources, options, &mut out)?
        }
        ConfigCommand::Keys { markdown } => {
            if markdown {
                config::document_keys(&mut out)?
            } else {
                config::describe_keys(&mut out)?
            }
            true
        }
    };
    out.flush()?;
    Ok(if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Commands of the council that may leave its name out.
fn short(command: ShortCommand) -> io::Result<ExitCode> {
    match command {
        ShortCommand::Shell(arguments) => {
            files::make_private();
            Ok(match arguments.split() {
                Ok((options, command)) => shell::run(options, &command),
                Err(problem) => refuse(&problem),
            })
        }
        ShortCommand::Status(arguments) => match arguments.options() {
            Ok(options) => status::run(&options, &mut io::stdout().lock()),
            Err(problem) => Ok(refuse(&problem)),
        },
        ShortCommand::Member(arguments) => match arguments.split() {
            Ok((access, wish, dry)) => member::run(&access, &wish, dry, &mut io::stdout().lock()),
            Err(problem) => Ok(refuse(&problem)),
        },
        ShortCommand::Digest(arguments) => digest::run(&arguments, &mut io::stdout().lock()),
        ShortCommand::ForceNewEnsemble(arguments) => {
            let (sources, yes) = arguments.split();
            revive::run(&sources, yes, &mut io::stdout().lock())
        }
    }
}

/// Says why a command does not begin.
fn refuse(problem: &config::Problem) -> ExitCode {
    eprintln!("error: {}", problem.what);
    if let Some(hint) = &problem.hint {
        eprintln!("hint: {hint}");
    }
    ExitCode::FAILURE
}
