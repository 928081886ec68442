//! Calls as the log carries them, and what an import makes an object of.

use crate::codec::{Cursor, Field, Malformed, put_varint, record};
use crate::limits::IMPORT_CALLS_MAX;

record! {
    /// A method and its arguments.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Invocation {
        /// The method.
        pub method: String,
        /// A JSON object; nothing stands for none.
        pub args: Vec<u8>,
    }
}

/// What an imported object is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Of a built-in type: the constructor's arguments, then calls, each at a position of its own.
    Calls {
        /// A JSON object; nothing stands for none.
        arguments: Vec<u8>,
        /// Up to [`IMPORT_CALLS_MAX`] of them.
        calls: Vec<Invocation>,
    },
    /// Of a user's type: what its module has saved.
    State {
        /// The description of the version that has saved it: a JSON object.
        description: Vec<u8>,
        /// JSON.
        state: Vec<u8>,
    },
}

impl Field for Content {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Calls { arguments, calls } => {
                out.push(0);
                arguments.put(out);
                put_varint(out, calls.len() as u64);
                calls.iter().for_each(|call| call.put(out));
            }
            Self::State { description, state } => {
                out.push(1);
                description.put(out);
                state.put(out);
            }
        }
    }

    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        match cursor.u8()? {
            0 => {
                let arguments = Field::take(cursor)?;
                let calls =
                    (0..import_length(cursor)?).map(|_| Field::take(cursor)).collect::<Result<_, _>>()?;
                Ok(Self::Calls { arguments, calls })
            }
            1 => Ok(Self::State { description: Field::take(cursor)?, state: Field::take(cursor)? }),
            _ => Err(Malformed("command: an import of an unknown kind")),
        }
    }

    fn skip(cursor: &mut Cursor<'_>) -> Result<(), Malformed> {
        match cursor.u8()? {
            0 => {
                Vec::<u8>::skip(cursor)?;
                (0..import_length(cursor)?).try_for_each(|_| Invocation::skip(cursor))
            }
            1 => (0..2).try_for_each(|_| Vec::<u8>::skip(cursor)),
            _ => Err(Malformed("command: an import of an unknown kind")),
        }
    }
}

fn import_length(cursor: &mut Cursor<'_>) -> Result<u64, Malformed> {
    let count = cursor.varint()?;
    match count <= IMPORT_CALLS_MAX as u64 {
        true => Ok(count),
        false => Err(Malformed("command: an import of too many calls")),
    }
}
