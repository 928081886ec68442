//! The header fields of a request that mean something here. They are looked at once, so that a request which has few of them
//! costs little however many the edge asks for.

/// A header field of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Field<'a> {
    /// It is not there.
    #[default]
    Missing,
    /// Its value.
    Once(&'a [u8]),
    /// It is there more than once.
    Repeated,
}

/// Which field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    Host,
    Origin,
    Authorization,
    ContentType,
    ContentEncoding,
    IfMatch,
    LastEventId,
    Session,
    Request,
    Acknowledged,
    Key,
}

/// How many there are.
const NAMES: usize = Name::Key as usize + 1;

impl Name {
    /// By what stands in a request, in lower case.
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "host" => Self::Host,
            "origin" => Self::Origin,
            "authorization" => Self::Authorization,
            "content-type" => Self::ContentType,
            "content-encoding" => Self::ContentEncoding,
            "if-match" => Self::IfMatch,
            "last-event-id" => Self::LastEventId,
            "diwan-session" => Self::Session,
            "diwan-request" => Self::Request,
            "diwan-acknowledged" => Self::Acknowledged,
            "idempotency-key" => Self::Key,
            _ => return None,
        })
    }

    /// How a refusal calls it.
    pub(crate) const fn shown(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Origin => "origin",
            Self::Authorization => "authorization",
            Self::ContentType => "content-type",
            Self::ContentEncoding => "content-encoding",
            Self::IfMatch => "if-match",
            Self::LastEventId => "last-event-id",
            Self::Session => "diwan-session",
            Self::Request => "diwan-request",
            Self::Acknowledged => "Diwan-Acknowledged",
            Self::Key => "idempotency-key",
        }
    }
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields<'a>([Field<'a>; NAMES]);

impl<'a> Fields<'a> {
    /// Of a request with these header fields. Their names are in lower case.
    #[must_use]
    pub fn of<'b>(all: impl IntoIterator<Item = (&'b str, &'a [u8])>) -> Self {
        let mut fields = Self::default();
        for (name, value) in all {
            if let Some(name) = Name::named(name) {
                let field = &mut fields.0[name as usize];
                *field = if *field == Field::Missing { Field::Once(value) } else { Field::Repeated };
            }
        }
        fields
    }

    pub(crate) const fn get(&self, name: Name) -> Field<'a> {
        self.0[name as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_is_known_by_its_name_and_told_from_one_that_is_there_twice() {
        let fields = Fields::of([
            ("host", &b"a"[..]),
            ("accept", b"*/*"),
            ("if-match", b"1"),
            ("if-match", b"1"),
            ("if-match", b"1"),
        ]);
        assert_eq!(fields.get(Name::Host), Field::Once(b"a"));
        assert_eq!(fields.get(Name::IfMatch), Field::Repeated);
        assert_eq!(fields.get(Name::Origin), Field::Missing);
    }

    #[test]
    fn name_that_a_refusal_shows_is_the_one_that_is_read() {
        for name in ["host", "origin", "authorization", "content-type", "content-encoding", "if-match"] {
            assert_eq!(Name::named(name).map(Name::shown), Some(name));
        }
        for name in ["last-event-id", "diwan-session", "diwan-request", "idempotency-key"] {
            assert_eq!(Name::named(name).map(Name::shown), Some(name));
        }
        assert_eq!(Name::named("diwan-acknowledged").map(Name::shown), Some("Diwan-Acknowledged"));
        assert_eq!(Name::named("x"), None);
    }
}
