//! DescribeClientQuotas and AlterClientQuotas.

use std::collections::{BTreeMap, BTreeSet};

use log_access::quota::{
    CLIENT_ID, ENTITIES_MAX, EntityName, IP, QuotaEntity, QuotaKey, QuotaLimits, QuotaValues, USER,
};
use log_metadata::access::{AccessChange, QuotaValue};
use log_wire::ErrorCode;
use log_wire::messages::security::{
    AlterClientQuotasEntityData, AlterClientQuotasRequest, AlterClientQuotasRequestEntryData,
    AlterClientQuotasResponse, AlterClientQuotasResponseEntryData, ComponentData,
    DescribeClientQuotasEntityData, DescribeClientQuotasEntryData, DescribeClientQuotasRequest,
    DescribeClientQuotasResponse, ValueData,
};

use super::UNAUTHORIZED;
use super::change::{AccessAnswer, CHANGES_MAX};
use crate::node::Node;
use crate::response::{Form, Response};
use crate::rights::{By, CLUSTER_ALTER_CONFIGS, CLUSTER_DESCRIBE_CONFIGS};

/// Bytes of the longest name of a user, a client or an address.
const NAME_BYTES_MAX: usize = 1_024;
/// How a component of a filter matches: a name, the default, or any.
const MATCH_EXACT: i8 = 0;
const MATCH_DEFAULT: i8 = 1;
const MATCH_ANY: i8 = 2;

type Refused = (ErrorCode, String);

fn invalid<T>(why: impl Into<String>) -> Result<T, Refused> {
    Err((ErrorCode::InvalidRequest, why.into()))
}

/// Handles a request.
pub(super) fn describe(
    node: &Node,
    by: By<'_>,
    request: &DescribeClientQuotasRequest,
) -> DescribeClientQuotasResponse {
    if let Err(error) = node.may_on_cluster(by, CLUSTER_DESCRIBE_CONFIGS) {
        return DescribeClientQuotasResponse { error_code: error.code(), ..Default::default() };
    }
    match Filter::of(request) {
        Ok(filter) => {
            let found = node.access.quotas.entities().filter(|(entity, _)| filter.matches(entity));
            DescribeClientQuotasResponse {
                error_message: Some(String::new()),
                entries: Some(found.map(entry).collect()),
                ..DescribeClientQuotasResponse::default()
            }
        }
        Err((error, why)) => DescribeClientQuotasResponse {
            error_code: error.code(),
            error_message: Some(why),
            ..DescribeClientQuotasResponse::default()
        },
    }
}

/// Which entities are shown: by type, a name or the default; nothing for any.
struct Filter<'r> {
    by_type: BTreeMap<&'r str, Option<EntityName>>,
    is_strict: bool,
}

impl<'r> Filter<'r> {
    fn of(request: &'r DescribeClientQuotasRequest) -> Result<Self, Refused> {
        let mut by_type = BTreeMap::new();
        for component in &request.components {
            let wanted = match_of(component)?;
            if by_type.insert(component.entity_type.as_str(), wanted).is_some() {
                return invalid(format!("the filter has `{}` twice", component.entity_type));
            }
        }
        if by_type.contains_key(IP) && (by_type.contains_key(USER) || by_type.contains_key(CLIENT_ID)) {
            return invalid("a filter of addresses has neither users nor clients");
        }
        Ok(Self { by_type, is_strict: request.strict })
    }

    fn matches(&self, entity: &QuotaEntity) -> bool {
        let parts = entity.parts();
        let has = |(kind, wanted): (&&str, &Option<EntityName>)| {
            let part = parts.iter().find(|(own, _)| own == kind);
            part.is_some_and(|(_, name)| wanted.as_ref().is_none_or(|wanted| wanted == *name))
        };
        (!self.is_strict || parts.len() == self.by_type.len()) && self.by_type.iter().all(has)
    }
}

fn match_of(component: &ComponentData) -> Result<Option<EntityName>, Refused> {
    let ComponentData { entity_type, match_type, match_value } = component;
    if entity_type.is_empty() {
        return invalid("a component of the filter has no type");
    }
    if ![USER, CLIENT_ID, IP].contains(&entity_type.as_str()) {
        return Err((ErrorCode::UnsupportedVersion, format!("there is no entity of type `{entity_type}`")));
    }
    match (*match_type, match_value) {
        (MATCH_EXACT, Some(name)) => Ok(Some(EntityName::of(Some(name)))),
        (MATCH_EXACT, None) => invalid("a component matches a name, and names none"),
        (MATCH_DEFAULT, None) => Ok(Some(EntityName::Default)),
        (MATCH_ANY, None) => Ok(None),
        (MATCH_DEFAULT | MATCH_ANY, Some(_)) => invalid("a component matches no name, and names one"),
        _ => invalid(format!("the match type {match_type} is not known")),
    }
}

fn entry((entity, values): (&QuotaEntity, &QuotaValues)) -> DescribeClientQuotasEntryData {
    let part = |(kind, name): (&str, &EntityName)| DescribeClientQuotasEntityData {
        entity_type: kind.into(),
        entity_name: name.name().map(String::from),
    };
    let value = |(key, value): (&QuotaKey, &f64)| ValueData { key: key.name().into(), value: *value };
    DescribeClientQuotasEntryData {
        entity: entity.parts().into_iter().map(part).collect(),
        values: values.iter().map(value).collect(),
    }
}

/// Handles a request: its answer as far as it is known, and the changes that it wants, each with its place in the answer.
pub(super) fn alter(
    node: &Node,
    by: By<'_>,
    request: &AlterClientQuotasRequest,
) -> (AlterClientQuotasResponse, Vec<(usize, AccessChange)>) {
    let may = node.may_on_cluster(by, CLUSTER_ALTER_CONFIGS);
    let judged: Vec<_> = request.entries.iter().map(judge).collect();
    let mut times = BTreeMap::<QuotaEntity, usize>::new();
    for (entity, _) in judged.iter().flatten() {
        *times.entry(entity.clone()).or_default() += 1;
    }
    let (mut response, mut changes) = (AlterClientQuotasResponse::default(), Vec::new());
    for (part, (asked, judged)) in request.entries.iter().zip(judged).enumerate() {
        let judged = may.map_err(|error| (error, UNAUTHORIZED.into())).and(judged).and_then(|change| {
            if times.get(&change.0) != Some(&1) {
                return invalid("the entity is named twice");
            }
            check_room(&node.access.quotas, (&change.0, changes.len())).map(|()| change)
        });
        let mut result =
            AlterClientQuotasResponseEntryData { entity: echo(&asked.entity), ..Default::default() };
        match judged {
            Ok((entity, values)) if !request.validate_only => {
                changes.push((part, AccessChange::Quotas { entity, changes: values }));
            }
            Ok(_) => {}
            Err((error, why)) => {
                (result.error_code, result.error_message) = (error.code(), Some(why));
            }
        }
        response.entries.push(result);
    }
    (response, changes)
}

impl AccessAnswer for AlterClientQuotasResponse {
    fn refuse(&mut self, part: usize, error: ErrorCode, why: String) {
        if let Some(result) = self.entries.get_mut(part) {
            (result.error_code, result.error_message) = (error.code(), Some(why));
        }
    }

    fn response(&self, form: Form) -> Response {
        form.response(self)
    }
}

/// How many entities have quotas is bounded, and how many one request changes.
fn check_room(quotas: &QuotaLimits, (entity, changed): (&QuotaEntity, usize)) -> Result<(), Refused> {
    let is_new = quotas.of_entity(entity).is_none();
    if changed >= CHANGES_MAX || (is_new && quotas.len() + changed >= ENTITIES_MAX) {
        return Err((ErrorCode::PolicyViolation, String::from("too many entities have quotas")));
    }
    Ok(())
}

/// An entity as the answer names it: each type once, with its last name.
fn echo(parts: &[AlterClientQuotasEntityData]) -> Vec<AlterClientQuotasEntityData> {
    let by_type: BTreeMap<_, _> = parts.iter().map(|part| (part.entity_type.as_str(), part)).collect();
    by_type.into_values().cloned().collect()
}

type Change = (QuotaEntity, Vec<(QuotaKey, Option<QuotaValue>)>);

fn judge(asked: &AlterClientQuotasRequestEntryData) -> Result<Change, Refused> {
    let entity = entity_of(&asked.entity)?;
    let (mut named, mut changes) = (BTreeSet::new(), Vec::new());
    for op in &asked.ops {
        if !named.insert(op.key.as_str()) {
            return invalid(format!("`{}` is named twice", op.key));
        }
        let key = QuotaKey::of_name(&op.key).filter(|key| entity.keys().contains(key));
        if op.remove {
            // As by Kafka, what there is not may be removed.
            changes.extend(key.map(|key| (key, None)));
            continue;
        }
        let Some(key) = key else { return invalid(format!("the entity has no quota `{}`", op.key)) };
        if let Err(why) = key.check(op.value) {
            return invalid(why);
        } else {
            changes.push((key, Some(QuotaValue(op.value))));
        }
    }
    Ok((entity, changes))
}

fn entity_of(parts: &[AlterClientQuotasEntityData]) -> Result<QuotaEntity, Refused> {
    let mut by_type = BTreeMap::new();
    for AlterClientQuotasEntityData { entity_type, entity_name } in parts {
        if ![USER, CLIENT_ID, IP].contains(&entity_type.as_str()) {
            return invalid(format!("there is no entity of type `{entity_type}`"));
        }
        match entity_name.as_deref().map(str::len) {
            Some(0) => return invalid(format!("the `{entity_type}` has an empty name")),
            Some(length) if length > NAME_BYTES_MAX => {
                return invalid(format!("the name of the `{entity_type}` is too long"));
            }
            _ => {}
        }
        // As by Kafka, the last one of a type counts.
        by_type.insert(entity_type.as_str(), EntityName::of(entity_name.as_deref()));
    }
    match (by_type.remove(USER), by_type.remove(CLIENT_ID), by_type.remove(IP)) {
        (Some(user), None, None) => Ok(QuotaEntity::User(user)),
        (None, Some(client), None) => Ok(QuotaEntity::Client(client)),
        (Some(user), Some(client), None) => Ok(QuotaEntity::UserClient(user, client)),
        (None, None, Some(EntityName::Named(ip))) if ip.parse::<std::net::IpAddr>().is_err() => {
            invalid(format!("`{ip}` is no address"))
        }
        (None, None, Some(ip)) => Ok(QuotaEntity::Ip(ip)),
        (None, None, None) => invalid("the entity has no part"),
        _ => invalid("an address is combined with neither users nor clients"),
    }
}
