//! How fast connections may come in.

use base::MonoTime;

/// A bucket of tokens, of which each new connection takes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionThrottle {
    /// Tokens that the bucket holds.
    pub tokens: u32,
    /// How often it is refilled.
    pub fill_interval_ms: u32,
    /// Tokens added each time.
    pub fill_count: u32,
}

/// Tokens for new connections, refilled over time.
pub(crate) struct TokenBucket {
    config: ConnectionThrottle,
    tokens: u32,
    filled: MonoTime,
}

impl TokenBucket {
    pub(crate) fn new(config: ConnectionThrottle, now: MonoTime) -> Self {
        Self { config, tokens: config.tokens, filled: now }
    }

    pub(crate) fn take(&mut self, now: MonoTime) -> bool {
        let interval = u64::from(self.config.fill_interval_ms.max(1));
        let fills = now.since(self.filled) / interval;
        self.filled = self.filled.plus_ms(fills * interval);
        let filled = u64::from(self.tokens) + fills.saturating_mul(u64::from(self.config.fill_count));
        self.tokens = u32::try_from(filled.min(u64::from(self.config.tokens))).unwrap_or(u32::MAX);
        let has_one = self.tokens > 0;
        self.tokens = self.tokens.saturating_sub(1);
        has_one
    }

    /// How many tokens the bucket has room for.
    pub(crate) fn deficit(&self) -> u64 {
        u64::from(self.config.tokens.saturating_sub(self.tokens))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_back_over_time_up_to_the_bucket() {
        let config = ConnectionThrottle { tokens: 2, fill_interval_ms: 10, fill_count: 1 };
        let mut bucket = TokenBucket::new(config, MonoTime::ZERO);
        assert!(
            bucket.take(MonoTime::of_ms(0))
                && bucket.take(MonoTime::of_ms(0))
                && !bucket.take(MonoTime::of_ms(9))
        );
        assert_eq!(bucket.deficit(), 2);
        assert!(bucket.take(MonoTime::of_ms(10)) && !bucket.take(MonoTime::of_ms(19)));
        assert!(
            bucket.take(MonoTime::of_ms(1000))
                && bucket.take(MonoTime::of_ms(1000))
                && !bucket.take(MonoTime::of_ms(1000))
        );
    }
}
