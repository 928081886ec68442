//! The tree as the specification says it, with nothing but a map from paths: slow, plain, and written apart from the
//! crate, so that tests can compare the two.

use std::collections::BTreeMap;

use council_tree::{ChangeKind, Outcome, SubOutcome};
use council_wire::{Acl, ErrorCode, OpCode, Stat};

use crate::support::Write;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Plain,
    Ephemeral(i64),
    Container,
    Ttl(i64),
}

#[derive(Clone, Debug)]
pub(crate) struct ModelNode {
    data: Option<Vec<u8>>,
    acl: Vec<Acl>,
    kind: Kind,
    czxid: i64,
    mzxid: i64,
    pzxid: i64,
    ctime: i64,
    mtime: i64,
    version: i32,
    creations: i32,
    aversion: i32,
}

/// What a model's command changed: the kind, the path, its ACL and its parent's.
pub(crate) type ModelChange = (ChangeKind, String, Vec<Acl>, Vec<Acl>);

#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    pub(crate) nodes: BTreeMap<String, ModelNode>,
    pub(crate) zxid: i64,
    pub(crate) time_ms: i64,
    pub(crate) extended: bool,
    pub(crate) enforce: bool,
    /// The one path under quota, and its hard limit of nodes.
    pub(crate) quota: Option<(String, i64)>,
    /// The usage when the running multi began.
    usage_before: Option<i64>,
}

/// What a write did, within a multi or alone.
enum Done {
    Created { path: String, stat: Stat },
    Deleted,
    DataSet { stat: Stat },
    AclSet { stat: Stat },
    Checked,
}

impl Done {
    fn alone(self) -> Outcome {
        match self {
            Self::Created { path, stat } => Outcome::Created { path, stat },
            Self::Deleted => Outcome::Deleted,
            Self::DataSet { stat } => Outcome::DataSet { stat },
            Self::AclSet { stat } => Outcome::AclSet { stat },
            Self::Checked => panic!("a check stands in a multi only"),
        }
    }
}

/// The client that writes.
pub(crate) struct Writer<'a> {
    pub(crate) session: i64,
    pub(crate) identities: &'a [(&'a str, &'a str)],
}

impl Writer<'_> {
    fn may(&self, acl: &[Acl], permission: i32) -> bool {
        self.identities.contains(&("super", ""))
            || acl.iter().any(|entry| {
                let means_me = (entry.scheme == "world" && entry.id == "anyone")
                    || self.identities.contains(&(&entry.scheme, &entry.id));
                means_me && entry.permissions & permission != 0
            })
    }

    fn stored(&self, acl: &[Acl]) -> Result<Vec<Acl>, ErrorCode> {
        let mut stored: Vec<Acl> = Vec::new();
        let mut seen: Vec<&Acl> = Vec::new();
        for entry in acl {
            if seen.contains(&entry) {
                continue;
            }
            seen.push(entry);
            match entry.scheme.as_str() {
                "auth" => {
                    let mine = self.identities.iter().filter(|identity| identity.0 == "digest");
                    let before = stored.len();
                    stored.extend(mine.map(|identity| Acl {
                        permissions: entry.permissions,
                        scheme: identity.0.into(),
                        id: identity.1.into(),
                    }));
                    if stored.len() == before {
                        return Err(ErrorCode::InvalidAcl);
                    }
                }
                "world" if entry.id == "anyone" => stored.push(entry.clone()),
                "digest" | "ip" => stored.push(entry.clone()),
                _ => return Err(ErrorCode::InvalidAcl),
            }
        }
        if stored.is_empty() { Err(ErrorCode::InvalidAcl) } else { Ok(stored) }
    }
}

fn parent_of(path: &str) -> Result<&str, ErrorCode> {
    match path.rfind('/') {
        None => Err(ErrorCode::BadArguments),
        Some(0) => Ok("/"),
        Some(slash) => Ok(&path[..slash]),
    }
}

fn is_good(path: &str) -> bool {
    path == "/" || path.starts_with('/') && path[1..].split('/').all(|name| !["", ".", ".."].contains(&name))
}

fn version_fits(wanted: i32, current: i32) -> Result<(), ErrorCode> {
    if wanted == -1 || wanted == current { Ok(()) } else { Err(ErrorCode::BadVersion) }
}

impl Model {
    pub(crate) fn new() -> Self {
        let mut model = Self { time_ms: 1_000, ..Self::default() };
        let node = |acl, aversion| ModelNode {
            data: Some(Vec::new()),
            acl,
            kind: Kind::Plain,
            czxid: 0,
            mzxid: 0,
            pzxid: 0,
            ctime: 0,
            mtime: 0,
            version: 0,
            creations: 0,
            aversion,
        };
        for path in ["/", "/zookeeper", "/zookeeper/quota"] {
            model.nodes.insert(path.into(), node(vec![Acl::open()], 0));
        }
        model.nodes.insert("/zookeeper/config".into(), node(vec![Acl::world(1)], -1));
        model
    }

    pub(crate) fn children(&self, path: &str) -> Vec<String> {
        let below = if path == "/" { String::from("/") } else { format!("{path}/") };
        let names = self.nodes.range(below.clone()..).take_while(|(other, _)| other.starts_with(&below));
        names
            .map(|(other, _)| &other[below.len()..])
            .filter(|name| !name.is_empty() && !name.contains('/'))
            .map(String::from)
            .collect()
    }

    pub(crate) fn stat(&self, path: &str) -> Stat {
        let node = &self.nodes[path];
        let children = self.children(path).len() as i32;
        Stat {
            czxid: node.czxid,
            mzxid: node.mzxid,
            ctime: node.ctime,
            mtime: node.mtime,
            version: node.version,
            cversion: 2 * node.creations - children,
            aversion: node.aversion,
            ephemeral_owner: if let Kind::Ephemeral(id) = node.kind { id } else { 0 },
            data_length: node.data.as_ref().map_or(0, Vec::len) as i32,
            num_children: children,
            pzxid: node.pzxid,
        }
    }

    pub(crate) fn usage(&self) -> (i64, i64) {
        let Some((top, _)) = &self.quota else { return (0, 0) };
        let below = format!("{top}/");
        let counted = self.nodes.iter().filter(|(path, _)| *path == top || path.starts_with(&below));
        counted.fold((0, 0), |(count, bytes), (_, node)| {
            (count + 1, bytes + node.data.as_ref().map_or(0, Vec::len) as i64)
        })
    }

    fn is_over_quota(&self, path: &str) -> bool {
        let Some((top, limit)) = self.quota.as_ref().filter(|_| self.enforce) else { return false };
        let used = self.usage_before.unwrap_or_else(|| self.usage().0);
        (path == top || path.starts_with(&format!("{top}/"))) && used + 1 > *limit
    }

    fn change(&self, kind: ChangeKind, path: &str) -> ModelChange {
        let parent = parent_of(path).unwrap_or("/");
        (kind, path.into(), self.nodes[path].acl.clone(), self.nodes[parent].acl.clone())
    }

    /// A client's write, with its zxid.
    pub(crate) fn write(&mut self, writer: &Writer<'_>, write: &Write) -> (Outcome, Vec<ModelChange>) {
        self.zxid += 1;
        let mut changes = Vec::new();
        let outcome = match write {
            Write::Multi(writes) => self.multi(writer, writes, &mut changes),
            single => self.single(writer, single, &mut changes).map_or_else(Outcome::Refused, Done::alone),
        };
        (outcome, changes)
    }

    fn multi(&mut self, writer: &Writer<'_>, writes: &[Write], changes: &mut Vec<ModelChange>) -> Outcome {
        let before = self.clone();
        self.usage_before = Some(self.usage().0);
        let mut results = Vec::new();
        for write in writes {
            match self.single(writer, write, changes) {
                Ok(Done::Created { path, .. }) if write.opcode() == OpCode::Create => {
                    results.push(SubOutcome::Created { path });
                }
                Ok(Done::Created { path, stat }) => results.push(SubOutcome::Created2 { path, stat }),
                Ok(Done::DataSet { stat }) => results.push(SubOutcome::DataSet { stat }),
                Ok(Done::Checked) => results.push(SubOutcome::Checked),
                Ok(_) => results.push(SubOutcome::Deleted),
                Err(code) => {
                    *self = before;
                    changes.clear();
                    let done = results.len();
                    let codes = (0..writes.len()).map(|at| match at {
                        _ if at < done => ErrorCode::Ok,
                        _ if at == done => code,
                        _ => ErrorCode::RuntimeInconsistency,
                    });
                    return Outcome::Multi(codes.map(SubOutcome::Failed).collect());
                }
            }
        }
        self.usage_before = None;
        Outcome::Multi(results)
    }

    #[expect(clippy::too_many_lines, reason = "one story, told in order")]
    fn single(
        &mut self,
        writer: &Writer<'_>,
        write: &Write,
        changes: &mut Vec<ModelChange>,
    ) -> Result<Done, ErrorCode> {
        match write {
            Write::Create { .. } => self.create(writer, write, changes),
            Write::Delete { path, version } => {
                let parent = parent_of(path)?.to_owned();
                if ["/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config"].contains(&path.as_str()) {
                    return Err(ErrorCode::BadArguments);
                }
                let above = self.nodes.get(&parent).ok_or(ErrorCode::NoNode)?;
                if !writer.may(&above.acl, 8) {
                    return Err(ErrorCode::NoAuth);
                }
                version_fits(*version, self.nodes.get(path).ok_or(ErrorCode::NoNode)?.version)?;
                if !self.children(path).is_empty() {
                    return Err(ErrorCode::NotEmpty);
                }
                self.remove(path, changes);
                Ok(Done::Deleted)
            }
            Write::SetData { path, data, version } => {
                let node = self.accessible(writer, path, 2)?;
                version_fits(*version, node.version)?;
                let (zxid, time_ms) = (self.zxid, self.time_ms);
                let node = self.nodes.get_mut(path).ok_or(ErrorCode::NoNode)?;
                node.data.clone_from(data);
                (node.version, node.mzxid, node.mtime) = (node.version + 1, zxid, time_ms);
                changes.push(self.change(ChangeKind::DataChanged, path));
                Ok(Done::DataSet { stat: self.stat(path) })
            }
            Write::SetAcl { path, acl, version } => {
                if !is_good(path) {
                    return Err(ErrorCode::BadArguments);
                }
                let acl = writer.stored(acl)?;
                version_fits(*version, self.accessible(writer, path, 16)?.aversion)?;
                let node = self.nodes.get_mut(path).ok_or(ErrorCode::NoNode)?;
                (node.acl, node.aversion) = (acl, node.aversion + 1);
                Ok(Done::AclSet { stat: self.stat(path) })
            }
            Write::Check { path, version } => {
                version_fits(*version, self.accessible(writer, path, 1)?.version)?;
                Ok(Done::Checked)
            }
            Write::Multi(_) => Err(ErrorCode::MarshallingError),
        }
    }

    fn accessible(&self, writer: &Writer<'_>, path: &str, permission: i32) -> Result<&ModelNode, ErrorCode> {
        if !is_good(path) {
            return Err(ErrorCode::BadArguments);
        }
        let node = self.nodes.get(path).ok_or(ErrorCode::NoNode)?;
        if writer.may(&node.acl, permission) { Ok(node) } else { Err(ErrorCode::NoAuth) }
    }

    #[expect(clippy::too_many_lines, reason = "one story, told in order")]
    fn create(
        &mut self,
        writer: &Writer<'_>,
        write: &Write,
        changes: &mut Vec<ModelChange>,
    ) -> Result<Done, ErrorCode> {
        let Write::Create { opcode, path, data, acl, flags, ttl_ms } = write else {
            return Err(ErrorCode::SystemError);
        };
        if !(0..=6).contains(flags) {
            return Err(ErrorCode::BadArguments);
        }
        let wants_ttl = *flags >= 5;
        if wants_ttl && !self.extended {
            return Err(ErrorCode::Unimplemented);
        }
        if wants_ttl != (*opcode == OpCode::CreateTtl) || wants_ttl && !(1..1 << 40).contains(ttl_ms) {
            return Err(ErrorCode::BadArguments);
        }
        let parent = parent_of(path)?.to_owned();
        let acl = writer.stored(acl)?;
        let above = self.nodes.get(&parent).ok_or(ErrorCode::NoNode)?;
        if !writer.may(&above.acl, 4) {
            return Err(ErrorCode::NoAuth);
        }
        let path = match flags {
            2 | 3 | 6 => format!("{path}{:010}", above.creations),
            _ => path.clone(),
        };
        if !is_good(&path) {
            return Err(ErrorCode::BadArguments);
        }
        if self.nodes.contains_key(&path) {
            return Err(ErrorCode::NodeExists);
        }
        if matches!(above.kind, Kind::Ephemeral(_)) {
            return Err(ErrorCode::NoChildrenForEphemerals);
        }
        if self.is_over_quota(&path) {
            return Err(ErrorCode::QuotaExceeded);
        }
        let kind = match (opcode, flags) {
            (OpCode::CreateTtl, _) => Kind::Ttl(*ttl_ms),
            (OpCode::CreateContainer, _) => Kind::Container,
            (_, 1 | 3) => Kind::Ephemeral(writer.session),
            _ => Kind::Plain,
        };
        let zxid = self.zxid;
        if let Some(above) = self.nodes.get_mut(&parent) {
            (above.creations, above.pzxid) = (above.creations + 1, zxid);
        }
        let node = ModelNode {
            data: data.clone(),
            acl,
            kind,
            czxid: zxid,
            mzxid: zxid,
            pzxid: zxid,
            ctime: self.time_ms,
            mtime: self.time_ms,
            version: 0,
            creations: 0,
            aversion: 0,
        };
        self.nodes.insert(path.clone(), node);
        changes.push(self.change(ChangeKind::Created, &path));
        Ok(Done::Created { stat: self.stat(&path), path })
    }

    fn remove(&mut self, path: &str, changes: &mut Vec<ModelChange>) {
        changes.push(self.change(ChangeKind::Deleted, path));
        let zxid = self.zxid;
        self.nodes.remove(path);
        let parent = parent_of(path).unwrap_or("/");
        if let Some(above) = self.nodes.get_mut(parent) {
            above.pzxid = zxid;
        }
    }

    /// Removes all that a session owns, at a zxid of its own.
    pub(crate) fn close(&mut self, session: i64) -> Vec<ModelChange> {
        self.zxid += 1;
        let owned = self.nodes.iter().filter(|(_, node)| node.kind == Kind::Ephemeral(session));
        let owned: Vec<String> = owned.map(|(path, _)| path.clone()).collect();
        let mut changes = Vec::new();
        for path in owned {
            self.remove(&path, &mut changes);
        }
        changes
    }

    /// Removes a container or TTL node if it is due; says whether.
    pub(crate) fn reap(&mut self, path: &str, never_used_ms: i64) -> Option<Vec<ModelChange>> {
        let node = self.nodes.get(path)?;
        let age = self.time_ms - node.mtime;
        let due = match node.kind {
            Kind::Container => node.creations > 0 || never_used_ms > 0 && age > never_used_ms,
            Kind::Ttl(ttl_ms) => age > ttl_ms,
            Kind::Plain | Kind::Ephemeral(_) => false,
        };
        if !due || !self.children(path).is_empty() {
            return None;
        }
        self.zxid += 1;
        let mut changes = Vec::new();
        self.remove(path, &mut changes);
        Some(changes)
    }

    /// What must be read under a path.
    pub(crate) fn content(&self, path: &str) -> (Option<Vec<u8>>, Stat, Vec<Acl>, Kind, Vec<String>) {
        let node = &self.nodes[path];
        (node.data.clone(), self.stat(path), node.acl.clone(), node.kind, self.children(path))
    }
}
