//! Whole subtrees: listed level by level, deleted from the leaves.

use std::collections::VecDeque;

use council_wire::ErrorCode;

use crate::pending::Pending;
use crate::{Client, Error, Multi, MultiResult};

/// Transactions that are under way at once while a subtree is deleted.
const BATCHES_MAX: usize = 10;
/// Listings that are under way at once.
const LISTINGS_MAX: usize = 1000;

impl Client {
    /// A node and all below it, parents before children. Nodes that go meanwhile are left out.
    ///
    /// # Errors
    /// When the node itself is not there, or a listing fails.
    pub fn subtree(&self, root: &str) -> Result<Vec<String>, Error> {
        let mut found = vec![String::from(root)];
        let mut listed = 0;
        let mut listings: VecDeque<(usize, Pending<Vec<String>>)> = VecDeque::new();
        loop {
            while listed < found.len() && listings.len() < LISTINGS_MAX {
                listings.push_back((listed, self.children(&found[listed])));
                listed += 1;
            }
            let Some((index, listing)) = listings.pop_front() else { return Ok(found) };
            match listing.wait() {
                Ok(names) => {
                    let parent = found[index].trim_end_matches('/');
                    let paths: Vec<String> =
                        names.into_iter().map(|name| format!("{parent}/{name}")).collect();
                    found.extend(paths);
                }
                Err(error) if index > 0 && error.is(ErrorCode::NoNode) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Deletes a node and all below it, so many nodes in one transaction; how many that were.
    ///
    /// # Errors
    /// When a listing or a transaction fails; transactions before it have taken effect.
    pub fn delete_subtree(&self, root: &str, batch: usize) -> Result<usize, Error> {
        let paths = self.subtree(root)?;
        let mut under_way: VecDeque<(&[&String], Pending<Vec<MultiResult>>)> = VecDeque::new();
        let leaves_first: Vec<&String> = paths.iter().rev().collect();
        for chunk in leaves_first.chunks(batch.max(1)) {
            if under_way.len() == BATCHES_MAX
                && let Some(oldest) = under_way.pop_front()
            {
                deleted(oldest)?;
            }
            let deletions = chunk.iter().fold(Multi::new(), |multi, path| multi.delete(path, -1));
            under_way.push_back((chunk, self.commit(&deletions)));
        }
        for oldest in under_way {
            deleted(oldest)?;
        }
        Ok(paths.len())
    }
}

/// Waits for a transaction; an error names the node that stood in its way.
fn deleted((paths, pending): (&[&String], Pending<Vec<MultiResult>>)) -> Result<(), Error> {
    match pending.wait() {
        Ok(_) => Ok(()),
        Err(Error::Transaction { index, code }) => {
            let path = paths.get(index).map(|path| String::from(path.as_str())).unwrap_or_default();
            Err(Error::Refused { code, path })
        }
        Err(error) => Err(error),
    }
}
