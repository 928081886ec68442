//! Counts hits, and refuses to count further than it can.

use diwan_object::serde_json::Value;
use diwan_object::{Refused, export};
use serde::{Deserialize, Serialize};

struct Hits {
    count: i64,
}

#[derive(Deserialize, Serialize)]
struct Count {
    count: i64,
}

impl Hits {
    fn new(start: Option<i64>) -> Self {
        Self { count: start.unwrap_or(0) }
    }

    fn hit(&mut self, by: Option<i64>) -> Result<Count, Refused> {
        let sum = self.count.checked_add(by.unwrap_or(1));
        self.count = sum.ok_or_else(|| Refused::new("overflow", "more hits than can be counted"))?;
        Ok(self.get())
    }

    fn get(&self) -> Count {
        Count { count: self.count }
    }

    fn save(&self) -> Count {
        self.get()
    }

    /// Any earlier version that saved a count will do.
    fn migrate(_description: Value, state: Count) -> Self {
        Self { count: state.count }
    }
}

export!(Hits as "hits" {
    new(start: Option<i64>);
    command hit(by: Option<i64>);
    query get();
    event save();
    event migrate(description: Value, state: Count);
});
