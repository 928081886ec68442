//! A type as it describes itself.

use serde_json::Value;

use super::naming;

/// What an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Flag,
    Integer,
    Number,
    Text,
    /// Any JSON.
    Any,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Argument {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) is_optional: bool,
}

/// How a method is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Calling {
    Command,
    Query,
    Blocking,
}

impl Calling {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Query => "query",
            Self::Blocking => "blocking",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Method {
    pub(super) name: String,
    pub(super) calling: Calling,
    /// Those that must be there, then the others; nothing if they are not described.
    pub(super) arguments: Option<Vec<Argument>>,
}

impl Method {
    pub(super) fn needed(&self) -> impl Iterator<Item = &Argument> {
        self.arguments.iter().flatten().filter(|argument| !argument.is_optional)
    }

    pub(super) fn optional(&self) -> impl Iterator<Item = &Argument> {
        self.arguments.iter().flatten().filter(|argument| argument.is_optional)
    }
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Described {
    pub(super) name: String,
    /// The beginning of its latest version.
    pub(super) version: String,
    pub(super) methods: Vec<Method>,
    /// Methods that take and give bytes: the libraries send and read JSON.
    pub(super) left_out: Vec<String>,
}

impl Described {
    /// From what a member tells of the type.
    pub(super) fn read(told: &Value) -> Result<Self, String> {
        let name = naming::word(told["name"].as_str().unwrap_or_default())?;
        if told["built_in"] == true {
            return Err(format!("`{name}` is a built-in type: the libraries have a class for it"));
        }
        let version = told["version"].as_str().unwrap_or_default();
        let Some(methods) = told["description"]["methods"].as_object() else {
            return Err(format!("type `{name}` has no version that is ready, or does not tell its methods"));
        };
        let of_all = &told["description"]["codec"];
        let is_raw = |about: &Value| about.get("codec").unwrap_or(of_all) == "raw";
        let (raw, methods): (Vec<_>, Vec<_>) = methods.iter().partition(|(_, about)| is_raw(about));
        let mut methods: Vec<_> =
            methods.into_iter().map(|(name, about)| method(name, about)).collect::<Result<_, _>>()?;
        methods.sort_by(|one, other| one.name.cmp(&other.name));
        naming::are_different(methods.iter().map(|method| &*method.name), "methods")?;
        let version = super::super::types::short(version).chars().filter(char::is_ascii_hexdigit).collect();
        let left_out = raw.into_iter().map(|(name, _)| name.clone()).collect();
        Ok(Self { name, version, methods, left_out })
    }
}

fn method(name: &str, about: &Value) -> Result<Method, String> {
    let name = naming::word(name)?;
    let calling = match about["kind"].as_str() {
        Some("query") => Calling::Query,
        Some("blocking") => Calling::Blocking,
        _ => Calling::Command,
    };
    let Some(properties) = about["args"]["properties"].as_object() else {
        return Ok(Method { name, calling, arguments: None });
    };
    let needed: Vec<_> = about["args"]["required"].as_array().into_iter().flatten().collect();
    let argument = |(name, about): (&String, &Value)| {
        let is_optional = !needed.iter().any(|needed| **needed == **name);
        Ok::<_, String>(Argument { name: naming::word(name)?, kind: kind(about), is_optional })
    };
    let mut arguments: Vec<_> = properties.iter().map(argument).collect::<Result<_, _>>()?;
    arguments.sort_by(|one, other| (one.is_optional, &one.name).cmp(&(other.is_optional, &other.name)));
    naming::are_different(arguments.iter().map(|argument| &*argument.name), "arguments")?;
    Ok(Method { name, calling, arguments: Some(arguments) })
}

fn kind(about: &Value) -> Kind {
    match about["type"].as_str() {
        Some("boolean") => Kind::Flag,
        Some("integer") => Kind::Integer,
        Some("number") => Kind::Number,
        Some("string") => Kind::Text,
        _ => Kind::Any,
    }
}
