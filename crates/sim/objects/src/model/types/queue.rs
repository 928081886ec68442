//! A queue of items with priorities, delays and leases.

use objects_state::SessionId;
use objects_state::limits::{ENTRIES, ENTRIES_MAX, ITEMS_PER_CALL};
use serde_json::{Value, json};

use crate::model::answer::{Answer, Refusal, bad_argument, refuse};
use crate::model::args::{Args, the};
use crate::model::kind::{Cx, Holding, Kind, LEASE, Step, View, Waiter};

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Ready,
    Delayed { until: i64 },
    Leased { session: SessionId, until: i64, lease_ms: i64 },
    Dead,
}

#[derive(Clone)]
struct Item {
    id: u64,
    item: Value,
    priority: i64,
    attempt: i64,
    place: Place,
}

impl Item {
    const fn is_leased(&self) -> bool {
        matches!(self.place, Place::Leased { .. })
    }
}

#[derive(Clone)]
pub(super) struct Queue {
    capacity: i64,
    priority: bool,
    max_attempts: i64,
    /// In the order in which they are taken: by priority, then by id.
    items: Vec<Item>,
}

/// The longest delay and the longest lease.
const DELAY_MS_MAX: i64 = 366 * 24 * 3_600_000;

impl Queue {
    pub(super) fn new(args: &Args) -> Result<Self, Refusal> {
        Ok(Self {
            capacity: args.int_in("capacity", 1, ENTRIES_MAX)?.unwrap_or(ENTRIES),
            priority: args.flag("priority")?.unwrap_or(false),
            max_attempts: args.int_in("max_attempts", 0, i64::from(u32::MAX))?.unwrap_or(0),
            items: Vec::new(),
        })
    }

    fn size(&self) -> i64 {
        self.items.iter().filter(|item| item.place != Place::Dead).count() as i64
    }

    fn insert(&mut self, id: u64, now_ms: i64, wants: &Value) -> Value {
        let delay_ms = wants["delay_ms"].as_i64().unwrap_or(0);
        let place = match delay_ms {
            0 => Place::Ready,
            ms => Place::Delayed { until: now_ms.saturating_add(ms) },
        };
        let priority = wants["priority"].as_i64().unwrap_or(0);
        self.items.push(Item { id, item: wants["item"].clone(), priority, attempt: 0, place });
        self.items.sort_by_key(|item| (std::cmp::Reverse(item.priority), item.id));
        json!({ "id": id })
    }

    fn put(&mut self, cx: &Cx<'_>, args: &Args) -> Result<Step, Refusal> {
        let item = args.the_value("item")?;
        let priority = args.int("priority")?;
        let delay_ms = args.int_in("delay_ms", 0, DELAY_MS_MAX)?.unwrap_or(0);
        if priority.is_some() && !self.priority {
            return bad_argument();
        }
        let wants = json!({ "item": item, "priority": priority, "delay_ms": delay_ms });
        if self.size() < self.capacity && !cx.is_waiting(&["put"]) {
            return Ok(Step::Done(self.insert(cx.position, cx.now_ms, &wants)));
        }
        if cx.is_try { refuse("queue-full") } else { Ok(Step::Wait(wants)) }
    }

    fn take(&mut self, cx: &Cx<'_>, args: &Args) -> Result<Step, Refusal> {
        let n = args.count("n", 1)?;
        let lease_ms = args.int_in("lease_ms", 1, DELAY_MS_MAX)?;
        if lease_ms.is_some() {
            cx.owner()?;
        }
        let wants = json!({ "n": n, "lease_ms": lease_ms });
        let is_ready = self.items.iter().any(|item| item.place == Place::Ready);
        if is_ready && !cx.is_waiting(&["take"]) {
            return Ok(Step::Done(self.give(cx.now_ms, cx.session, &wants)));
        }
        Ok(Step::Wait(wants))
    }

    fn give(&mut self, now_ms: i64, session: Option<SessionId>, wants: &Value) -> Value {
        let n = wants["n"].as_u64().unwrap_or(1) as usize;
        let lease = session.zip(wants["lease_ms"].as_i64());
        let mut given = Vec::new();
        for item in self.items.iter_mut().filter(|item| item.place == Place::Ready).take(n) {
            item.attempt += 1;
            given.push(shown(item));
            item.place = match lease {
                Some((session, lease_ms)) => {
                    Place::Leased { session, until: now_ms.saturating_add(lease_ms), lease_ms }
                }
                // It is gone.
                None => Place::Delayed { until: i64::MIN },
            };
        }
        self.items.retain(|item| item.place != Place::Delayed { until: i64::MIN });
        json!({ "items": given })
    }

    /// An item comes back, or is given up.
    fn give_back(&mut self, id: u64, until: Option<i64>) {
        let max_attempts = self.max_attempts;
        for item in self.items.iter_mut().filter(|item| item.id == id) {
            let is_spent = max_attempts > 0 && item.attempt >= max_attempts;
            item.place = match until {
                _ if is_spent => Place::Dead,
                Some(until) => Place::Delayed { until },
                None => Place::Ready,
            };
        }
        self.bury();
    }

    /// No more dead items are kept than the queue may have others: the oldest one goes.
    fn bury(&mut self) {
        let dead = |queue: &Self| {
            let ids = queue.items.iter().filter(|item| item.place == Place::Dead).map(|item| item.id);
            ids.collect::<Vec<_>>()
        };
        while dead(self).len() as i64 > self.capacity {
            let oldest = dead(self).into_iter().min();
            self.items.retain(|item| Some(item.id) != oldest);
        }
    }

    /// Items that the caller has leases of: all of them or none.
    fn leased(&self, cx: &Cx<'_>, args: &Args) -> Result<Vec<u64>, Refusal> {
        let mut ids = args.ids("ids")?;
        let Some(session) = cx.session else { return refuse("not-leased") };
        let is_own = |id: &u64| {
            let own = |item: &&Item| matches!(item.place, Place::Leased { session: by, .. } if by == session);
            self.items.iter().any(|item| item.id == *id && own(&item))
        };
        if !ids.iter().all(is_own) {
            return refuse("not-leased");
        }
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }
}

fn shown(item: &Item) -> Value {
    json!({ "id": item.id, "item": item.item, "attempt": item.attempt })
}

impl Kind for Queue {
    fn copy(&self) -> Box<dyn Kind> {
        Box::new(self.clone())
    }

    fn config(&self) -> Value {
        json!([self.capacity, self.priority, self.max_attempts])
    }

    fn call(&mut self, cx: &mut Cx<'_>, method: &str, args: &Args) -> Result<Step, Refusal> {
        let result = match method {
            "put" => return self.put(cx, args),
            "take" => return self.take(cx, args),
            "ack" => {
                let ids = self.leased(cx, args)?;
                self.items.retain(|item| !ids.contains(&item.id));
                json!({ "acked": ids.len() })
            }
            "nack" => {
                let delay_ms = args.int_in("delay_ms", 0, DELAY_MS_MAX)?.unwrap_or(0);
                let ids = self.leased(cx, args)?;
                let until = (delay_ms > 0).then(|| cx.now_ms.saturating_add(delay_ms));
                ids.iter().for_each(|id| self.give_back(*id, until));
                json!({ "nacked": ids.len() })
            }
            "extend" => {
                let ids = self.leased(cx, args)?;
                for item in self.items.iter_mut().filter(|item| ids.contains(&item.id)) {
                    if let Place::Leased { until, lease_ms, .. } = &mut item.place {
                        *until = cx.now_ms.saturating_add(*lease_ms);
                    }
                }
                json!({ "extended": ids.len() })
            }
            "replace" => {
                let (id, value) = (args.the_position("id")?, args.the_value("item")?);
                // What is leased is its holder's, and what is dead stays as it was.
                let is_free =
                    |item: &&mut Item| item.id == id && !item.is_leased() && item.place != Place::Dead;
                let found = self.items.iter_mut().find(is_free);
                let replaced = found.map(|item| item.item = value).is_some();
                json!({ "replaced": replaced })
            }
            _ => {
                let id = the(args.position("id")?)?;
                let before = self.items.len();
                self.items.retain(|item| item.id != id || item.is_leased());
                json!({ "removed": self.items.len() < before })
            }
        };
        Ok(Step::Done(result))
    }

    fn query(&self, _view: &View<'_>, method: &str, args: &Args) -> Answer {
        let count = |is: fn(&Place) -> bool| self.items.iter().filter(|item| is(&item.place)).count();
        Ok(match method {
            "peek" => {
                let n = args.count("n", 1)?;
                let ready = self.items.iter().filter(|item| item.place == Place::Ready);
                json!({ "items": ready.take(n).map(shown).collect::<Vec<_>>() })
            }
            "list" => {
                let after = args.position("after")?.unwrap_or(0);
                let limit = args.count("limit", ITEMS_PER_CALL as usize)?;
                let is_listed = |item: &&Item| item.id > after && item.place != Place::Dead;
                let mut all: Vec<_> = self.items.iter().filter(is_listed).collect();
                all.sort_by_key(|item| item.id);
                let some: Vec<_> = all.iter().take(limit).collect();
                let next = some.last().filter(|_| all.len() > some.len()).map(|item| item.id);
                json!({ "items": some.into_iter().map(|item| shown(item)).collect::<Vec<_>>(), "next": next })
            }
            "size" => json!({
                "size": self.size(),
                "ready": count(|place| *place == Place::Ready),
                "delayed": count(|place| matches!(place, Place::Delayed { .. })),
                "leased": count(|place| matches!(place, Place::Leased { .. })),
                "dead": count(|place| *place == Place::Dead),
            }),
            _ => {
                let limit = args.count("limit", ITEMS_PER_CALL as usize)?;
                let mut dead: Vec<_> = self.items.iter().filter(|item| item.place == Place::Dead).collect();
                dead.sort_by_key(|item| item.id);
                json!({ "items": dead.into_iter().take(limit).map(shown).collect::<Vec<_>>() })
            }
        })
    }

    fn settle(&mut self, cx: &mut Cx<'_>) {
        loop {
            let is_ready = self.items.iter().any(|item| item.place == Place::Ready);
            if is_ready && let Some(place) = cx.first(&["take"]) {
                let waiter = &cx.waiters[place];
                let (session, wants) = (waiter.asker.session, waiter.wants.clone());
                let result = self.give(cx.now_ms, session, &wants);
                cx.end(place, Ok(result));
            } else if self.size() < self.capacity
                && let Some(place) = cx.first(&["put"])
            {
                let (id, wants) = (cx.waiters[place].ticket, cx.waiters[place].wants.clone());
                let result = self.insert(id, cx.now_ms, &wants);
                cx.end(place, Ok(result));
            } else {
                return;
            }
        }
    }

    fn missed(&self, _view: &View<'_>, method: &str, _wants: &Value) -> Value {
        if method == "put" { json!({ "id": null }) } else { json!({ "items": [] }) }
    }

    fn timers(&self, _waiters: &[Waiter]) -> Vec<(i64, String)> {
        let timer = |item: &Item| match item.place {
            Place::Delayed { until } | Place::Leased { until, .. } => Some((until, item.id.to_string())),
            _ => None,
        };
        self.items.iter().filter_map(timer).collect()
    }

    fn due(&mut self, _cx: &mut Cx<'_>, timer: &str) {
        let Ok(id) = timer.parse() else { return };
        let is_delayed = |item: &&mut Item| item.id == id && matches!(item.place, Place::Delayed { .. });
        if let Some(item) = self.items.iter_mut().find(is_delayed) {
            item.place = Place::Ready;
        } else {
            self.give_back(id, None);
        }
    }

    fn holdings(&self) -> Vec<Holding> {
        let holding = |item: &Item| match item.place {
            Place::Leased { session, .. } => Some(Holding { class: LEASE, position: item.id, session }),
            _ => None,
        };
        self.items.iter().filter_map(holding).collect()
    }

    fn lose(&mut self, _cx: &mut Cx<'_>, lost: &Holding, _expired: bool) {
        self.give_back(lost.position, None);
    }

    fn limits(&self) -> Vec<(&'static str, &'static str, i64)> {
        vec![("size", "size", self.capacity)]
    }

    fn is_default(&self) -> bool {
        self.items.is_empty()
    }
}
