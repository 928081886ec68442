//! Why a command did not do what was asked.

use std::io;
use std::process::ExitCode;

use log_client::{Error, ErrorCode};

use crate::config::Problem;

/// See the module.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Nobody could write.
    Output(io::Error),
    /// Said to the user.
    Told(Problem),
}

/// What a command gives.
pub(crate) type Done<T = ()> = Result<T, Failure>;

impl Failure {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self::Told(Problem::new(what))
    }

    pub(crate) fn hinted(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Told(Problem { what: what.into(), hint: Some(hint.into()) })
    }

    /// Says it on standard error.
    pub(crate) fn tell(self) -> io::Result<ExitCode> {
        match self {
            Self::Output(error) => Err(error),
            Self::Told(problem) => Ok(crate::refuse(&problem)),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::Told(problem)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Told(Problem { hint: hint(&error).map(String::from), what: error.to_string() })
    }
}

/// What to do about what a broker says.
fn hint(error: &Error) -> Option<&'static str> {
    use ErrorCode as Code;
    let hints = [
        (
            Code::UnknownTopicOrPartition,
            "`diwan topic list` shows the topics, `diwan topic create` makes one",
        ),
        (Code::TopicAlreadyExists, "`diwan topic describe` shows it; `--if-not-exists` leaves it as it is"),
        (Code::InvalidReplicationFactor, "a topic has at most as many replicas as there are brokers"),
        (Code::GroupIdNotFound, "`diwan group list` shows the groups"),
        (Code::NonEmptyGroup, "stop its members first: `diwan group describe` shows them"),
        (Code::UnknownMemberId, "the group has members: stop them first"),
        (Code::SaslAuthenticationFailed, "check user and password in the file of `--command-config`"),
        (Code::UnsupportedSaslMechanism, "set `sasl.mechanism` in the file of `--command-config`"),
        (Code::InvalidConfig, "`diwan topic describe` shows the settings of a topic"),
    ];
    match error {
        Error::Unreachable(_) => Some(
            "name a broker that runs with `--bootstrap-server HOST:PORT`; one with TLS or SASL needs `--command-config FILE`",
        ),
        Error::Malformed { .. } => {
            Some("if the broker wants TLS, name a file that says so: `--command-config FILE`")
        }
        _ => hints.into_iter().find(|(code, _)| error.is(*code)).map(|(_, hint)| hint),
    }
}
