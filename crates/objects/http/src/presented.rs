//! Who a client says it is: by a token, or by the certificate of its connection.
//!
//! A token is `diwan_` and 64 hexadecimal digits, 256 random bits: so one that got out can be searched for. Here it is known for
//! as long as its request is read. The core gets its SHA-256, and so does the log.

use objects_replica::edge::Request;
use objects_state::{Principal, Slug};
use sha2::{Digest as _, Sha256};

use crate::header::{Field, Fields, Name};
use crate::message::Fault;

/// What tokens begin with.
pub const TOKEN_PREFIX: &str = "diwan_";
/// Random bytes of a token.
pub(crate) const TOKEN_BYTES: usize = 32;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Presented {
    /// Nothing.
    #[default]
    Nobody,
    /// The token of this hash.
    Token([u8; 32]),
    /// This member's root token.
    Root,
    /// A certificate of this holder.
    Certificate(String),
}

impl Presented {
    /// By the header fields and the connection of a request. Whoever sends a token that cannot be one is nobody's guest: it is
    /// refused, not taken for one without.
    pub(crate) fn of(
        fields: &Fields<'_>,
        certificate: Option<&str>,
        root_token: Option<&[u8; 32]>,
    ) -> Result<Self, Fault> {
        let value = match fields.get(Name::Authorization) {
            Field::Missing => {
                return Ok(certificate.map_or(Self::Nobody, |holder| Self::Certificate(principal_of(holder))));
            }
            Field::Repeated => return Err(malformed("`Authorization` is there twice")),
            Field::Once(value) => value,
        };
        let text = core::str::from_utf8(value).map_err(|_| malformed("`Authorization` is no text"))?;
        let (scheme, token) = text.trim().split_once(' ').unwrap_or((text, ""));
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(malformed("`Authorization` is not `Bearer TOKEN`"));
        }
        let hash =
            hash_of_token(token.trim()).ok_or_else(|| malformed("what follows `Bearer` is no token"))?;
        // Hashes are compared: how long that takes says nothing about a token.
        Ok(if root_token == Some(&hash) { Self::Root } else { Self::Token(hash) })
    }

    pub(crate) fn principal(&self) -> Principal {
        match self {
            // Of a token the core knows whose it is.
            Self::Nobody | Self::Token(_) => Principal::anonymous(),
            Self::Root => Principal::root(),
            Self::Certificate(principal) => principal.as_str().into(),
        }
    }

    /// Who it is, for a log: of a token the beginning of its hash, which the list of tokens shows.
    pub(crate) fn who(&self) -> String {
        match self {
            Self::Nobody => String::from("anonymous"),
            Self::Root => String::from("root"),
            Self::Certificate(principal) => principal.clone(),
            Self::Token([a, b, c, d, ..]) => format!("token {a:02x}{b:02x}{c:02x}{d:02x}"),
        }
    }

    /// A request as the core is asked it.
    pub(crate) fn wrap(&self, request: Request) -> Request {
        match self {
            Self::Token(hash) => Request::ByToken { hash: *hash, request: Box::new(request) },
            _ => request,
        }
    }
}

/// The SHA-256 of a token, if it has the form of one.
#[must_use]
pub fn hash_of_token(token: &str) -> Option<[u8; 32]> {
    let digits = token.strip_prefix(TOKEN_PREFIX)?;
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let is_token = digits.len() == 2 * TOKEN_BYTES && digits.bytes().all(is_digit);
    is_token.then(|| Sha256::digest(token).into())
}

/// A token of these random bits.
pub(crate) fn token_of(bits: [u8; TOKEN_BYTES]) -> String {
    let mut token = String::from(TOKEN_PREFIX);
    for byte in bits {
        for digit in [byte >> 4, byte & 15] {
            token.push(char::from_digit(u32::from(digit), 16).unwrap_or('0'));
        }
    }
    token
}

/// The principal of a certificate. A name that is too long is cut, and the hash of all of it put behind: no two holders are one
/// principal.
fn principal_of(holder: &str) -> String {
    let mut principal = format!("cert:{holder}");
    if principal.len() > objects_state::limits::KEY_BYTES_MAX {
        let hash: [u8; 32] = Sha256::digest(holder).into();
        principal.truncate(principal.floor_char_boundary(objects_state::limits::KEY_BYTES_MAX - 65));
        principal.push('#');
        principal.extend(
            hash.iter()
                .flat_map(|byte| [byte >> 4, byte & 15])
                .filter_map(|digit| char::from_digit(u32::from(digit), 16)),
        );
    }
    principal
}

fn malformed(detail: &str) -> Fault {
    let detail = format!("{detail}: send one `Authorization: Bearer {TOKEN_PREFIX}..`, or none");
    Fault::new(Slug::Unauthenticated, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn authorized(value: Option<&[u8]>) -> Fields<'_> {
        Fields::of(value.map(|value| ("authorization", value)))
    }

    #[test]
    fn token_has_one_form() {
        let token = token_of([0xa5; 32]);
        assert_eq!(token, format!("diwan_{}", "a5".repeat(32)));
        assert_eq!(hash_of_token(&token), Some(Sha256::digest(&token).into()));
        for wrong in [
            "",
            "diwan_",
            &token[..69],
            &format!("{token}0"),
            &token.to_uppercase(),
            &token.replace("a5", "A5"),
            &token.replace("diwan_", "other_"),
            &format!("diwan_{}", "é".repeat(32)),
        ] {
            assert_eq!(hash_of_token(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_no_token_is_refused_and_never_anonymous() {
        let of = |value: Option<&'static [u8]>| Presented::of(&authorized(value), None, None);
        assert_eq!(of(None), Ok(Presented::Nobody));
        for wrong in [
            &b""[..],
            b"Bearer",
            b"Bearer ",
            b"Bearer x",
            b"Basic dXNlcjpwdw==",
            b"\xff\xfe",
            b"bearer diwan_",
        ] {
            assert!(of(Some(wrong)).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn root_token_is_known_by_its_hash_and_a_certificate_counts_without_a_token() {
        const TOKEN: &str = "diwan_0000000000000000000000000000000000000000000000000000000000000000";
        const FIELD: &[u8] =
            b"BEARER  diwan_0000000000000000000000000000000000000000000000000000000000000000 ";
        let hash = hash_of_token(TOKEN).unwrap_or_default();
        let of =
            |certificate, root: Option<&[u8; 32]>| Presented::of(&authorized(Some(FIELD)), certificate, root);
        assert_eq!(of(None, None), Ok(Presented::Token(hash)));
        assert_eq!(of(Some("CN=a"), Some(&[0; 32])), Ok(Presented::Token(hash)));
        assert_eq!(of(Some("CN=a"), Some(&hash)), Ok(Presented::Root));
        let shown =
            Presented::of(&authorized(None), Some("CN=a,O=b"), Some(&hash)).map(|shown| shown.principal());
        assert_eq!(shown, Ok(Principal::from("cert:CN=a,O=b")));
        let long = |last: char| principal_of(&format!("CN={}{last}", "é".repeat(200)));
        assert!(long('a') != long('b') && long('a').len() <= 255);
    }
}
