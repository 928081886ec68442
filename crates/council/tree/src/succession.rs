//! A restore: a tree from an older snapshot replaces a newer tree. Later changes are lost, but the zxids, generations
//! and session ids that were assigned since must not be assigned again.

use council_wire::Zxid;

use crate::Tree;
use crate::path::CONFIG;

impl Tree {
    /// Goes on where `before` is. The configuration of the ensemble stays that of `before`, too: a snapshot may come from
    /// another one.
    pub fn succeed(&mut self, before: &Self) {
        self.zxid = self.zxid.max(before.zxid);
        self.feature_level = self.feature_level.max(before.feature_level);
        self.births.rise(&before.births);
        for (&id, known) in &before.sessions {
            if self.sessions.contains_key(&id) {
                self.update_session(id, |session| {
                    session.generation = session.generation.max(known.generation)
                });
            }
        }
        self.config_version = before.config_version;
        let config =
            |tree: &Self| tree.hash_of(CONFIG).and_then(|hash| Some((tree.find(CONFIG, hash.key)?, hash)));
        let (Some((slot, hash)), Some((theirs, _))) = (config(self), config(before)) else { return };
        let value = before.arena.node(theirs).value.as_bytes();
        let grown = value.map_or(0, <[u8]>::len) as i64 - self.arena.node(slot).value.len() as i64;
        self.update(slot, hash, |node| node.set_data(value));
        self.data_size += grown;
    }

    /// Goes on so many epochs later: transactions that this tree knows nothing of may have been given zxids in between.
    pub fn skip_epochs(&mut self, epochs: u32) {
        self.zxid = Zxid::new(self.zxid.epoch().saturating_add(epochs), 0);
    }
}
