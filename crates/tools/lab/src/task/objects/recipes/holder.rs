//! Who holds a lock, as grants and releases tell it.

/// What the grants so far come to.
#[derive(Debug, Default)]
pub(super) struct Holder {
    who: Option<usize>,
    fence: u64,
    /// How many grants there were.
    pub(super) grants: u64,
}

impl Holder {
    /// A client has the lock.
    pub(super) fn granted(&mut self, place: usize, fence: Option<u64>) -> Result<(), String> {
        let before = self.fence;
        self.fence = fence.unwrap_or(before);
        self.grants += 1;
        if let Some(other) = self.who.replace(place) {
            return Err(format!("client {place} got the lock while client {other} held it"));
        }
        match fence {
            Some(fence) if fence > before => Ok(()),
            Some(fence) => Err(format!("fence {fence} was granted behind {before}")),
            None => Err(format!("client {place} got the lock without a fence")),
        }
    }

    /// A client gives the lock back.
    pub(super) fn releases(&mut self, place: usize) {
        if self.who == Some(place) {
            self.who = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holders_come_one_behind_the_other_with_rising_fences() {
        let mut holder = Holder::default();
        holder.granted(0, Some(3)).expect("nobody held it");
        holder.releases(0);
        holder.granted(1, Some(4)).expect("nobody held it");
        let second = holder.granted(2, Some(5)).expect_err("1 holds it");
        assert!(second.contains("while client 1 held it"), "{second}");
        // What 1 gives back is not 2's.
        holder.releases(1);
        assert!(holder.granted(3, Some(6)).is_err());
        holder.releases(3);
        let lower = holder.granted(0, Some(6)).expect_err("6 was granted before");
        assert_eq!(lower, "fence 6 was granted behind 6");
        holder.releases(0);
        assert!(holder.granted(0, None).is_err());
        assert_eq!(holder.grants, 6);
    }
}
