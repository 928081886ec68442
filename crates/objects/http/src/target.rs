//! The target of a request: the segments of its path and the parameters of its query, without their escapes.

use std::borrow::Cow;

use smallvec::SmallVec;

use crate::message::Fault;
use crate::namespace::Namespace;

/// Segments and parameters of one query that are read.
const PARTS_MAX: usize = 32;
/// Segments of the longest path that is a route.
const SEGMENTS: usize = 6;
/// Parameters that most queries have at the most.
const PARAMETERS: usize = 2;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target<'a> {
    pub(crate) path: Path<'a>,
    /// The namespace that stands before the path.
    pub(crate) namespace: Option<Namespace>,
    pub(crate) query: Query<'a>,
}

/// A path behind `/v1` and a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path<'a> {
    /// What stands between the slashes.
    pub(crate) segments: SmallVec<[Cow<'a, str>; SEGMENTS]>,
    /// What stands behind the last colon of the last segment, as it came: an escaped colon is none.
    pub(crate) operation: Option<Cow<'a, str>>,
}

/// Parameters, in the order in which they came. None is there twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Query<'a>(SmallVec<[(Cow<'a, str>, Cow<'a, str>); PARAMETERS]>);

impl<'a> Target<'a> {
    pub(crate) fn parse(target: &'a str) -> Result<Self, Fault> {
        let text = Text { has_escapes: target.bytes().fold(false, |has, byte| has | is_escape(byte)) };
        let (path, query) = cut(target, b'?').unwrap_or((target, ""));
        let path = path.strip_prefix("/v1/").ok_or_else(Fault::no_such_route)?;
        let mut path = Path::parse(path, text)?;
        let namespace = match path.segments.as_slice() {
            [first, name, ..] if first == "ns" => Some(Namespace::named(name)?),
            _ => None,
        };
        if namespace.is_some() {
            path.segments.drain(..2);
        }
        Ok(Self { path, namespace, query: Query::parse(query, text)? })
    }
}

impl<'a> Path<'a> {
    fn parse(path: &'a str, text: Text) -> Result<Self, Fault> {
        let raw: SmallVec<[_; SEGMENTS]> = parts(path, b'/').take(PARTS_MAX).collect();
        let operation = raw.last().and_then(|last| last.rsplit_once(':'));
        let operation = operation.map(|(_, operation)| text.of(operation, false)).transpose()?;
        let segments = raw.into_iter().map(|segment| text.of(segment, false)).collect::<Result<_, _>>()?;
        Ok(Self { segments, operation })
    }

    /// The segments, for a match.
    pub(crate) fn parts(&self) -> SmallVec<[&str; SEGMENTS]> {
        self.segments.iter().map(AsRef::as_ref).collect()
    }
}

impl<'a> Query<'a> {
    fn parse(query: &'a str, text: Text) -> Result<Self, Fault> {
        let mut pairs = SmallVec::new();
        for pair in parts(query, b'&').filter(|pair| !pair.is_empty()) {
            let (name, value) = cut(pair, b'=').unwrap_or((pair, ""));
            let (name, value) = (text.of(name, true)?, text.of(value, true)?);
            if pairs.iter().any(|(known, _)| *known == name) {
                return Err(Fault::argument(&name, "the parameter is there twice"));
            }
            if pairs.len() == PARTS_MAX {
                return Err(Fault::argument("", format!("more than {PARTS_MAX} parameters")));
            }
            pairs.push((name, value));
        }
        Ok(Self(pairs))
    }

    /// Takes a parameter out.
    pub(crate) fn take(&mut self, name: &str) -> Option<Cow<'a, str>> {
        let at = self.0.iter().position(|(known, _)| known == name)?;
        Some(self.0.remove(at).1)
    }

    /// Takes a number out.
    pub(crate) fn take_number(&mut self, name: &str, most: u64) -> Result<Option<u64>, Fault> {
        let Some(value) = self.take(name) else { return Ok(None) };
        match value.parse() {
            Ok(number) if number <= most && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                Ok(Some(number))
            }
            _ => Err(Fault::argument(name, format!("not a whole number from 0 to {most}"))),
        }
    }

    /// Whether all have been taken out.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whatever has not been taken out.
    pub(crate) fn rest(self) -> impl Iterator<Item = (Cow<'a, str>, Cow<'a, str>)> {
        self.0.into_iter()
    }

    /// Refuses what has not been taken out: a misspelt parameter is no silent default.
    pub(crate) fn end(&self) -> Result<(), Fault> {
        match self.0.first() {
            Some((name, _)) => Err(Fault::argument(name, "there is no such parameter here")),
            None => Ok(()),
        }
    }
}

/// How the parts of a target are read.
#[derive(Clone, Copy)]
struct Text {
    /// Whether there are any in the whole target: most have none.
    has_escapes: bool,
}

impl Text {
    fn of(self, part: &str, plus_is_space: bool) -> Result<Cow<'_, str>, Fault> {
        if self.has_escapes { decoded(part, plus_is_space) } else { Ok(Cow::Borrowed(part)) }
    }
}

const fn is_escape(byte: u8) -> bool {
    matches!(byte, b'%' | b'+')
}

/// Cuts a text in two at the first such byte of ASCII. A search that is made for long texts takes longer to begin than this takes.
fn cut(text: &str, byte: u8) -> Option<(&str, &str)> {
    let at = text.bytes().position(|own| own == byte)?;
    Some((&text[..at], &text[at + 1..]))
}

/// Cuts it at each of them.
fn parts(text: &str, byte: u8) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    core::iter::from_fn(move || {
        let text = rest?;
        let (first, behind) = cut(text, byte).map_or((text, None), |(first, behind)| (first, Some(behind)));
        rest = behind;
        Some(first)
    })
}

/// Resolves percent-encoding.
fn decoded(text: &str, plus_is_space: bool) -> Result<Cow<'_, str>, Fault> {
    let wrong = || Fault::argument("", "the path or the query has a bad percent-encoding, or is not UTF-8");
    if !text.bytes().any(is_escape) {
        return Ok(Cow::Borrowed(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let (Some(high), Some(low)) = (digit(rest.next()), digit(rest.next())) else {
                    return Err(wrong());
                };
                (high * 16 + low) as u8
            }
            b'+' if plus_is_space => b' ',
            byte => byte,
        });
    }
    String::from_utf8(bytes).map(Cow::Owned).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_is_taken_apart_and_its_escapes_resolved() {
        let target = Target::parse("/v1/objects/map/a%2Fb%3Ac:batch?key=x+y%2B&n=1&flag").unwrap();
        assert_eq!(target.path.segments.as_slice(), ["objects", "map", "a/b:c:batch"]);
        assert_eq!(target.path.operation.as_deref(), Some("batch"));
        let mut query = target.query;
        assert_eq!(query.take("key").as_deref(), Some("x y+"));
        assert_eq!(query.take_number("n", 9).unwrap(), Some(1));
        assert_eq!(query.rest().collect::<Vec<_>>(), [("flag".into(), "".into())]);
    }

    #[test]
    fn escaped_colon_names_no_operation() {
        assert_eq!(Target::parse("/v1/objects/map/a%3Abatch").unwrap().path.operation, None);
    }

    #[test]
    fn bad_targets_are_refused() {
        let wrong = [
            "",
            "*",
            "/",
            "/v2/live",
            "/v1",
            "/v1/%",
            "/v1/%2",
            "/v1/%zz",
            "/v1/%ff",
            "/v1/a?b=%c3%28",
            "/v1/a?x=1&x=2",
            "/v1/a?x=1&%78=2",
        ];
        for wrong in wrong {
            let fault = Target::parse(wrong).unwrap_err().response();
            assert!(fault.status == 400 || fault.status == 404, "{wrong}");
        }
        let many: String = (0..40).map(|n| format!("a{n}=1&")).collect();
        assert_eq!(Target::parse(&format!("/v1/a?{many}")).unwrap_err().response().status, 400);
    }

    #[test]
    fn numbers_are_digits_within_bounds() {
        for wrong in ["-1", "+1", "", "1.0", "0x1", "11", "99999999999999999999999"] {
            let mut query = Query([("n".into(), wrong.into())].into_iter().collect());
            assert!(query.take_number("n", 10).is_err(), "{wrong}");
        }
    }
}
