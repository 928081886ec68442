//! The messages of an exchange: attributes of one letter each, separated by commas.

use crate::sasl::{Failure, TOKEN_BYTES_MAX};

/// The text of a token.
pub(super) fn text(token: &[u8]) -> Result<&str, Failure> {
    if token.len() > TOKEN_BYTES_MAX {
        return Err(Failure::TooLong { bytes: token.len() });
    }
    let text = core::str::from_utf8(token).map_err(|_| Failure::Malformed("it is not UTF-8"))?;
    if text.contains('\0') { Err(Failure::Malformed("it has a zero byte")) } else { Ok(text) }
}

/// Takes the attribute of that letter from the beginning of a message.
pub(super) fn take<'t>(rest: &mut &'t str, letter: &'static str) -> Result<&'t str, Failure> {
    let (attribute, behind) = rest.split_once(',').unwrap_or((rest, ""));
    let value = attribute.strip_prefix(letter).and_then(|value| value.strip_prefix('='));
    *rest = behind;
    value.ok_or(Failure::Missing(letter))
}

/// The beginning of a client's first message, up to the part that is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gs2Header<'t> {
    /// As whom the client wants to act.
    pub(super) authorized_as: &'t str,
    /// The whole of it, with the last comma.
    pub(super) whole: &'t str,
}

/// Divides a client's first message.
pub(super) fn gs2_header(message: &str) -> Result<(Gs2Header<'_>, &str), Failure> {
    let mut parts = message.splitn(3, ',');
    let (binding, identity, bare) = (parts.next(), parts.next(), parts.next());
    match binding {
        Some("n" | "y") => {}
        Some(binding) if binding.starts_with("p=") => return Err(Failure::Mismatch("channel binding")),
        _ => return Err(Failure::Malformed("it does not begin with a channel binding")),
    }
    let bare = bare.ok_or(Failure::Malformed("it ends within its header"))?;
    let authorized_as = match identity {
        Some("") | None => "",
        Some(identity) => identity.strip_prefix("a=").ok_or(Failure::Malformed("its header has no `a`"))?,
    };
    let whole = message.get(..message.len() - bare.len()).unwrap_or_default();
    Ok((Gs2Header { authorized_as, whole }, bare))
}

/// A name as it stands in a message.
pub(super) fn escaped(name: &str) -> String {
    name.replace('=', "=3D").replace(',', "=2C")
}

/// The name that stands in a message.
pub(super) fn unescaped(text: &str) -> Result<String, Failure> {
    let mut parts = text.split('=');
    let mut name = String::from(parts.next().unwrap_or_default());
    for part in parts {
        let (character, rest) = match (part.strip_prefix("2C"), part.strip_prefix("3D")) {
            (Some(rest), _) => (',', rest),
            (_, Some(rest)) => ('=', rest),
            _ => return Err(Failure::Malformed("a name has `=` that stands for nothing")),
        };
        name.push(character);
        name.push_str(rest);
    }
    Ok(name)
}
