//! Requests of any operation, whole or not.

use council_wire::{AclList, MultiOperation, OpCode, Request, RequestHeader};

use crate::golden;

pub(crate) fn run(bytes: &[u8]) {
    let mut reader = council_wire::Reader::new(bytes);
    let Ok(header) = RequestHeader::read(&mut reader) else { return };
    let body = reader.rest();
    let Some(opcode) = OpCode::from_code(header.operation) else { return };
    let Ok(request) = Request::decode(opcode, body) else { return };
    let least = match &request {
        Request::Create(create) | Request::CreateTtl(create, _) => acl_bytes(&create.acl),
        Request::SetAcl { acl, .. } => acl_bytes(acl),
        Request::SetWatches(watches) | Request::SetWatches2(watches) => {
            let lists = [
                watches.data,
                watches.exist,
                watches.child,
                watches.persistent,
                watches.persistent_recursive,
            ];
            lists
                .iter()
                .map(|list| {
                    assert_eq!(list.iter().count(), list.len(), "a list is shorter than it says");
                    list.iter().map(|path| 4 + path.map_or(0, str::len)).sum::<usize>()
                })
                .sum()
        }
        Request::Multi(multi) | Request::MultiRead(multi) => {
            for operation in &multi.operations {
                if let MultiOperation::Create(_, create, _) = operation {
                    acl_bytes(&create.acl);
                }
            }
            multi.operations.len() * 9
        }
        _ => 0,
    };
    assert!(least <= body.len(), "more was read than the bytes can hold");
}

/// How many bytes its entries take at the least.
fn acl_bytes(acl: &AclList<'_>) -> usize {
    assert_eq!(acl.iter().count(), acl.len(), "an ACL is shorter than it says");
    assert_eq!(acl.to_vec().len(), acl.len());
    acl.len() * 12
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    golden::of_kind("request").into_iter().map(|frame| frame.bytes).collect()
}
