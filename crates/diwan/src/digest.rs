//! `diwan digest`: the line of a configuration that names the super user, from a password that the file does not hold.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use council_service::config::DigestAlgorithm;
use council_service::digest;

use crate::secret::SecretArguments;

pub(crate) const HELP: &str = "\
The password comes from a file, from the variable `DIWAN_PASSWORD`, or from a prompt.

  diwan digest super                              asks, and prints the line for a zoo.cfg
  diwan digest super --password-file pw >> zoo.cfg";

#[derive(Debug, Args)]
pub(crate) struct DigestArguments {
    /// The user: `super` is usual.
    user: String,

    /// How scheme `digest` hashes: what `DigestAuthenticationProvider.digestAlg` says.
    #[arg(long, value_enum, default_value_t = Algorithm::Sha1)]
    algorithm: Algorithm,

    #[command(flatten)]
    secret: SecretArguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Algorithm {
    #[value(name = "SHA1")]
    Sha1,
    #[value(name = "SHA-256")]
    Sha256,
    #[value(name = "SHA-512")]
    Sha512,
    #[value(name = "SHA3-256")]
    Sha3_256,
}

/// The command.
pub(crate) fn run(arguments: &DigestArguments, out: &mut impl Write) -> io::Result<ExitCode> {
    let user = arguments.user.as_str();
    if user.is_empty() || user.contains(':') || user.chars().any(char::is_control) {
        eprintln!("error: `{user}` is no name of a user: it is empty, or has a colon or a control character");
        return Ok(ExitCode::FAILURE);
    }
    let password = match arguments.secret.read(user, true) {
        Ok(password) => password,
        Err(error) => {
            eprintln!("error: {error}");
            return Ok(ExitCode::FAILURE);
        }
    };
    let (algorithm, name) = match arguments.algorithm {
        Algorithm::Sha1 => (DigestAlgorithm::Sha1, None),
        Algorithm::Sha256 => (DigestAlgorithm::Sha256, Some("SHA-256")),
        Algorithm::Sha512 => (DigestAlgorithm::Sha512, Some("SHA-512")),
        Algorithm::Sha3_256 => (DigestAlgorithm::Sha3_256, Some("SHA3-256")),
    };
    if let Some(name) = name {
        writeln!(out, "DigestAuthenticationProvider.digestAlg={name}")?;
    }
    let id = digest::id(algorithm, user, &password);
    writeln!(out, "DigestAuthenticationProvider.superDigest={id}")?;
    eprintln!("hint: in a `diwan.toml` the key is `council.auth.super-digest`, and the value `\"{id}\"`");
    Ok(ExitCode::SUCCESS)
}
