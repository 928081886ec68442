//! Names of functions, from the custom section `name`. For messages alone: whatever is wrong with it, there is no name.

use wasmparser::{KnownCustom, Name, Parser, Payload};

/// Bytes of a name in a message.
const NAME_BYTES_MAX: usize = 128;

/// The name of a function.
pub(super) fn of_function(module: &[u8], function: u32) -> Option<String> {
    Parser::new(0).parse_all(module).map_while(Result::ok).find_map(|payload| match payload {
        Payload::CustomSection(section) => match section.as_known() {
            KnownCustom::Name(mut names) => names.find_map(|names| match names {
                Ok(Name::Function(map)) => named(map, function),
                _ => None,
            }),
            _ => None,
        },
        _ => None,
    })
}

fn named(map: wasmparser::NameMap<'_>, function: u32) -> Option<String> {
    let found = map.into_iter().map_while(Result::ok).find(|naming| naming.index == function)?;
    Some(shortened(found.name))
}

/// A name that is not too long for a message.
pub(crate) fn shortened(name: &str) -> String {
    let mut end = name.len().min(NAME_BYTES_MAX);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name[..end].to_owned()
}
