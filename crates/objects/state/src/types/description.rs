//! What the description of a type says: JSON, from a custom section of its module or beside its source. Only what decides
//! how it is called is read here; the rest (schemas, texts) is shown as it is.

use crate::json::Json;
use crate::limits::{METHODS_MAX, TOPIC_BYTES_MAX};
use crate::object::MethodKind;
use crate::problem::Problem;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Description {
    /// Names and kinds.
    pub(crate) methods: Vec<(String, MethodKind)>,
    /// Whether the module wants to know of the end of sessions that have called it. Not said: if it has the export for it.
    pub(crate) hears_sessions: Option<bool>,
    pub(crate) layout: Option<String>,
}

impl Description {
    pub(crate) fn parse(text: &str) -> Result<Self, Problem> {
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
        match field("codec") {
            None | Some(Json::Null) => {}
            Some(Json::Text(codec)) if codec == "json" => {}
            Some(_) => return Err(wrong("`codec` is not `json`, the only one that is supported".into())),
        }
        // A runner has none of its own.
        let listed = match field("methods") {
            None => &[],
            Some(Json::Object(listed)) => listed.as_slice(),
            Some(_) => return Err(wrong("`methods` is no JSON object".into())),
        };
        if listed.len() > METHODS_MAX {
            return Err(wrong(format!("more than {METHODS_MAX} methods")));
        }
        let methods = listed.iter().map(method_of).collect::<Result<_, _>>().map_err(wrong)?;
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

fn method_of((name, method): &(String, Json)) -> Result<(String, MethodKind), String> {
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
    Ok((name.clone(), kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn description_gives_methods_and_refuses_what_it_cannot_keep() {
        let text = r#"{"name":"hits","methods":{"hit":{"kind":"command","result":{}},
            "get":{"kind":"query"}},"layout":"1","session_expired":true}"#;
        let read = Description::parse(text).expect("a description");
        assert_eq!(read.methods, [("get".into(), MethodKind::Query), ("hit".into(), MethodKind::Command)]);
        assert_eq!((read.hears_sessions, read.layout.as_deref()), (Some(true), Some("1")));
        for wrong in [
            "",
            "[]",
            r#"{"methods":[]}"#,
            r#"{"methods":{"a":{"kind":"either"}}}"#,
            r#"{"methods":{"events":{"kind":"query"}}}"#,
            r#"{"methods":{"a/b":{"kind":"query"}}}"#,
            r#"{"methods":{"a":1}}"#,
            r#"{"methods":{},"codec":"raw"}"#,
        ] {
            assert!(Description::parse(wrong).is_err(), "{wrong}");
        }
    }
}
