//! Whether a read is light: adds up the size of its answer without writing it.
//!
//! The core evaluates light reads behind writes; what may weigh more waits for its turn in the shard.

use council_tree::{NodeRef, Tree};
use council_wire::{MultiOperation, Request, SessionId, permission};

use crate::cost::DATA_OVERHEAD;
use crate::cost::{ENTRIES_PER_WORK, LIGHT_BYTES, LIGHT_WORK, Meter, Over};

/// Whether the reply of a read is small for certain, as far as the tree shows now. `grows` says that the tree may show
/// much more when the read comes to it.
pub(crate) fn is_light(tree: &Tree, request: &Request<'_>, session: SessionId, grows: bool) -> bool {
    let mut meter = Meter::new(&[], LIGHT_BYTES, LIGHT_WORK);
    let weighed = match request {
        Request::Sync { .. } => return true,
        // Its reply is small, however the tree grows.
        Request::Exists { .. } if grows => return true,
        _ if grows => return false,
        Request::Exists { path, .. } => weigh_verdict(tree.node(path), &mut meter),
        Request::GetData { path, .. } => weigh_data(tree, path, &mut meter),
        Request::GetChildren { path, .. } | Request::GetChildren2 { path, .. } => {
            weigh_children(tree, path, &mut meter)
        }
        Request::GetAcl { path } => weigh_acl(tree, path, &mut meter),
        Request::GetEphemerals { .. } => tree
            .ephemerals_behind(session, None)
            .try_for_each(|(_, path)| meter.spend(8).and_then(|()| meter.take(DATA_OVERHEAD + path.len()))),
        Request::GetAllChildrenNumber { path } => return matches!(*path, "/" | ""),
        Request::MultiRead(multi) => multi.operations.iter().try_for_each(|operation| match operation {
            MultiOperation::GetData { path, .. } => weigh_data(tree, path.unwrap_or_default(), &mut meter),
            MultiOperation::GetChildren { path, .. } => {
                weigh_children(tree, path.unwrap_or_default(), &mut meter)
            }
            _ => Ok(()),
        }),
        _ => return false,
    };
    weighed.is_ok()
}

fn weigh_data(tree: &Tree, path: &str, meter: &mut Meter) -> Result<(), Over> {
    meter.spend(1)?;
    let node = tree.node(path);
    weigh_verdict(node, meter)?;
    meter.take(DATA_OVERHEAD + node.and_then(|node| node.data()).map_or(0, <[u8]>::len))
}

/// What it takes to know whether the node may be read, if no operation before has found it out.
fn weigh_verdict(node: Option<NodeRef<'_>>, meter: &mut Meter) -> Result<(), Over> {
    let entries = node.map_or(0, |node| node.entries_to_judge(permission::READ));
    meter.spend(entries / ENTRIES_PER_WORK)
}

fn weigh_children(tree: &Tree, path: &str, meter: &mut Meter) -> Result<(), Over> {
    meter.spend(1)?;
    let Some(node) = tree.node(path) else { return Ok(()) };
    weigh_verdict(Some(node), meter)?;
    meter.spend(node.num_children())?;
    node.children().try_for_each(|name| meter.take(4 + name.len()))
}

fn weigh_acl(tree: &Tree, path: &str, meter: &mut Meter) -> Result<(), Over> {
    let Some(node) = tree.node(path) else { return Ok(()) };
    meter.spend(node.acl().len())?;
    node.acl().iter().try_for_each(|entry| meter.take(12 + entry.scheme.len() + entry.id.len()))
}
