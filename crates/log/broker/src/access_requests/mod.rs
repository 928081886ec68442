//! Requests about access: rules, quotas and users of SCRAM are shown and changed by clients.
//!
//! A request that changes something is judged here and sent to the council part by part; what is committed comes to [`Access`].
//!
//! [`Access`]: crate::access::Access

mod acls;
mod change;
mod quotas;
mod scram;

use log_wire::{ApiKey, Malformed};

use crate::call::{Call, Handled};
use crate::council_calls::CouncilCalls;
use crate::node::Node;

/// What is served here.
pub(crate) const SERVED: &[ApiKey] = &[
    ApiKey::DescribeAcls,
    ApiKey::CreateAcls,
    ApiKey::DeleteAcls,
    ApiKey::DescribeUserScramCredentials,
    ApiKey::AlterUserScramCredentials,
    ApiKey::DescribeClientQuotas,
    ApiKey::AlterClientQuotas,
];

/// What a client is told that lacks a right.
const UNAUTHORIZED: &str = "the client has no right to that";

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
        ApiKey::DescribeClientQuotas => {
            Handled::Done(form.response(&quotas::describe(node, by, &call.body()?)))
        }
        ApiKey::AlterClientQuotas => {
            let (answer, changes) = quotas::alter(node, by, &call.body()?);
            Handled::of(change::begin(node, calls, &call, answer, changes))
        }
        _ => {
            let (answer, changes) = scram::alter(node, by, &call.body()?);
            Handled::of(change::begin(node, calls, &call, answer, changes))
        }
    })
}
