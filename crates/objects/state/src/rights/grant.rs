//! What a principal may do with which objects, and how that is written: `lock/build:acquire,release`.

use core::fmt;
use core::str::FromStr;

use crate::codec::{Cursor, Field, Malformed, put_varint};
use crate::limits::{KEY_BYTES_MAX, METHODS_PER_GRANT_MAX, NAME_BYTES_MAX, TYPE_NAME_BYTES_MAX};

/// What a grant allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rights(u8);

impl Rights {
    /// Queries of an object, its description, its events.
    pub const QUERY: Self = Self(1);
    /// Methods that change an object or wait for it.
    pub const CALL: Self = Self(2);
    /// Creating an object on purpose.
    pub const CREATE: Self = Self(4);
    /// Everything, also deleting it, taking it away from others, and looking after its type.
    pub const ADMIN: Self = Self(8);
    /// What `*` stands for: all but the last one.
    pub const USUAL: Self = Self(7);

    const WORDS: [(Self, &'static str); 4] =
        [(Self::QUERY, "query"), (Self::CALL, "call"), (Self::CREATE, "create"), (Self::ADMIN, "admin")];

    /// Whether all of these are among them. Who administers may do everything.
    #[must_use]
    pub const fn has(self, wanted: Self) -> bool {
        self.0 & Self::ADMIN.0 != 0 || self.0 & wanted.0 == wanted.0
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// Rights on the objects of a pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grant {
    /// The name of the type; empty stands for all types.
    pub type_name: String,
    /// The name of an object, or what names begin with.
    pub name: String,
    /// Whether the name is only what names begin with.
    pub is_prefix: bool,
    /// The rights.
    pub rights: Rights,
    /// Methods besides, by their names, in order.
    pub methods: Vec<String>,
}

impl Grant {
    /// Whether both are about the same objects.
    #[must_use]
    pub fn is_about_the_same(&self, other: &Self) -> bool {
        self.type_name == other.type_name && self.name == other.name && self.is_prefix == other.is_prefix
    }

    /// Whether it is about all objects.
    #[must_use]
    pub const fn is_about_all(&self) -> bool {
        self.type_name.is_empty() && self.name.is_empty() && self.is_prefix
    }

    /// Whether nothing is granted.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rights.is_empty() && self.methods.is_empty()
    }

    /// Both together, of the same objects.
    pub(crate) fn join(&mut self, other: &Self) {
        self.rights = self.rights.and(other.rights);
        self.methods.extend(other.methods.iter().cloned());
        self.methods.sort_unstable();
        self.methods.dedup();
    }

    /// What is left without the other, of the same objects.
    pub(crate) fn take_away(&mut self, other: &Self) {
        self.rights = self.rights.without(other.rights);
        self.methods.retain(|method| !other.methods.contains(method));
    }

    /// # Errors
    /// With what is wrong about it.
    pub(crate) fn check(&self) -> Result<(), GrantError> {
        let has_star = |text: &str| text.contains('*') || text.chars().any(char::is_control);
        if self.type_name.len() > TYPE_NAME_BYTES_MAX || has_star(&self.type_name) {
            return Err(GrantError("the type is `*`, or the name of one"));
        }
        if self.name.len() > NAME_BYTES_MAX
            || self.name.chars().any(char::is_control)
            || (self.name.is_empty() && !self.is_prefix)
        {
            return Err(GrantError("the name is one of 1 to 255 bytes; behind its beginning may be a `*`"));
        }
        if self.is_empty() {
            return Err(GrantError("it says no right: `query`, `call`, `create`, `admin`, a method, or `*`"));
        }
        let is_method = |method: &String| {
            (1..=KEY_BYTES_MAX).contains(&method.len())
                && !method.chars().any(|sign| sign.is_control() || matches!(sign, ',' | '*' | ' '))
        };
        if self.methods.len() > METHODS_PER_GRANT_MAX || !self.methods.iter().all(is_method) {
            return Err(GrantError("it names methods that there cannot be, or more than 32"));
        }
        Ok(())
    }
}

/// Why a text is no grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrantError(&'static str);

impl fmt::Display for GrantError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a right is written `TYPE/NAME:RIGHT,..`, for example `lock/build:*`: {}", self.0)
    }
}

impl core::error::Error for GrantError {}

/// `TYPE/NAME:RIGHT,..`. The type may be `*`, the name may end in `*`; `*` alone is about everything. A method that is called
/// like a right is written `method=NAME`.
impl FromStr for Grant {
    type Err = GrantError;

    fn from_str(text: &str) -> Result<Self, GrantError> {
        let (pattern, rights) =
            text.rsplit_once(':').ok_or(GrantError("it has no `:` behind the objects' names"))?;
        let (type_name, name) = match (pattern, pattern.split_once('/')) {
            ("*", _) => ("*", "*"),
            (_, Some(parts)) => parts,
            _ => return Err(GrantError("objects are named `TYPE/NAME`, `TYPE/BEGINNING*`, `TYPE/*` or `*`")),
        };
        let prefix = name.strip_suffix('*');
        let mut grant = Self {
            type_name: if type_name == "*" { String::new() } else { type_name.into() },
            name: prefix.unwrap_or(name).into(),
            is_prefix: prefix.is_some(),
            ..Self::default()
        };
        if type_name.is_empty() {
            return Err(GrantError("the type is `*`, or the name of one"));
        }
        for word in rights.split(',') {
            let right = Rights::WORDS.iter().find(|(_, known)| *known == word).map(|(right, _)| *right);
            match right {
                Some(right) => grant.rights = grant.rights.and(right),
                None if word == "*" => grant.rights = grant.rights.and(Rights::USUAL),
                None => grant.methods.push(word.strip_prefix("method=").unwrap_or(word).into()),
            }
        }
        grant.methods.sort_unstable();
        grant.methods.dedup();
        grant.check()?;
        Ok(grant)
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_about_all() {
            f.write_str("*:")?;
        } else {
            let kind = if self.type_name.is_empty() { "*" } else { &self.type_name };
            write!(f, "{kind}/{}{}:", self.name, if self.is_prefix { "*" } else { "" })?;
        }
        let is_usual = self.rights.0 & Rights::USUAL.0 == Rights::USUAL.0;
        let rest = if is_usual { self.rights.without(Rights::USUAL) } else { self.rights };
        let rights = Rights::WORDS.iter().filter(|(right, _)| rest.0 & right.0 != 0).map(|(_, word)| *word);
        let mut between = "";
        for word in is_usual.then_some("*").into_iter().chain(rights) {
            write!(f, "{between}{word}")?;
            between = ",";
        }
        for method in &self.methods {
            let is_word = Rights::WORDS.iter().any(|(_, word)| word == method);
            write!(f, "{between}{}{method}", if is_word { "method=" } else { "" })?;
            between = ",";
        }
        Ok(())
    }
}

impl Field for Grant {
    fn put(&self, out: &mut Vec<u8>) {
        self.type_name.put(out);
        self.name.put(out);
        self.is_prefix.put(out);
        out.push(self.rights.0);
        put_varint(out, self.methods.len() as u64);
        self.methods.iter().for_each(|method| method.put(out));
    }

    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        let (type_name, name, is_prefix) = (Field::take(cursor)?, Field::take(cursor)?, Field::take(cursor)?);
        let rights = cursor.u8()?;
        if rights > 15 {
            return Err(Malformed("grant: an unknown right"));
        }
        let count = cursor.varint()?;
        if count > METHODS_PER_GRANT_MAX as u64 {
            return Err(Malformed("grant: too many methods"));
        }
        let methods = (0..count).map(|_| Field::take(cursor)).collect::<Result<_, _>>()?;
        Ok(Self { type_name, name, is_prefix, rights: Rights(rights), methods })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{decoded, encoded};

    #[test]
    fn grant_is_shown_as_it_is_written() {
        for text in [
            "lock/build:*",
            "lock/build:query",
            "lock/b*:call,acquire,release",
            "*:admin",
            "*:*,admin",
            "*/team-*:query,create",
            "queue/a:b/c:put",
            "hits/*:method=create,method=query",
        ] {
            let grant: Grant = text.parse().unwrap();
            assert_eq!(grant.to_string(), text);
            assert_eq!(decoded::<Grant>(&encoded(&grant)), Ok(grant));
        }
        assert_eq!("*/*:call".parse::<Grant>().unwrap().to_string(), "*:call");
        assert_eq!("lock/*:query,call,create".parse::<Grant>().unwrap().to_string(), "lock/*:*");
    }

    #[test]
    fn what_is_no_grant_says_why() {
        let long = format!("lock/{}:query", "n".repeat(256));
        let many = format!("lock/a:{}", (0..33).map(|n| format!("m{n}")).collect::<Vec<_>>().join(","));
        for text in
            ["", "lock/build", "lock:query", "/a:query", "lock/:query", "lock/a:", "lock/a:,", "l*k/a:query"]
                .into_iter()
                .chain(["lock/a:query,*x", "lock/a\n:query", "lock/a:a b", &long, &many])
        {
            assert!(text.parse::<Grant>().is_err(), "{text}");
        }
    }

    #[test]
    fn rights_are_joined_and_taken_away() {
        let mut grant: Grant = "lock/a:query,acquire".parse().unwrap();
        grant.join(&"lock/a:call,release,acquire".parse().unwrap());
        assert_eq!(grant.to_string(), "lock/a:query,call,acquire,release");
        grant.take_away(&"lock/a:call,query,release".parse().unwrap());
        assert_eq!(grant.to_string(), "lock/a:acquire");
        assert!(Rights::ADMIN.has(Rights::USUAL) && !Rights::USUAL.has(Rights::ADMIN));
        assert!(!Rights::QUERY.has(Rights::QUERY.and(Rights::CALL)));
    }
}
