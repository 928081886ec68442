//! Changes of access on their way to the council, and the answers that wait for them.

use std::collections::BTreeSet;

use log_metadata::access::{AccessChange, AccessContent, AccessPlace};
use log_metadata::{Compute, Decision, Ended, Found};
use log_wire::ErrorCode;

use crate::call::Call;
use crate::council_calls::{CouncilAnswer, CouncilCall, CouncilCalls, Part};
use crate::node::Node;
use crate::response::{Form, Response};

/// How long a request waits for the council, milliseconds: such requests name no time.
const TIMEOUT_MS: i32 = 30_000;
/// How many parts one request changes at the most.
pub(super) const CHANGES_MAX: usize = 10_000;

/// The answer to a request that changes access.
pub(super) trait AccessAnswer: core::fmt::Debug + Send + 'static {
    /// A part could not be done. The client is told why.
    fn refuse(&mut self, part: usize, error: ErrorCode, why: String);
    /// The answer.
    fn response(&self, form: Form) -> Response;
}

/// An answer with the parts that have not ended.
#[derive(Debug)]
struct Pending<A> {
    answer: A,
    open: BTreeSet<usize>,
}

impl<A: AccessAnswer> CouncilAnswer for Pending<A> {
    fn ended(&mut self, part: usize, ended: Ended) {
        self.open.remove(&part);
        if let Ended::Refused(error, why) = ended {
            self.answer.refuse(part, error, why);
        }
    }

    fn time_out(&mut self) {
        for part in std::mem::take(&mut self.open) {
            self.answer.refuse(part, ErrorCode::RequestTimedOut, String::from("the council is late"));
        }
    }

    fn response(&self, form: Form) -> Response {
        self.answer.response(form)
    }
}

/// Sends changes to the council, each for a part of the answer. Gives the answer at once if there are none.
pub(super) fn begin<A: AccessAnswer>(
    node: &mut Node,
    calls: &mut CouncilCalls,
    call: &Call<'_>,
    answer: A,
    changes: Vec<(usize, AccessChange)>,
) -> Option<Response> {
    let open = changes.iter().map(|(number, _)| *number).collect();
    let part = |(number, change): (usize, AccessChange)| {
        let place = AccessPlace::of_change(&change);
        Part { number, path: place.path(), compute: compute(place, change) }
    };
    let call_of_council = CouncilCall {
        waiter: call.waiter,
        form: call.form,
        answer: Box::new(Pending { answer, open }),
        parts: changes.into_iter().map(part).collect(),
        timeout_ms: TIMEOUT_MS,
    };
    calls.begin(node, call_of_council, call.now)
}

/// What becomes of the node that a change is about. The same change made twice is made once.
fn compute(place: AccessPlace, change: AccessChange) -> Compute {
    Box::new(move |found: Found<'_>| {
        let Some(mut content) = AccessContent::read(&place, found.data) else {
            let why = format!("what the council holds at `{}` cannot be read", place.path());
            return Decision::Refuse(ErrorCode::UnknownServerError, why);
        };
        if !content.apply(&change) {
            return Decision::Keep;
        }
        if content.is_empty() {
            return Decision::Delete;
        }
        let too_much =
            || Decision::Refuse(ErrorCode::PolicyViolation, String::from("there is too much of it"));
        content.bytes().map_or_else(too_much, Decision::Write)
    })
}

#[cfg(test)]
mod tests {
    use log_access::quota::{EntityName, QuotaEntity, QuotaKey};
    use log_metadata::access::QuotaValue;

    use super::*;

    fn decide(value: Option<f64>, data: Option<&[u8]>) -> Decision {
        let entity = QuotaEntity::User(EntityName::Default);
        let changes = vec![(QuotaKey::ProducerByteRate, value.map(QuotaValue))];
        let change = AccessChange::Quotas { entity, changes };
        compute(AccessPlace::of_change(&change), change)(Found { data, may_be_done: true })
    }

    #[test]
    fn change_is_made_once_and_nothing_is_left_of_what_says_nothing() {
        let Decision::Write(data) = decide(Some(5.0), None) else { panic!("nothing is written") };
        assert_eq!(decide(Some(5.0), Some(&data)), Decision::Keep);
        assert_eq!(decide(None, Some(&data)), Decision::Delete);
        assert_eq!(decide(None, None), Decision::Keep);
        let refused = decide(Some(5.0), Some(b"?"));
        assert!(matches!(refused, Decision::Refuse(ErrorCode::UnknownServerError, _)), "{refused:?}");
    }
}
