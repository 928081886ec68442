//! Tokens that come back at a rate, and of which the last taker may take more than are left: what changes of topics are
//! limited by.

use base::MonoTime;

use crate::rate::Windows;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct TokenBucket {
    tokens: f64,
    filled: MonoTime,
}

/// The longest wait, milliseconds.
const WAIT_MS_MAX: f64 = 3_600_000.0;

impl TokenBucket {
    /// A full one: what comes in all windows at that rate a second.
    #[must_use]
    pub fn full(rate: f64, windows: Windows, now: MonoTime) -> Self {
        Self { tokens: size(rate, windows), filled: now }
    }

    /// Takes tokens, more than there are if need be.
    pub fn take(&mut self, tokens: f64, rate: f64, windows: Windows, now: MonoTime) {
        self.fill(rate, windows, now);
        self.tokens -= tokens;
    }

    /// How long until tokens are left, milliseconds; 0 if none are owed.
    pub fn owed_ms(&mut self, rate: f64, windows: Windows, now: MonoTime) -> u64 {
        self.fill(rate, windows, now);
        if self.tokens >= 0.0 {
            return 0;
        }
        let ms = -self.tokens / rate * 1_000.0;
        if ms.is_finite() { ms.round().clamp(1.0, WAIT_MS_MAX) as u64 } else { windows.span_ms() }
    }

    /// Whether it is as full as a new one.
    pub fn is_idle(&mut self, rate: f64, windows: Windows, now: MonoTime) -> bool {
        self.fill(rate, windows, now);
        self.tokens >= size(rate, windows)
    }

    fn fill(&mut self, rate: f64, windows: Windows, now: MonoTime) {
        let more = rate * now.since(self.filled) as f64 / 1_000.0;
        self.tokens = (self.tokens + more).min(size(rate, windows));
        self.filled = now;
    }
}

fn size(rate: f64, windows: Windows) -> f64 {
    rate * windows.span_ms() as f64 / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_taker_may_take_more_than_is_left_and_is_waited_for() {
        let (windows, at) = (Windows::default(), MonoTime::of_ms);
        let mut bucket = TokenBucket::full(2.0, windows, at(0));
        bucket.take(20.0, 2.0, windows, at(0));
        assert_eq!(bucket.owed_ms(2.0, windows, at(0)), 0);
        bucket.take(10.0, 2.0, windows, at(0));
        assert_eq!(bucket.owed_ms(2.0, windows, at(0)), 4_000);
        assert_eq!(bucket.owed_ms(2.0, windows, at(3_999)), 1);
        assert_eq!(bucket.owed_ms(2.0, windows, at(4_000)), 0);
        assert!(!bucket.is_idle(2.0, windows, at(4_000)) && bucket.is_idle(2.0, windows, at(15_001)));
    }
}
