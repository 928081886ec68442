//! Where each thing is kept: the name of its node. What a node is about is in its name alone.
//!
//! Names of resources, users and clients may have any characters. Letters, digits, points, hyphens and underscores stand for
//! themselves, every other byte for its number: `%2F`.

use log_access::acl::{PatternType, ResourcePattern, ResourceType};
use log_access::quota::{CLIENT_ID, EntityName, IP, QuotaEntity, USER};

use super::change::AccessChange;
use crate::paths::{ACLS, QUOTAS, USERS, child_of};

/// What a node is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessPlace {
    /// The user of that name.
    User(String),
    /// The rules of a pattern.
    Rules(ResourcePattern),
    /// The quotas of an entity.
    Quotas(QuotaEntity),
}

impl AccessPlace {
    /// What a change is about.
    #[must_use]
    pub fn of_change(change: &AccessChange) -> Self {
        match change {
            AccessChange::User { user, .. } => Self::User(user.to_string()),
            AccessChange::Rules { pattern, .. } => Self::Rules(pattern.clone()),
            AccessChange::Quotas { entity, .. } => Self::Quotas(entity.clone()),
        }
    }

    /// The path of its node.
    #[must_use]
    pub fn path(&self) -> String {
        match self {
            Self::User(user) => format!("{USERS}/{}", escaped(user)),
            Self::Rules(pattern) => {
                let (kind, form) = (pattern.resource_type.name(), form_of(pattern.pattern_type));
                format!("{ACLS}/{kind}:{form}:{}", escaped(&pattern.name))
            }
            Self::Quotas(entity) => {
                let part = |(kind, name): (&str, &EntityName)| match name {
                    EntityName::Default => kind.to_owned(),
                    EntityName::Named(name) => format!("{kind}={}", escaped(name)),
                };
                let parts: Vec<String> = entity.parts().into_iter().map(part).collect();
                format!("{QUOTAS}/{}", parts.join("&"))
            }
        }
    }

    /// What the node of that path is about; nothing if it is about no access, or its name cannot be read.
    #[must_use]
    pub fn of_path(path: &str) -> Option<Self> {
        let root = [USERS, ACLS, QUOTAS].into_iter().find(|root| child_of(path, root).is_some())?;
        let name = child_of(path, root)?;
        match root {
            USERS => unescaped(name).map(Self::User),
            ACLS => {
                let mut parts = name.splitn(3, ':');
                let (kind, form, name) = (parts.next()?, parts.next()?, parts.next()?);
                let resource_type = ResourceType::ALL.iter().copied().find(|known| known.name() == kind)?;
                let pattern_type = PatternType::ALL.iter().copied().find(|known| form_of(*known) == form)?;
                let name = unescaped(name)?.as_str().into();
                Some(Self::Rules(ResourcePattern { resource_type, pattern_type, name }))
            }
            QUOTAS => entity(name).map(Self::Quotas),
            _ => None,
        }
    }
}

const fn form_of(kind: PatternType) -> &'static str {
    match kind {
        PatternType::Literal => "literal",
        PatternType::Prefixed => "prefixed",
    }
}

fn entity(name: &str) -> Option<QuotaEntity> {
    let (mut user, mut client, mut ip) = (None, None, None);
    for part in name.split('&') {
        let (kind, name) = match part.split_once('=') {
            Some((kind, name)) => (kind, EntityName::Named(unescaped(name)?.as_str().into())),
            None => (part, EntityName::Default),
        };
        let place = match kind {
            USER => &mut user,
            CLIENT_ID => &mut client,
            IP => &mut ip,
            _ => return None,
        };
        if place.replace(name).is_some() {
            return None;
        }
    }
    match (user, client, ip) {
        (Some(user), None, None) => Some(QuotaEntity::User(user)),
        (Some(user), Some(client), None) => Some(QuotaEntity::UserClient(user, client)),
        (None, Some(client), None) => Some(QuotaEntity::Client(client)),
        (None, None, Some(ip)) => Some(QuotaEntity::Ip(ip)),
        _ => None,
    }
}

fn escaped(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    if matches!(name, "." | "..") {
        return name.replace('.', "%2E");
    }
    name.bytes().fold(String::new(), |mut text, byte| {
        if is_plain(byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
        text
    })
}

fn unescaped(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut name = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (number, rest) = part.split_at_checked(2)?;
        name.push(u8::from_str_radix(number, 16).ok()?);
        name.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> EntityName {
        EntityName::of(Some(name))
    }

    #[test]
    fn every_place_is_found_again_by_its_path() {
        let odd = ["a", "ü/..", ".", "..", "%", "a:b", "a=b&c", "*", " ", "\u{1}", "user"];
        for name in odd {
            let mut places = vec![AccessPlace::User(name.into())];
            for resource_type in ResourceType::ALL {
                for pattern_type in PatternType::ALL {
                    let (resource_type, pattern_type) = (*resource_type, *pattern_type);
                    places.push(AccessPlace::Rules(ResourcePattern {
                        resource_type,
                        pattern_type,
                        name: name.into(),
                    }));
                }
            }
            for entity in [
                QuotaEntity::User(named(name)),
                QuotaEntity::User(EntityName::Default),
                QuotaEntity::Client(named(name)),
                QuotaEntity::UserClient(named(name), EntityName::Default),
                QuotaEntity::UserClient(EntityName::Default, named(name)),
                QuotaEntity::Ip(named(name)),
                QuotaEntity::Ip(EntityName::Default),
            ] {
                places.push(AccessPlace::Quotas(entity));
            }
            for place in places {
                let path = place.path();
                assert_eq!(AccessPlace::of_path(&path), Some(place), "{path}");
                assert_eq!(path.split('/').count(), 4, "{path}");
            }
        }
    }

    #[test]
    fn path_of_another_form_is_none() {
        for path in [
            "/log/topics/a",
            "/log/users/%",
            "/log/users/%4",
            "/log/users/%zz",
            "/log/users/%FF",
            "/log/acls/Topic:a",
            "/log/acls/Topic:any:a",
            "/log/acls/topic:literal:a",
            "/log/quotas/",
            "/log/quotas/user&ip",
            "/log/quotas/user=a&user=b",
            "/log/quotas/group",
            "users",
            "",
        ] {
            assert_eq!(AccessPlace::of_path(path), None, "{path}");
        }
    }
}
