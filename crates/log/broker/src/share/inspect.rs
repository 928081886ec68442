//! Requests of administrators, until the holders of states have told what there is of their groups.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::Now;
use log_coordinators::Text;
use log_share::{StateAnswer, StateRequest, StateSummary};
use log_wire::messages::share::{
    AlterShareGroupOffsetsRequest, DeleteShareGroupOffsetsRequest, DescribeShareGroupOffsetsRequest,
};
use log_wire::{ApiKey, ErrorCode};

use super::Share;
use super::ends::{KnownEnds, questions};
use super::offsets::{alteration_refused, deletion_refused};
use super::states::Asked;
use crate::call::Caller;
use crate::client::Client;
use crate::groups::Groups;
use crate::node::Node;
use crate::response::{Form, Response};
use crate::rights::{By, GROUP_DELETE, GROUP_READ, Need};
use crate::waits::Waiter;

/// How long the holders may take, milliseconds.
const WAIT_MS: u64 = 5_000;

/// A request.
#[derive(Clone, Debug)]
pub(super) enum Administration {
    Describe(DescribeShareGroupOffsetsRequest),
    Alter(AlterShareGroupOffsetsRequest),
    Delete(DeleteShareGroupOffsetsRequest),
}

/// What there is of groups, or why that is not known.
pub(super) type Inspected = BTreeMap<Text, Result<Vec<StateSummary>, ErrorCode>>;

/// A request that waits. See the module.
#[derive(Debug)]
pub(super) struct Inspection {
    request: Administration,
    client: Arc<Client>,
    api: ApiKey,
    form: Form,
    missing: usize,
    inspected: Inspected,
    /// Of partitions that other brokers lead. They are asked once the states are known.
    pub(super) ends: KnownEnds,
    are_ends_asked: bool,
}

impl Administration {
    /// The group that it changes, and the right that takes.
    fn changes(&self) -> Option<(&str, Need)> {
        match self {
            Self::Describe(_) => None,
            Self::Alter(of) => Some((&of.group_id, GROUP_READ)),
            Self::Delete(of) => Some((&of.group_id, GROUP_DELETE)),
        }
    }
}

impl Share {
    /// A request comes that changes the offsets of a group. Only the group's coordinator knows whether it has members.
    pub(super) fn change_offsets(
        &mut self,
        node: &mut Node,
        request: Administration,
        of: Caller<'_>,
        (groups, now): (&Groups, Now),
    ) -> Option<Response> {
        let may = request.changes().map_or(Ok(()), |(group, right)| {
            node.may(of.by, right, group).and_then(|()| groups.check_share_group(node, group))
        });
        match may {
            Ok(()) => self.inspect(node, request, of, now),
            Err(error) if matches!(request, Administration::Alter(_)) => {
                Some(alteration_refused(of.form, error))
            }
            Err(error) => Some(deletion_refused(of.form, error)),
        }
    }

    /// A request comes: what there is of its groups is asked for.
    pub(super) fn inspect(
        &mut self,
        node: &mut Node,
        request: Administration,
        of: Caller<'_>,
        now: Now,
    ) -> Option<Response> {
        let mut groups: Vec<Text> = match &request {
            Administration::Describe(of) => {
                of.groups.iter().map(|group| group.group_id.as_str().into()).collect()
            }
            Administration::Alter(of) => vec![of.group_id.as_str().into()],
            Administration::Delete(of) => vec![of.group_id.as_str().into()],
        };
        groups.sort_unstable();
        groups.dedup();
        let (client, api, form) = (Arc::clone(of.by.client), of.by.api, of.form);
        let missing = groups.len();
        let (inspected, ends) = (Inspected::new(), KnownEnds::new());
        let are_ends_asked = !matches!(request, Administration::Describe(_));
        let inspection = Inspection { request, client, api, form, missing, inspected, ends, are_ends_asked };
        self.inspections.insert(of.waiter, now.mono().plus_ms(WAIT_MS), inspection);
        for group in groups {
            self.ask(node, StateRequest::Describe(Text::clone(&group)), Asked::Inspection(of.waiter, group));
        }
        if missing == 0 {
            self.administer(node, of.waiter, now);
        }
        None
    }

    /// A holder has told what there is of a group, or cannot.
    pub(super) fn inspected(
        &mut self,
        node: &mut Node,
        waiter: Waiter,
        (group, answer): (Text, StateAnswer),
        now: Now,
    ) {
        let Some(inspection) = self.inspections.get_mut(waiter) else { return };
        inspection.inspected.insert(group, summaries(answer));
        self.part_has_come(node, waiter, now);
    }

    /// One of those that were asked has answered, or cannot.
    pub(super) fn part_has_come(&mut self, node: &mut Node, waiter: Waiter, now: Now) {
        let Some(inspection) = self.inspections.get_mut(waiter) else { return };
        inspection.missing = inspection.missing.saturating_sub(1);
        if inspection.missing > 0 {
            return;
        }
        if !std::mem::replace(&mut inspection.are_ends_asked, true) {
            let questions = questions(node, waiter, &inspection.inspected);
            inspection.missing = questions.len();
            self.peer_ends.extend(questions);
        }
        if inspection.missing == 0 {
            self.administer(node, waiter, now);
        }
    }

    /// Holders that have not answered do not answer any more.
    pub(super) fn expire_inspections(&mut self, node: &mut Node, now: Now) {
        while let Some(waiter) = self.inspections.next_overdue(now.mono()) {
            self.administer(node, waiter, now);
        }
    }

    fn administer(&mut self, node: &mut Node, waiter: Waiter, now: Now) {
        let Some(inspection) = self.inspections.remove(waiter) else { return };
        let Inspection { request, client, api, form, inspected, ends, .. } = inspection;
        let by = By { client: &client, api };
        let of = Caller { by, waiter, form, client_id: "", client_host: &client.host };
        let answered = match request {
            Administration::Describe(request) => {
                Some(self.describe_offsets(node, &request, (of, &inspected, &ends)))
            }
            Administration::Alter(request) => self.alter_offsets(node, request, (of, &inspected), now),
            Administration::Delete(request) => self.delete_offsets(node, request, (of, &inspected), now),
        };
        if let Some(response) = answered {
            node.reply(waiter, response);
        }
    }
}

/// What a holder has told.
pub(super) fn summaries(answer: StateAnswer) -> Result<Vec<StateSummary>, ErrorCode> {
    match answer {
        StateAnswer::Summaries(summaries) => Ok(summaries),
        StateAnswer::Failed(ErrorCode::CoordinatorLoadInProgress) => {
            Err(ErrorCode::CoordinatorLoadInProgress)
        }
        _ => Err(ErrorCode::CoordinatorNotAvailable),
    }
}
