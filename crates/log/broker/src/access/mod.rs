//! Access: rules, quotas and users of SCRAM, as they are shown and changed by clients.
//!
//! All of it is kept in the council, in nodes that [`log_metadata::access`] describes. A request that changes something is
//! judged here and sent there part by part; what is committed comes back here.

mod acls;
mod change;
mod scram;
mod secret;

use log_access::Authorizer;
use log_access::quota::{QuotaLimits, QuotaMeters};
use log_metadata::access::{AccessContent, AccessPlace};
use log_wire::{ApiKey, Malformed};

use crate::authentication::Authentication;
use crate::call::{Call, Handled};
use crate::config::BrokerConfig;
use crate::council_calls::CouncilCalls;
use crate::node::Node;

/// What is served here.
pub(crate) const SERVED: &[ApiKey] = &[
    ApiKey::DescribeAcls,
    ApiKey::CreateAcls,
    ApiKey::DeleteAcls,
    ApiKey::DescribeUserScramCredentials,
    ApiKey::AlterUserScramCredentials,
];

/// What a client is told that lacks a right.
const UNAUTHORIZED: &str = "the client has no right to that";

/// What is known of access. See the module.
#[derive(Debug)]
pub(crate) struct Access {
    /// Who may do what; nothing if everybody may do everything.
    pub(crate) authorizer: Option<Authorizer>,
    /// How often rules have changed.
    pub(crate) rules_version: u64,
    pub(crate) authentication: Authentication,
    pub(crate) quotas: QuotaLimits,
    pub(crate) meters: QuotaMeters,
}

impl Access {
    pub(crate) fn new(config: &BrokerConfig) -> Self {
        Self {
            authorizer: config.authorizer.clone().map(Authorizer::new),
            rules_version: 0,
            authentication: Authentication::new(config.attempts, &config.secrets),
            quotas: QuotaLimits::default(),
            meters: QuotaMeters::new(config.quota_windows),
        }
    }

    /// The council has committed this. Gives whether it could be read: otherwise nobody gets a right by it that it might take
    /// away.
    pub(crate) fn changed(&mut self, place: &AccessPlace, data: Option<&[u8]>) -> bool {
        let read = AccessContent::read(place, data);
        let is_read = read.is_some();
        match (place, read.unwrap_or_else(|| AccessContent::closed(place))) {
            (AccessPlace::User(user), AccessContent::User(credentials)) => {
                self.authentication.users.set(user, credentials);
            }
            (AccessPlace::Quotas(entity), AccessContent::Quotas(values)) => {
                self.quotas.set(entity.clone(), values);
            }
            (AccessPlace::Rules(pattern), AccessContent::Rules(rules)) => {
                if let Some(authorizer) = &mut self.authorizer {
                    authorizer.acls.set(pattern.clone(), rules);
                    self.rules_version += 1;
                }
            }
            _ => {}
        }
        is_read
    }
}

/// Handles a request.
///
/// # Errors
/// It is malformed.
pub(crate) fn dispatch(
    node: &mut Node,
    calls: &mut CouncilCalls,
    key: ApiKey,
    mut call: Call<'_>,
) -> Result<Handled, Malformed> {
    let (by, form) = (call.by(), call.form);
    Ok(match key {
        ApiKey::DescribeAcls => Handled::Done(form.response(&acls::describe(node, by, &call.body()?)?)),
        ApiKey::CreateAcls => {
            let (answer, changes) = acls::create(node, by, &call.body()?)?;
            Handled::of(change::begin(node, calls, &call, answer, changes))
        }
        ApiKey::DeleteAcls => {
            let (answer, changes) = acls::delete(node, by, &call.body()?)?;
            Handled::of(change::begin(node, calls, &call, answer, changes))
        }
        ApiKey::DescribeUserScramCredentials => {
            Handled::Done(form.response(&scram::describe(node, by, &call.body()?)))
        }
        _ => {
            let (answer, changes) = scram::alter(node, by, &call.body()?);
            Handled::of(change::begin(node, calls, &call, answer, changes))
        }
    })
}
