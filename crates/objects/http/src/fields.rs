//! The header fields of a request that mean something here.

use objects_state::{Identity, RANGES_MAX, Ranges, SessionId, Slug};
use sha2::{Digest as _, Sha256};

use crate::header::{Field, Fields, Name};
use crate::message::{BYTES, Fault};
use objects_replica::edge::{EventId, SessionProof};

/// Bytes of a session's secret.
pub(crate) const SECRET_BYTES: usize = 16;

/// A session's id and secret, as its client keeps them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Credential {
    pub(crate) session: SessionId,
    pub(crate) secret: [u8; SECRET_BYTES],
}

impl Credential {
    pub(crate) fn proof(&self) -> SessionProof {
        SessionProof { session: self.session, secret_hash: Sha256::digest(self.secret).into() }
    }

    /// The value of `Diwan-Session`.
    pub(crate) fn text(&self) -> String {
        format!("{}.{}", self.session, self.secret_text())
    }

    pub(crate) fn secret_text(&self) -> String {
        SessionId(self.secret).to_string()
    }
}

/// Which replies of a session have come: all up to a floor, and single ones above it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Acknowledged {
    pub(crate) floor: u64,
    pub(crate) above: Ranges,
}

/// `5, 7-9, 12`: the floor, then what is above it.
fn acknowledged(text: &str) -> Result<Acknowledged, Fault> {
    let mut parts = text.split(',').map(|part| part.trim_matches([' ', '\t']));
    let floor = parts.next().and_then(digits);
    let mut read = floor.map(|floor| Acknowledged { floor, above: Ranges::new() });
    for (count, part) in parts.enumerate() {
        let range = part.split_once('-').map_or_else(
            || digits(part).map(|number| (number, number)),
            |(first, last)| digits(first).zip(digits(last)),
        );
        let taken = match (&mut read, range) {
            (Some(read), Some((first, last))) => count < RANGES_MAX && read.above.insert(first, last),
            _ => false,
        };
        read = read.filter(|_| taken);
    }
    read.ok_or_else(|| {
        let form =
            "not a whole number below 2^53, and behind it no more than 64 numbers or ranges (`5, 7-9, 12`)";
        Fault::argument(Name::Acknowledged.shown(), form)
    })
}

/// Who sends a request, by its header fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sender {
    pub(crate) credential: Option<Credential>,
    pub(crate) request: Option<u64>,
    pub(crate) acknowledged: Option<Acknowledged>,
    pub(crate) key: Option<String>,
}

impl Sender {
    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self, Fault> {
        let credential = text(fields, Name::Session)?.map(credential).transpose()?;
        let sender = Self {
            credential,
            request: number(fields, Name::Request)?,
            acknowledged: text(fields, Name::Acknowledged)?.map(acknowledged).transpose()?,
            key: text(fields, Name::Key)?.map(key).transpose()?,
        };
        let numbers = sender.request.is_some() || sender.acknowledged.is_some();
        if sender.credential.is_some() && sender.key.is_some() {
            return Err(Fault::argument("Idempotency-Key", "a session's requests have numbers, no keys"));
        }
        if sender.credential.is_none() && numbers {
            return Err(Fault::argument("Diwan-Request", "only a session's requests have numbers"));
        }
        if sender.request == Some(0) {
            return Err(Fault::argument("Diwan-Request", "requests are numbered from 1"));
        }
        if let (Some(request), Some(acknowledged)) = (sender.request, &sender.acknowledged)
            && (acknowledged.floor >= request || acknowledged.above.contains(request))
        {
            return Err(Fault::argument(
                Name::Acknowledged.shown(),
                "it acknowledges the request itself, or all below a later one",
            ));
        }
        Ok(sender)
    }

    /// What makes a command of this sender take effect once.
    pub(crate) fn identity(&self) -> Result<Identity, Fault> {
        match (self.credential, self.request, &self.key) {
            (Some(Credential { session, .. }), Some(request), _) => {
                let Acknowledged { floor, above } = self.acknowledged.clone().unwrap_or_default();
                Ok(Identity::Session { session, request, acknowledged: floor, above })
            }
            (Some(_), None, _) => Err(Fault::argument(
                "Diwan-Request",
                "it is missing: number the commands of a session from 1, and send the same number to repeat one",
            )),
            (None, _, Some(key)) => Ok(Identity::Key(key.clone())),
            (None, _, None) => Ok(Identity::Anonymous),
        }
    }

    pub(crate) fn proof(&self) -> Option<SessionProof> {
        self.credential.as_ref().map(Credential::proof)
    }

    /// The proof that the sender is the session of the path.
    pub(crate) fn proof_of(&self, session: SessionId) -> Result<SessionProof, Fault> {
        match self.proof() {
            Some(proof) if proof.session == session => Ok(proof),
            Some(_) => Err(Fault::new(Slug::Forbidden, "`Diwan-Session` is another session than the path's")),
            None => {
                Err(Fault::new(Slug::Unauthenticated, "send `Diwan-Session`: the session's id and secret"))
            }
        }
    }
}

pub(crate) fn text<'a>(fields: &Fields<'a>, name: Name) -> Result<Option<&'a str>, Fault> {
    match fields.get(name) {
        Field::Missing => Ok(None),
        Field::Repeated => Err(Fault::argument(name.shown(), "the header field is there twice")),
        Field::Once(value) => match core::str::from_utf8(value) {
            Ok(text) if !has_control(text) => Ok(Some(text.trim())),
            _ => Err(Fault::argument(name.shown(), "the header field is no text")),
        },
    }
}

/// Most values have one byte to a character.
fn has_control(text: &str) -> bool {
    if text.is_ascii() {
        return text.bytes().any(|byte| byte.is_ascii_control());
    }
    text.chars().any(char::is_control)
}

fn number(fields: &Fields<'_>, name: Name) -> Result<Option<u64>, Fault> {
    let Some(text) = text(fields, name)? else { return Ok(None) };
    digits(text).map(Some).ok_or_else(|| Fault::argument(name.shown(), "not a whole number below 2^53"))
}

/// A whole number below 2^53.
pub(crate) fn digits(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.len() <= 16 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| is_number && *number < 1 << 53)
}

/// 16 bytes in hexadecimal.
pub(crate) fn hex16(text: &str) -> Option<[u8; 16]> {
    let mut bytes = [0; 16];
    let digits = text.as_bytes();
    if digits.len() != 32 {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |digit: Option<&u8>| char::from(*digit?).to_digit(16);
        *byte = (digit(pair.first())? * 16 + digit(pair.last())?) as u8;
    }
    Some(bytes)
}

fn credential(text: &str) -> Result<Credential, Fault> {
    let parts = text.split_once('.').and_then(|(id, secret)| Some((hex16(id)?, hex16(secret)?)));
    let (id, secret) = parts.ok_or_else(|| {
        Fault::argument(
            "Diwan-Session",
            "not a session's id and secret: 32 hexadecimal digits, a point, 32 more",
        )
    })?;
    Ok(Credential { session: SessionId(id), secret })
}

/// A key, with or without the quotes that the draft asks for.
fn key(text: &str) -> Result<String, Fault> {
    let bare = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    let is_key = !bare.is_empty()
        && bare.len() <= objects_state::limits::KEY_BYTES_MAX
        && bare.bytes().all(|byte| (0x20..0x7f).contains(&byte) && byte != b'"' && byte != b'\\');
    match is_key {
        true => Ok(bare.into()),
        false => Err(Fault::argument("Idempotency-Key", "not 1 to 255 printable characters of ASCII")),
    }
}

/// The incarnation that the caller means.
pub(crate) fn incarnation(fields: &Fields<'_>) -> Result<Option<u64>, Fault> {
    let Some(text) = text(fields, Name::IfMatch)? else { return Ok(None) };
    if text == "*" {
        return Ok(None);
    }
    let bare = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    digits(bare).map(Some).ok_or_else(|| Fault::argument("If-Match", "not an incarnation"))
}

/// The last event that the client has seen.
pub(crate) fn last_event(fields: &Fields<'_>) -> Result<Option<EventId>, Fault> {
    let text = text(fields, Name::LastEventId)?;
    text.map(|text| event_id("Last-Event-ID", text)).transpose()
}

/// The id of an event, from the field or the argument of that name.
pub(crate) fn event_id(name: &str, text: &str) -> Result<EventId, Fault> {
    let parts = text.split_once('.').and_then(|(position, ordinal)| {
        Some(EventId { position: digits(position)?, ordinal: ordinal.parse().ok()? })
    });
    parts.ok_or_else(|| Fault::argument(name, "not the id of an event"))
}

/// Refuses a body that says it is not JSON. The types that tools send unasked say nothing.
/// Whether a body that makes a type is a module; otherwise it is JSON.
pub(crate) fn is_module(fields: &Fields<'_>, body: &[u8]) -> Result<bool, Fault> {
    let kind = text(fields, Name::ContentType)?.unwrap_or_default();
    if kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/wasm") {
        return match text(fields, Name::ContentEncoding)?.filter(|coding| *coding != "identity") {
            Some(coding) => Err(Fault::bad_codec(format!("bodies coded as `{coding}` are not read"))),
            None => Ok(true),
        };
    }
    check_codec(fields)?;
    Ok(body.starts_with(b"\0asm"))
}

/// Whether a body says that it is bytes.
pub(crate) fn is_bytes(fields: &Fields<'_>) -> Result<bool, Fault> {
    let kind = text(fields, Name::ContentType)?.unwrap_or_default();
    Ok(kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(BYTES))
}

pub(crate) fn check_codec(fields: &Fields<'_>) -> Result<(), Fault> {
    if let Some(coding) = text(fields, Name::ContentEncoding)?.filter(|coding| *coding != "identity") {
        return Err(Fault::bad_codec(format!("bodies coded as `{coding}` are not read")));
    }
    let Some(text) = text(fields, Name::ContentType)? else { return Ok(()) };
    let kind = text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let unsaid = ["", "application/x-www-form-urlencoded", "text/plain", "application/octet-stream"];
    match kind == "application/json" || kind.ends_with("+json") || unsaid.contains(&kind.as_str()) {
        true => Ok(()),
        false => Err(Fault::bad_codec(format!("bodies are JSON, not `{kind}`"))),
    }
}
