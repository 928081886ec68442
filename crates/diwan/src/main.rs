//! The binary: configuration, composition of the pieces below, the shell, and what looks after ensembles.

mod answer;
mod certificates;
mod cli;
mod config;
mod files;
mod http;
mod lab;
mod member;
mod revive;
mod serve;
mod shell;
mod status;
mod table;
mod up;

use std::io::{self, Write};
use std::process::ExitCode;

use cli::{Command, ConfigCommand};

fn main() -> ExitCode {
    match run(cli::parse().command) {
        Ok(code) => code,
        // Who reads the output of a pipe has seen enough of it.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: cannot write: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> io::Result<ExitCode> {
    let command = match command {
        Command::Serve(arguments) => {
            let until_input_ends = arguments.until_input_ends;
            return Ok(serve::run(&arguments.sources(), until_input_ends));
        }
        Command::Up(arguments) => return up::run(&arguments.options(), &mut io::stdout().lock()),
        Command::Status(arguments) => return status::run(&arguments.options(), &mut io::stdout().lock()),
        Command::Certificates(arguments) => {
            return certificates::run(&arguments.order(), &mut io::stdout().lock());
        }
        Command::Member(arguments) => {
            let (access, wish, dry) = arguments.split();
            return member::run(&access, &wish, dry, &mut io::stdout().lock());
        }
        Command::ForceNewEnsemble(arguments) => {
            let (sources, yes) = arguments.split();
            return revive::run(&sources, yes, &mut io::stdout().lock());
        }
        Command::Shell(arguments) => {
            let (options, command) = arguments.split();
            return Ok(shell::run(options, &command));
        }
        Command::Lab(command) => return lab::run(command, &mut io::stdout().lock()),
        Command::Config(command) => command,
    };
    let mut out = io::BufWriter::new(io::stdout().lock());
    let fine = match command {
        ConfigCommand::Check(arguments) => {
            config::print_check(&config::load(&arguments.sources()), &mut out)?
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
