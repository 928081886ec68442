//! What the description of a type says: JSON, from a custom section of its module or beside its source. Only what decides
//! how it is called is read here; the rest (schemas, texts) is shown as it is.

use super::AboutMethod;
use crate::json::Json;
use crate::limits::{METHODS_MAX, TOPIC_BYTES_MAX};
use crate::object::MethodKind;
use crate::problem::Problem;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Description {
    /// Names and kinds, and whether they take and give bytes.
    pub(crate) methods: Vec<(String, AboutMethod)>,
    /// Whether the module wants to know of the end of sessions that have called it. Not said: if it has the export for it.
    pub(crate) hears_sessions: Option<bool>,
    pub(crate) layout: Option<String>,
}

/// The feature level from which on methods may take and give bytes. Builds before it take all for JSON.
pub(crate) const BYTES_LEVEL: u32 = 9;

impl Description {
    /// Reads a description, as members of that feature level do.
    ///
    /// # Errors
    /// It is none.
    pub(crate) fn parse(text: &str, level: u32) -> Result<Self, Problem> {
        let wrong = |detail: String| Problem::argument("description", detail);
        let fields = match Json::parse(text.as_bytes()) {
            Ok(Json::Object(fields)) => fields,
            Ok(_) => return Err(wrong("the description is no JSON object".into())),
            Err(why) => {
                return Err(wrong(format!(
                    "the description is not JSON: {} after {} bytes",
                    why.why, why.at
                )));
            }
        };
        let field = |name: &str| fields.iter().find(|(key, _)| key == name).map(|(_, value)| value);
        let knows_bytes = level >= BYTES_LEVEL;
        let is_of_bytes = codec(field("codec"), knows_bytes).map_err(wrong)?;
        // A runner has none of its own.
        let listed = match field("methods") {
            None => &[],
            Some(Json::Object(listed)) => listed.as_slice(),
            Some(_) => return Err(wrong("`methods` is no JSON object".into())),
        };
        if listed.len() > METHODS_MAX {
            return Err(wrong(format!("more than {METHODS_MAX} methods")));
        }
        let of_all = knows_bytes.then_some(is_of_bytes);
        let methods = listed.iter().map(|listed| method_of(listed, of_all));
        let methods = methods.collect::<Result<_, _>>().map_err(wrong)?;
        let hears_sessions = match field("session_expired") {
            Some(Json::Bool(hears)) => Some(*hears),
            _ => None,
        };
        let layout = match field("layout") {
            None | Some(Json::Null) => None,
            Some(Json::Text(layout)) if layout.len() <= TOPIC_BYTES_MAX => Some(layout.clone()),
            Some(_) => return Err(wrong("`layout` is no short text".into())),
        };
        Ok(Self { methods, hears_sessions, layout })
    }
}

/// Whether a type's methods take and give bytes unless they say otherwise.
fn codec(said: Option<&Json>, knows_bytes: bool) -> Result<bool, String> {
    match said {
        None | Some(Json::Null) => Ok(false),
        Some(Json::Text(codec)) if codec == "json" => Ok(false),
        Some(Json::Text(codec)) if codec == "raw" && knows_bytes => Ok(true),
        Some(_) if knows_bytes => Err("`codec` is neither `json` nor `raw`".into()),
        Some(_) => Err("`codec` is not `json`, the only one that is supported".into()),
    }
}

/// `of_all`: whether the type's methods take bytes unless they say otherwise; nothing where no method may.
fn method_of((name, method): &(String, Json), of_all: Option<bool>) -> Result<(String, AboutMethod), String> {
    let Json::Object(fields) = method else { return Err(format!("the method `{name}` is no JSON object")) };
    let kind = match fields.iter().find(|(key, _)| key == "kind") {
        Some((_, Json::Text(kind))) => kind.as_str(),
        _ => "",
    };
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    // `events` is a route of every object.
    if !(1..=TOPIC_BYTES_MAX).contains(&name.len()) || !name.bytes().all(is_word) || name == "events" {
        return Err(format!(
            "`{name}` is no name of a method: letters, digits, `_` and `-`, and not `events`"
        ));
    }
    let kind = match kind {
        "query" => MethodKind::Query,
        "command" => MethodKind::Command,
        "blocking" => MethodKind::Blocking,
        _ => return Err(format!("the `kind` of `{name}` is neither `query`, `command` nor `blocking`")),
    };
    let codec = fields.iter().find(|(key, _)| key == "codec").map(|(_, codec)| codec);
    let is_of_bytes = match (codec, of_all) {
        (_, None) => false,
        (None | Some(Json::Null), Some(of_all)) => of_all,
        (Some(Json::Text(codec)), _) if codec == "json" => false,
        (Some(Json::Text(codec)), _) if codec == "raw" => true,
        _ => return Err(format!("the `codec` of `{name}` is neither `json` nor `raw`")),
    };
    Ok((name.clone(), AboutMethod { kind, is_of_bytes }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn description_gives_methods_and_refuses_what_it_cannot_keep() {
        let text = r#"{"name":"hits","methods":{"hit":{"kind":"command","result":{}},
            "get":{"kind":"query"}},"layout":"1","session_expired":true}"#;
        let read = Description::parse(text, BYTES_LEVEL).expect("a description");
        let json = |kind| AboutMethod { kind, is_of_bytes: false };
        let methods = [("get".into(), json(MethodKind::Query)), ("hit".into(), json(MethodKind::Command))];
        assert_eq!(read.methods, methods);
        assert_eq!((read.hears_sessions, read.layout.as_deref()), (Some(true), Some("1")));
        for wrong in [
            "",
            "[]",
            r#"{"methods":[]}"#,
            r#"{"methods":{"a":{"kind":"either"}}}"#,
            r#"{"methods":{"events":{"kind":"query"}}}"#,
            r#"{"methods":{"a/b":{"kind":"query"}}}"#,
            r#"{"methods":{"a":1}}"#,
            r#"{"methods":{},"codec":"text"}"#,
            r#"{"methods":{"a":{"kind":"query","codec":"text"}}}"#,
            r#"{"methods":{"a":{"kind":"query","codec":1}}}"#,
        ] {
            assert!(Description::parse(wrong, BYTES_LEVEL).is_err(), "{wrong}");
        }
    }

    #[test]
    fn methods_take_bytes_where_they_or_their_type_say_so_and_all_members_know_that() {
        let text = r#"{"codec":"raw","methods":{"a":{"kind":"query"},"b":{"kind":"query","codec":"json"}}}"#;
        let of_bytes = |text, level| {
            let read = Description::parse(text, level).ok()?;
            Some(read.methods.iter().map(|(_, about)| about.is_of_bytes).collect::<Vec<_>>())
        };
        assert_eq!(of_bytes(text, BYTES_LEVEL), Some(vec![true, false]));
        assert_eq!(of_bytes(text, BYTES_LEVEL - 1), None);
        let text = r#"{"methods":{"a":{"kind":"query","codec":"raw"}}}"#;
        assert_eq!(of_bytes(text, BYTES_LEVEL), Some(vec![true]));
        assert_eq!(of_bytes(text, BYTES_LEVEL - 1), Some(vec![false]), "as builds that know nothing of it");
    }
}
