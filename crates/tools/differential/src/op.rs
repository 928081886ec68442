//! One request of a script: a value that prints itself and encodes itself. What no decoder accepts is written here too.

use std::fmt;

use council_wire::OpCode;

use super::encode::Body;

/// One entry of an access list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acl {
    /// Permission bits, as sent.
    pub perms: i32,
    /// Scheme, as sent.
    pub scheme: &'static str,
    /// Identity, as sent.
    pub id: String,
}

/// A zxid that only the running server knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZxidRef {
    /// 0.
    Zero,
    /// So many behind the newest this script has seen.
    Ago(i64),
    /// Far ahead of the server.
    Ahead,
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are the protocol's own")]
pub enum Op {
    /// create (1), create2 (15), createContainer (19): the same body.
    Create {
        opcode: OpCode,
        path: String,
        data: Option<Vec<u8>>,
        acl: Option<Vec<Acl>>,
        flags: i32,
    },
    CreateTtl {
        path: String,
        data: Option<Vec<u8>>,
        acl: Option<Vec<Acl>>,
        flags: i32,
        ttl: i64,
    },
    SetData {
        path: String,
        data: Option<Vec<u8>>,
        version: i32,
    },
    SetAcl {
        path: String,
        acl: Option<Vec<Acl>>,
        version: i32,
    },
    /// delete and check.
    Versioned {
        opcode: OpCode,
        path: String,
        version: i32,
    },
    /// exists, getData, getChildren, getChildren2.
    Watching {
        opcode: OpCode,
        path: String,
        watch: bool,
    },
    /// Requests with only a path: getACL, sync, deleteContainer, getEphemerals, getAllChildrenNumber.
    OfPath {
        opcode: OpCode,
        path: String,
    },
    /// checkWatches, removeWatches and addWatch: a path with a kind or mode.
    OfKind {
        opcode: OpCode,
        path: String,
        kind: i32,
    },
    /// ping, whoAmI, closeSession.
    Empty {
        opcode: OpCode,
    },
    /// multi (14) and multiRead (22).
    Multi {
        opcode: OpCode,
        ops: Vec<Op>,
    },
    Reconfig {
        joining: Option<String>,
        leaving: Option<String>,
        members: Option<String>,
        config: i64,
    },
    Auth {
        scheme: &'static str,
        auth: Vec<u8>,
    },
    Sasl {
        token: Option<Vec<u8>>,
    },
    /// setWatches (three lists) and setWatches2 (five lists).
    SetWatches {
        opcode: OpCode,
        relative: ZxidRef,
        lists: Vec<Vec<String>>,
    },
    /// Any code with any body.
    Raw {
        opcode: i32,
        body: Vec<u8>,
    },
    /// The body of another request, damaged.
    Mangled {
        op: Box<Op>,
        how: Mangle,
    },
}

/// How a body is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mangle {
    /// The last bytes are missing.
    Short(usize),
    /// Nothing is left.
    Empty,
    /// Extra bytes follow.
    Long(usize),
    /// The first length (of the path, in most requests) says null.
    NullFirst,
    /// The first length is negative, yet not the null mark.
    NegativeFirst,
    /// The first length is larger than the frame.
    HugeFirst,
}

impl Op {
    /// The operation code.
    #[must_use]
    pub fn opcode(&self) -> i32 {
        match self {
            Op::Create { opcode, .. }
            | Op::Versioned { opcode, .. }
            | Op::Watching { opcode, .. }
            | Op::OfPath { opcode, .. }
            | Op::OfKind { opcode, .. }
            | Op::Empty { opcode }
            | Op::Multi { opcode, .. }
            | Op::SetWatches { opcode, .. } => opcode.code(),
            Op::Raw { opcode, .. } => *opcode,
            Op::CreateTtl { .. } => OpCode::CreateTtl.code(),
            Op::SetData { .. } => OpCode::SetData.code(),
            Op::SetAcl { .. } => OpCode::SetAcl.code(),
            Op::Reconfig { .. } => OpCode::Reconfig.code(),
            Op::Auth { .. } => OpCode::Auth.code(),
            Op::Sasl { .. } => OpCode::Sasl.code(),
            Op::Mangled { op, .. } => op.opcode(),
        }
    }

    /// The body as it goes over the wire; `newest` is the newest zxid this script has seen.
    #[must_use]
    pub fn body(&self, newest: i64) -> Vec<u8> {
        let body = Body::default();
        match self {
            Op::Create { path, data, acl, flags, .. } => {
                body.text(path).buffer(data.as_deref()).acl(acl.as_deref()).int(*flags)
            }
            Op::CreateTtl { path, data, acl, flags, ttl } => {
                body.text(path).buffer(data.as_deref()).acl(acl.as_deref()).int(*flags).long(*ttl)
            }
            Op::SetData { path, data, version } => body.text(path).buffer(data.as_deref()).int(*version),
            Op::SetAcl { path, acl, version } => body.text(path).acl(acl.as_deref()).int(*version),
            Op::Versioned { path, version, .. } => body.text(path).int(*version),
            Op::Watching { path, watch, .. } => body.text(path).boolean(*watch),
            Op::OfPath { path, .. } => body.text(path),
            Op::OfKind { path, kind, .. } => body.text(path).int(*kind),
            Op::Empty { .. } => body,
            Op::Multi { ops, .. } => {
                let each = ops
                    .iter()
                    .fold(body, |body, op| body.multi_header(op.opcode(), false).raw(&op.body(newest)));
                each.multi_header(-1, true)
            }
            Op::Reconfig { joining, leaving, members, config } => [joining, leaving, members]
                .into_iter()
                .fold(body, |body, text| body.optional_text(text.as_deref()))
                .long(*config),
            Op::Auth { scheme, auth } => body.int(0).text(scheme).buffer(Some(auth)),
            Op::Sasl { token } => body.buffer(token.as_deref()),
            Op::SetWatches { relative, lists, .. } => {
                lists.iter().fold(body.long(relative.resolve(newest)), |body, list| body.texts(list))
            }
            Op::Raw { body: bytes, .. } => body.raw(bytes),
            Op::Mangled { op, how } => body.raw(&how.apply(op.body(newest))),
        }
        .into_bytes()
    }

    /// The opcode's name in ZooKeeper's own words.
    #[must_use]
    pub fn name(&self) -> &'static str {
        OpCode::from_code(self.opcode()).map_or("unknown", OpCode::name)
    }

    /// Whether the server closes the connection behind its reply.
    #[must_use]
    pub fn closes(&self) -> bool {
        match self {
            Op::Auth { scheme, .. } => !matches!(*scheme, "digest" | "ip"),
            // An auth packet that cannot be decoded is not even answered.
            Op::Mangled { op, .. } => !matches!(**op, Op::Auth { .. }) && op.closes(),
            _ => {
                matches!(OpCode::from_code(self.opcode()), None | Some(OpCode::CloseSession | OpCode::Check))
            }
        }
    }
}

impl ZxidRef {
    /// The number, given the newest zxid the script has seen.
    #[must_use]
    pub fn resolve(self, newest: i64) -> i64 {
        match self {
            ZxidRef::Zero => 0,
            ZxidRef::Ago(count) => newest - count,
            ZxidRef::Ahead => newest + 1_000_000,
        }
    }
}

impl Mangle {
    fn apply(self, mut body: Vec<u8>) -> Vec<u8> {
        let first = |body: &mut Vec<u8>, length: i32| {
            body.splice(..body.len().min(4), length.to_be_bytes());
        };
        match self {
            Mangle::Short(count) => body.truncate(body.len().saturating_sub(count)),
            Mangle::Empty => body.clear(),
            Mangle::Long(count) => body.resize(body.len() + count, 0x5a),
            Mangle::NullFirst => {
                // The text that the length stood for goes as well, so that the rest of the record still fits.
                let length = body.first_chunk::<4>().map_or(0, |head| i32::from_be_bytes(*head));
                let end = 4 + usize::try_from(length).unwrap_or(0);
                body.splice(..body.len().min(end), (-1i32).to_be_bytes());
            }
            Mangle::NegativeFirst => first(&mut body, -7),
            Mangle::HugeFirst => first(&mut body, i32::MAX),
        }
        body
    }
}

impl fmt::Display for Op {
    #[expect(clippy::too_many_lines, reason = "a table: an arm for each operation")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        match self {
            Op::Create { path, data, acl, flags, .. } => {
                write!(
                    f,
                    "{name} {path:?} data={} acl={} flags={flags}",
                    Bytes(data.as_deref()),
                    Acls(acl.as_deref())
                )
            }
            Op::CreateTtl { path, data, acl, flags, ttl } => {
                let (data, acl) = (Bytes(data.as_deref()), Acls(acl.as_deref()));
                write!(f, "{name} {path:?} data={data} acl={acl} flags={flags} ttl={ttl}")
            }
            Op::SetData { path, data, version } => {
                write!(f, "{name} {path:?} data={} version={version}", Bytes(data.as_deref()))
            }
            Op::SetAcl { path, acl, version } => {
                write!(f, "{name} {path:?} acl={} version={version}", Acls(acl.as_deref()))
            }
            Op::Versioned { path, version, .. } => write!(f, "{name} {path:?} version={version}"),
            Op::Watching { path, watch, .. } => {
                write!(f, "{name} {path:?}{}", if *watch { " watch" } else { "" })
            }
            Op::OfPath { path, .. } => write!(f, "{name} {path:?}"),
            Op::OfKind { path, kind, .. } => write!(f, "{name} {path:?} kind={kind}"),
            Op::Empty { .. } => f.write_str(name),
            Op::Multi { ops, .. } => {
                write!(f, "{name} [")?;
                for (index, op) in ops.iter().enumerate() {
                    write!(f, "{}{op}", if index == 0 { "" } else { "; " })?;
                }
                f.write_str("]")
            }
            Op::Reconfig { joining, leaving, members, config } => {
                write!(
                    f,
                    "{name} joining={joining:?} leaving={leaving:?} members={members:?} config={config}"
                )
            }
            Op::Auth { scheme, auth } => write!(f, "{name} {scheme} {}", Bytes(Some(auth))),
            Op::Sasl { token } => write!(f, "{name} token={}", Bytes(token.as_deref())),
            Op::SetWatches { relative, lists, .. } => write!(f, "{name} since={relative:?} {lists:?}"),
            Op::Raw { opcode, body } => write!(f, "opcode {opcode} ({name}) body={}", Bytes(Some(body))),
            Op::Mangled { op, how } => write!(f, "{how:?} of {op}"),
        }
    }
}

/// Bytes for people: text if it is text, otherwise hex; null and empty differ.
pub(crate) struct Bytes<'a>(pub(crate) Option<&'a [u8]>);

impl fmt::Display for Bytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(bytes) = self.0 else { return f.write_str("null") };
        if bytes.len() > 120 {
            return write!(f, "({} bytes)", bytes.len());
        }
        match std::str::from_utf8(bytes) {
            Ok(text) if !text.contains(char::is_control) => write!(f, "{text:?}"),
            _ => bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
        }
    }
}

struct Acls<'a>(Option<&'a [Acl]>);

impl fmt::Display for Acls<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(acls) = self.0 else { return f.write_str("null") };
        let texts: Vec<String> =
            acls.iter().map(|acl| format!("{}:{}:{}", acl.scheme, acl.id, acl.perms)).collect();
        write!(f, "[{}]", texts.join(","))
    }
}
