//! What a node says: JSON.
//!
//! ```json
//! {"SCRAM-SHA-256": {"salt": "c2FsdA==", "iterations": 4096, "stored_key": "..", "server_key": ".."}}
//! {"rules": [{"principal": "User:bob", "host": "*", "operation": "Read", "permission": "Allow"}]}
//! {"producer_byte_rate": 1000.0}
//! ```

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use log_access::acl::{AccessRule, Operation, Permission, RULES_OF_PATTERN_MAX};
use log_access::quota::{QuotaKey, QuotaValues};
use net_auth::sasl::scram::{ScramCredential, ScramHash};
use serde::{Deserialize, Serialize};

use super::change::{AccessChange, QuotaValue};
use super::place::AccessPlace;
use crate::NODE_BYTES_MAX;

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub enum AccessContent {
    /// The credentials of a user.
    User(BTreeMap<ScramHash, ScramCredential>),
    /// Rules of a pattern.
    Rules(BTreeSet<AccessRule>),
    /// Quotas of an entity.
    Quotas(QuotaValues),
}

#[derive(Serialize, Deserialize)]
struct CredentialNode {
    salt: String,
    iterations: u32,
    stored_key: String,
    server_key: String,
}

#[derive(Serialize, Deserialize)]
struct RulesNode {
    rules: Vec<RuleNode>,
}

#[derive(Serialize, Deserialize)]
struct RuleNode {
    principal: String,
    host: String,
    operation: String,
    permission: String,
}

const HASHES: [ScramHash; 2] = [ScramHash::Sha256, ScramHash::Sha512];

impl AccessContent {
    /// Of a node that is not there.
    #[must_use]
    pub const fn empty(place: &AccessPlace) -> Self {
        match place {
            AccessPlace::User(_) => Self::User(BTreeMap::new()),
            AccessPlace::Rules(_) => Self::Rules(BTreeSet::new()),
            AccessPlace::Quotas(_) => Self::Quotas(BTreeMap::new()),
        }
    }

    /// Of a node that cannot be read: it gives nobody a right that what is written there might take away.
    #[must_use]
    pub fn closed(place: &AccessPlace) -> Self {
        let deny = || AccessRule {
            principal: "User:*".into(),
            host: "*".into(),
            operation: Operation::All,
            permission: Permission::Deny,
        };
        match place {
            AccessPlace::Rules(_) => Self::Rules([deny()].into()),
            AccessPlace::User(_) | AccessPlace::Quotas(_) => Self::empty(place),
        }
    }

    /// Reads a node; nothing if it cannot be read. One that is not there is empty.
    #[must_use]
    pub fn read(place: &AccessPlace, data: Option<&[u8]>) -> Option<Self> {
        let Some(data) = data.filter(|data| !data.is_empty()) else { return Some(Self::empty(place)) };
        match place {
            AccessPlace::User(_) => {
                let nodes: BTreeMap<String, CredentialNode> = serde_json::from_slice(data).ok()?;
                let credentials = nodes.into_iter().map(|(name, node)| {
                    Some((HASHES.into_iter().find(|hash| hash.mechanism() == name)?, node.credential()?))
                });
                credentials.collect::<Option<_>>().map(Self::User)
            }
            AccessPlace::Rules(_) => {
                let node: RulesNode = serde_json::from_slice(data).ok()?;
                node.rules.iter().map(RuleNode::rule).collect::<Option<_>>().map(Self::Rules)
            }
            AccessPlace::Quotas(_) => {
                let values: BTreeMap<String, f64> = serde_json::from_slice(data).ok()?;
                let values = values.into_iter().map(|(name, value)| {
                    let key = QuotaKey::of_name(&name)?;
                    key.check(value).ok().map(|()| (key, value))
                });
                values.collect::<Option<_>>().map(Self::Quotas)
            }
        }
    }

    /// Makes a change. Gives whether anything is another than before.
    pub fn apply(&mut self, change: &AccessChange) -> bool {
        let before = self.clone();
        match (&mut *self, change) {
            (Self::User(credentials), AccessChange::User { changes, .. }) => {
                for (hash, credential) in changes {
                    set(credentials, *hash, credential.clone());
                }
            }
            (Self::Rules(rules), AccessChange::Rules { added, removed, .. }) => {
                rules.retain(|rule| !removed.contains(rule));
                rules.extend(added.iter().cloned());
            }
            (Self::Quotas(values), AccessChange::Quotas { changes, .. }) => {
                for (key, value) in changes {
                    set(values, *key, value.map(|QuotaValue(value)| value));
                }
            }
            _ => {}
        }
        *self != before
    }

    /// Whether it says nothing: then there is no node.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Self::User(credentials) => credentials.is_empty(),
            Self::Rules(rules) => rules.is_empty(),
            Self::Quotas(values) => values.is_empty(),
        }
    }

    /// As it is written; nothing if it is too much.
    #[must_use]
    pub fn bytes(&self) -> Option<Vec<u8>> {
        let bytes = match self {
            Self::User(credentials) => {
                let nodes = credentials.iter().map(|(hash, of)| (hash.mechanism(), CredentialNode::of(of)));
                serde_json::to_vec(&nodes.collect::<BTreeMap<_, _>>()).ok()
            }
            Self::Rules(rules) if rules.len() > RULES_OF_PATTERN_MAX => None,
            Self::Rules(rules) => {
                serde_json::to_vec(&RulesNode { rules: rules.iter().map(RuleNode::of).collect() }).ok()
            }
            Self::Quotas(values) => {
                let values = values.iter().map(|(key, value)| (key.name(), *value));
                serde_json::to_vec(&values.collect::<BTreeMap<_, _>>()).ok()
            }
        };
        bytes.filter(|bytes| bytes.len() <= NODE_BYTES_MAX)
    }
}

fn set<K: Ord, V>(map: &mut BTreeMap<K, V>, key: K, value: Option<V>) {
    match value {
        Some(value) => drop(map.insert(key, value)),
        None => drop(map.remove(&key)),
    }
}

impl CredentialNode {
    fn of(credential: &ScramCredential) -> Self {
        Self {
            salt: STANDARD.encode(&credential.salt),
            iterations: credential.iterations,
            stored_key: STANDARD.encode(&credential.stored_key),
            server_key: STANDARD.encode(&credential.server_key),
        }
    }

    fn credential(&self) -> Option<ScramCredential> {
        let decoded = |text: &String| STANDARD.decode(text).ok();
        Some(ScramCredential {
            salt: decoded(&self.salt)?,
            iterations: self.iterations,
            stored_key: decoded(&self.stored_key)?,
            server_key: decoded(&self.server_key)?,
        })
    }
}

impl RuleNode {
    fn of(rule: &AccessRule) -> Self {
        Self {
            principal: rule.principal.to_string(),
            host: rule.host.to_string(),
            operation: rule.operation.name().into(),
            permission: rule.permission.name().into(),
        }
    }

    fn rule(&self) -> Option<AccessRule> {
        let operation = Operation::ALL.iter().find(|known| known.name() == self.operation)?;
        let permission = Permission::ALL.iter().find(|known| known.name() == self.permission)?;
        let (principal, host) = (self.principal.as_str().into(), self.host.as_str().into());
        Some(AccessRule { principal, host, operation: *operation, permission: *permission })
    }
}

#[cfg(test)]
mod tests {
    use log_access::acl::{PatternType, ResourcePattern, ResourceType};
    use log_access::quota::{EntityName, QuotaEntity};

    use super::*;

    fn pattern() -> ResourcePattern {
        let (resource_type, pattern_type) = (ResourceType::Topic, PatternType::Literal);
        ResourcePattern { resource_type, pattern_type, name: "t".into() }
    }

    fn rule(principal: &str) -> AccessRule {
        let (operation, permission) = (Operation::Read, Permission::Deny);
        AccessRule { principal: principal.into(), host: "*".into(), operation, permission }
    }

    fn changes() -> Vec<AccessChange> {
        let credential = ScramCredential::of_password(ScramHash::Sha512, "x", vec![1, 2], 4_096);
        vec![
            AccessChange::User { user: "u".into(), changes: vec![(ScramHash::Sha512, Some(credential))] },
            AccessChange::Rules {
                pattern: pattern(),
                added: [rule("User:a"), rule("User:ü")].into(),
                removed: [].into(),
            },
            AccessChange::Quotas {
                entity: QuotaEntity::User(EntityName::Default),
                changes: vec![(QuotaKey::RequestPercentage, Some(QuotaValue(0.5)))],
            },
        ]
    }

    #[test]
    fn content_is_read_back_and_is_changed_only_by_what_is_new() {
        for change in changes() {
            let place = AccessPlace::of_change(&change);
            let mut content = AccessContent::empty(&place);
            assert!(content.apply(&change) && !content.clone().apply(&change) && !content.is_empty());
            let bytes = content.bytes().expect("it is little");
            assert_eq!(AccessContent::read(&place, Some(&bytes)), Some(content.clone()));
            for cut in 1..bytes.len() {
                assert_eq!(AccessContent::read(&place, Some(&bytes[..cut])), None);
            }
        }
    }

    #[test]
    fn what_goes_leaves_the_rest() {
        let mut content = AccessContent::empty(&AccessPlace::Rules(pattern()));
        content.apply(&changes()[1]);
        let gone =
            AccessChange::Rules { pattern: pattern(), added: [].into(), removed: [rule("User:a")].into() };
        assert!(content.apply(&gone) && !content.apply(&gone));
        assert_eq!(content, AccessContent::Rules([rule("User:ü")].into()));
    }

    #[test]
    fn what_is_not_understood_is_not_taken_for_nothing() {
        for data in [
            r#"{"rules":[{"principal":"User:a","host":"*","operation":"Fly","permission":"Deny"}]}"#,
            r#"{"rules":[{"principal":"User:a","host":"*","operation":"Read"}]}"#,
            r#"{}"#,
        ] {
            assert_eq!(
                AccessContent::read(&AccessPlace::Rules(pattern()), Some(data.as_bytes())),
                None,
                "{data}"
            );
        }
        let quotas = AccessPlace::Quotas(QuotaEntity::Client(EntityName::Default));
        for data in [r#"{"x":1}"#, r#"{"producer_byte_rate":-1}"#, "[]"] {
            assert_eq!(AccessContent::read(&quotas, Some(data.as_bytes())), None, "{data}");
        }
    }

    #[test]
    fn rules_of_a_pattern_are_bounded() {
        let rules = |count: usize| (0..count).map(|number| rule(&format!("User:{number}"))).collect();
        assert!(AccessContent::Rules(rules(RULES_OF_PATTERN_MAX)).bytes().is_some());
        assert!(AccessContent::Rules(rules(RULES_OF_PATTERN_MAX + 1)).bytes().is_none());
    }
}
