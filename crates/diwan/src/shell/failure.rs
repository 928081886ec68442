//! Why a verb did not succeed, in zkCli's words, and what to do about it.

use std::io;

use council_client::{Error, ErrorCode};

use crate::config::Problem;

/// Why a verb did not succeed.
#[derive(Debug)]
pub(super) enum Failure {
    /// It was called wrongly: its usage.
    Usage(&'static str),
    /// Something that its user did, with what to do instead.
    Said(String, Option<String>),
    /// The server or the client refused, for this path.
    Refused(Error, String),
    /// The output is of no use any more.
    Output(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::Said(problem.what, problem.hint)
    }
}

impl Failure {
    /// For something that was done to many nodes: the error's own path goes before this one.
    pub(super) fn refused(error: Error, root: &str) -> Self {
        let path = match &error {
            Error::Refused { path, .. } if !path.is_empty() => path.clone(),
            _ => String::from(root),
        };
        Self::Refused(error, path)
    }

    pub(super) fn said(what: impl Into<String>) -> Self {
        Self::Said(what.into(), None)
    }

    /// The line that zkCli prints.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Usage(usage) => format!("usage: {usage}"),
            Self::Said(what, _) => what.clone(),
            Self::Refused(error, path) => refusal(error, path),
            Self::Output(error) => format!("cannot write: {error}"),
        }
    }

    /// What to do.
    pub(super) fn hint(&self) -> Option<String> {
        match self {
            Self::Said(_, hint) => hint.clone(),
            Self::Refused(error, path) => hint(error, path),
            Self::Usage(_) | Self::Output(_) => None,
        }
    }
}

fn refusal(error: &Error, path: &str) -> String {
    if *error == Error::Closed {
        return String::from("Not connected");
    }
    let Some(code) = error.code() else { return error.to_string() };
    match code {
        _ if matches!(error, Error::InvalidPath { .. }) => error.to_string(),
        ErrorCode::NoNode => format!("Node does not exist: {path}"),
        ErrorCode::NoChildrenForEphemerals => format!("Ephemerals cannot have children: {path}"),
        ErrorCode::NodeExists => format!("Node already exists: {path}"),
        ErrorCode::NotEmpty => format!("Node not empty: {path}"),
        ErrorCode::NotReadOnly => format!("Not a read-only call: {path}"),
        ErrorCode::InvalidAcl => format!("Acl is not valid : {path}"),
        ErrorCode::NoAuth => format!("Insufficient permission : {path}"),
        ErrorCode::BadArguments => format!("Arguments are not valid : {path}"),
        ErrorCode::BadVersion => format!("version No is not valid : {path}"),
        ErrorCode::QuotaExceeded => format!("Quota has exceeded : {path}"),
        ErrorCode::ReconfigInProgress => String::from("Another reconfiguration is in progress"),
        ErrorCode::NewConfigNoQuorum => {
            String::from("No quorum of new config is connected and up-to-date with the leader")
        }
        _ if path.is_empty() => format!("KeeperErrorCode = {}", code_text(code)),
        _ => format!("KeeperErrorCode = {} for {path}", code_text(code)),
    }
}

const fn code_text(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::SessionExpired => "Session expired",
        ErrorCode::NoWatcher => "No such watcher",
        ErrorCode::ReconfigDisabled => "Reconfig is disabled",
        ErrorCode::EphemeralOnLocalSession => "Ephemeral node on local session",
        ErrorCode::SessionClosedRequireSaslAuth => "Session closed because client failed to authenticate",
        ErrorCode::ThrottledOp => "Op throttled due to high load",
        _ => code.name(),
    }
}

fn hint(error: &Error, path: &str) -> Option<String> {
    let parent =
        path.rsplit_once('/').map_or("/", |(parent, _)| if parent.is_empty() { "/" } else { parent });
    if *error == Error::Closed {
        return Some(String::from("`connect` opens a new session"));
    }
    Some(match error.code()? {
        ErrorCode::NoNode => format!("`ls {parent}` shows what is there"),
        ErrorCode::NodeExists => {
            String::from("`set` changes its data; `create -s` adds a number to the name")
        }
        ErrorCode::NotEmpty => format!("`deleteall {path}` deletes what is below it, too"),
        ErrorCode::NoAuth => {
            format!("`getAcl {path}` shows the ACL; `addauth digest USER:PASSWORD` adds an identity")
        }
        ErrorCode::BadVersion => format!("`stat {path}` shows the version"),
        ErrorCode::InvalidAcl => {
            String::from("an ACL is `scheme:id:permissions,..`, permissions are of `cdrwa`")
        }
        ErrorCode::QuotaExceeded => String::from("`listquota` shows quotas, also those of nodes above"),
        ErrorCode::Unimplemented => {
            String::from("the server has switched it off; TTL nodes need `extendedTypesEnabled=true` there")
        }
        ErrorCode::ReconfigDisabled => String::from("the server needs `reconfigEnabled=true`"),
        ErrorCode::SystemError => String::from(
            "the server refuses writes, mostly because its disk is full: its log says where and how much is needed; reads \
             go on",
        ),
        ErrorCode::ConnectionLoss => {
            String::from("is the server up? a write may have taken effect nevertheless")
        }
        ErrorCode::SessionExpired => String::from("`connect` opens a new session"),
        ErrorCode::AuthFailed => String::from(
            "the server does not know the scheme, or the user's password is another; `connect` opens a new session",
        ),
        ErrorCode::SessionClosedRequireSaslAuth => {
            String::from("the server demands SASL: name a user with `--sasl-user USER`")
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_those_of_zkcli() {
        let of = |code| Failure::Refused(Error::Refused { code, path: String::new() }, "/a/b".into());
        assert_eq!(of(ErrorCode::NoNode).text(), "Node does not exist: /a/b");
        assert_eq!(of(ErrorCode::BadVersion).text(), "version No is not valid : /a/b");
        assert_eq!(of(ErrorCode::NoWatcher).text(), "KeeperErrorCode = No such watcher for /a/b");
        assert!(of(ErrorCode::NoNode).hint().unwrap().contains("`ls /a`"));
        assert!(of(ErrorCode::NotEmpty).hint().unwrap().contains("`deleteall /a/b`"));
        assert!(of(ErrorCode::SystemError).hint().unwrap().contains("disk is full"));
        assert_eq!(Failure::Usage("ls path").text(), "usage: ls path");
    }
}
