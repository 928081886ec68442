//! The binary: configuration, composition of the pieces below, and the shell.

mod cli;
mod config;
mod files;
mod serve;
mod shell;

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
        Command::Serve(arguments) => return Ok(serve::run(&arguments.sources())),
        Command::Shell(arguments) => {
            let (options, command) = arguments.split();
            return Ok(shell::run(options, &command));
        }
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
