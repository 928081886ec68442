//! DescribeUserScramCredentials and AlterUserScramCredentials.

use std::collections::BTreeMap;

use log_metadata::access::AccessChange;
use log_wire::ErrorCode;
use log_wire::messages::Blob;
use log_wire::messages::security::{
    AlterUserScramCredentialsRequest, AlterUserScramCredentialsResponse, AlterUserScramCredentialsResult,
    CredentialInfo, DescribeUserScramCredentialsRequest, DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
};
use net_auth::sasl::scram::{ITERATIONS_MIN, ScramCredential, ScramHash};

use super::UNAUTHORIZED;
use super::change::{AccessAnswer, CHANGES_MAX};
use crate::authentication::USERS_MAX;
use crate::node::Node;
use crate::response::{Form, Response};
use crate::rights::{By, CLUSTER_ALTER, CLUSTER_DESCRIBE};

/// Bytes of the longest name of a user.
const USER_BYTES_MAX: usize = 1_024;
/// Bytes of the longest salt, and of the longest salted password.
const SALT_BYTES_MAX: usize = 1_024;
/// The most iterations with which a password may be salted.
const ITERATIONS_MAX: i32 = 16_384;

const fn hash_of(mechanism: i8) -> Option<ScramHash> {
    match mechanism {
        1 => Some(ScramHash::Sha256),
        2 => Some(ScramHash::Sha512),
        _ => None,
    }
}

const fn number_of(hash: ScramHash) -> i8 {
    match hash {
        ScramHash::Sha256 => 1,
        ScramHash::Sha512 => 2,
    }
}

/// Handles a request.
pub(super) fn describe(
    node: &Node,
    by: By<'_>,
    request: &DescribeUserScramCredentialsRequest,
) -> DescribeUserScramCredentialsResponse {
    let mut response = DescribeUserScramCredentialsResponse::default();
    if let Err(error) = node.may_on_cluster(by, CLUSTER_DESCRIBE) {
        response.error_code = error.code();
        // A real Kafka names nobody, and not no user at all.
        response
            .results
            .push(DescribeUserScramCredentialsResult { error_code: error.code(), ..Default::default() });
        return response;
    }
    let users = &node.access.authentication.users;
    response.error_message = Some(String::new());
    let named = request.users.as_ref().filter(|named| !named.is_empty());
    let mut times = BTreeMap::<&str, usize>::new();
    let all = if named.is_none() { users.names() } else { Vec::new() };
    match named {
        Some(named) => named.iter().for_each(|user| *times.entry(&user.name).or_default() += 1),
        None => times.extend(all.iter().map(|user| (&**user, 1))),
    }
    response.results = times
        .into_iter()
        .map(|(user, times)| {
            let shown = users.shown(user);
            let (error, message) = match times {
                1 if shown.is_empty() => (ErrorCode::ResourceNotFound, "there is no such user"),
                1 => (ErrorCode::None, ""),
                _ => (ErrorCode::DuplicateResource, "the user is named twice"),
            };
            let infos = shown.into_iter().filter(|_| error == ErrorCode::None);
            let info = |(hash, iterations): (ScramHash, u32)| CredentialInfo {
                mechanism: number_of(hash),
                iterations: i32::try_from(iterations).unwrap_or(i32::MAX),
            };
            DescribeUserScramCredentialsResult {
                user: user.into(),
                error_code: error.code(),
                error_message: Some(message.into()),
                credential_infos: infos.map(info).collect(),
            }
        })
        .collect();
    response
}

/// A change of one user, or why there is none.
type Judged = Result<(ScramHash, Option<ScramCredential>), (ErrorCode, &'static str)>;

/// Handles a request: its answer as far as it is known, and the changes that it wants, each with its place in the answer.
pub(super) fn alter(
    node: &Node,
    by: By<'_>,
    request: &AlterUserScramCredentialsRequest,
) -> (AlterUserScramCredentialsResponse, Vec<(usize, AccessChange)>) {
    let may = node.may_on_cluster(by, CLUSTER_ALTER);
    let mut by_user = BTreeMap::<&str, Judged>::new();
    for gone in &request.deletions {
        add(&mut by_user, &gone.name, judge_deletion(node, &gone.name, gone.mechanism));
    }
    for new in &request.upsertions {
        let (Blob(salt), Blob(salted)) = (&new.salt, &new.salted_password);
        let judged = judge_upsertion(node, (&new.name, new.mechanism), new.iterations, (salt, salted));
        add(&mut by_user, &new.name, judged);
    }
    let (mut response, mut changes) = (AlterUserScramCredentialsResponse::default(), Vec::new());
    let is_too_much = by_user.len() > CHANGES_MAX;
    for (part, (user, judged)) in by_user.into_iter().enumerate() {
        let judged = match may {
            Err(error) => Err((error, UNAUTHORIZED)),
            Ok(()) if is_too_much => {
                Err((ErrorCode::PolicyViolation, "a request changes 10,000 users at the most"))
            }
            Ok(()) => judged,
        };
        let mut result = AlterUserScramCredentialsResult { user: user.into(), ..Default::default() };
        match judged {
            Ok(change) => {
                changes.push((part, AccessChange::User { user: user.into(), changes: vec![change] }));
            }
            Err((error, why)) => {
                (result.error_code, result.error_message) = (error.code(), Some(why.into()));
            }
        }
        response.results.push(result);
    }
    (response, changes)
}

/// The first reason against a change of a user counts; a second change is one against the first.
fn add<'a>(by_user: &mut BTreeMap<&'a str, Judged>, user: &'a str, judged: Judged) {
    by_user
        .entry(user)
        .and_modify(|first| {
            if first.is_ok() {
                *first = Err((ErrorCode::DuplicateResource, "the user is named twice"));
            }
        })
        .or_insert(judged);
}

impl AccessAnswer for AlterUserScramCredentialsResponse {
    fn refuse(&mut self, part: usize, error: ErrorCode, why: String) {
        if let Some(result) = self.results.get_mut(part) {
            (result.error_code, result.error_message) = (error.code(), Some(why));
        }
    }

    fn response(&self, form: Form) -> Response {
        form.response(self)
    }
}

fn judge_name(name: &str) -> Result<(), (ErrorCode, &'static str)> {
    match name.len() {
        0 => Err((ErrorCode::UnacceptableCredential, "the name of a user must not be empty")),
        length if length > USER_BYTES_MAX => {
            Err((ErrorCode::UnacceptableCredential, "the name of a user is too long"))
        }
        _ => Ok(()),
    }
}

const UNKNOWN: (ErrorCode, &str) = (ErrorCode::UnsupportedSaslMechanism, "the mechanism is not known");

fn judge_deletion(node: &Node, name: &str, mechanism: i8) -> Judged {
    judge_name(name)?;
    let hash = hash_of(mechanism).ok_or(UNKNOWN)?;
    match node.access.authentication.users.server(hash).get(name) {
        Some(_) => Ok((hash, None)),
        None => Err((ErrorCode::ResourceNotFound, "there is no such user with that mechanism")),
    }
}

fn judge_upsertion(
    node: &Node,
    (name, mechanism): (&str, i8),
    iterations: i32,
    (salt, salted): (&[u8], &[u8]),
) -> Judged {
    judge_name(name)?;
    let hash = hash_of(mechanism).ok_or(UNKNOWN)?;
    let refused = |why| Err((ErrorCode::UnacceptableCredential, why));
    let Some(count) = u32::try_from(iterations).ok().filter(|count| *count >= ITERATIONS_MIN) else {
        return refused("too few iterations");
    };
    if iterations > ITERATIONS_MAX {
        return refused("too many iterations");
    }
    if salted.is_empty() || salt.len() > SALT_BYTES_MAX || salted.len() > SALT_BYTES_MAX {
        return refused("the salted password is empty, or it or the salt is too long");
    }
    let users = &node.access.authentication.users;
    if users.len() >= USERS_MAX && users.shown(name).is_empty() {
        return Err((ErrorCode::PolicyViolation, "there are too many users"));
    }
    Ok((hash, Some(ScramCredential::of_salted(hash, salted, salt.to_vec(), count))))
}
