//! Records of names, as the DNS serves them.

use objects_state::limits::ITEMS_PER_CALL;
use serde_json::{Value, json};

use crate::model::answer::{Answer, Refusal, bad_argument};
use crate::model::args::Args;
use crate::model::kind::{Cx, Kind, Step, View};

#[derive(Clone, Default)]
pub(super) struct Names {
    /// In the order of the names.
    names: Vec<(String, Vec<Value>)>,
}

fn name_of(name: &str) -> Result<String, Refusal> {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    if name.len() > 253 || !name.split('.').all(label) {
        return bad_argument();
    }
    Ok(name.to_ascii_lowercase())
}

/// A record with all its fields.
fn record_of(record: &Value) -> Result<Value, Refusal> {
    let text = |name: &str| record[name].as_str().map_or_else(bad_argument, Ok);
    let number = |name: &str| match record[name].as_i64() {
        Some(number @ 0..=65_535) => Ok(number),
        _ => bad_argument(),
    };
    // Its case is kept, as it is asked for.
    let target = || name_of(text("target")?).and_then(|_| text("target"));
    let Some(fields) = record.as_object() else { return bad_argument() };
    let ttl = match record.get("ttl") {
        None => 30,
        Some(ttl) => match ttl.as_i64() {
            Some(ttl @ 5..=3_600) => ttl,
            _ => return bad_argument(),
        },
    };
    let kind = text("type")?;
    let mut whole = match kind {
        "A" => {
            json!({ "address": text("address")?.parse::<std::net::Ipv4Addr>().map_or_else(|_| bad_argument(), Ok)?.to_string() })
        }
        "AAAA" => {
            json!({ "address": text("address")?.parse::<std::net::Ipv6Addr>().map_or_else(|_| bad_argument(), Ok)?.to_string() })
        }
        "SRV" => json!({
            "target": target()?, "priority": number("priority")?, "weight": number("weight")?,
            "port": number("port")?,
        }),
        "TXT" => {
            json!({ "text": Some(text("text")?).filter(|text| text.len() <= 255).map_or_else(bad_argument, Ok)? })
        }
        "CNAME" => json!({ "target": target()? }),
        _ => return bad_argument(),
    };
    whole["type"] = json!(kind);
    whole["ttl"] = json!(ttl);
    if fields.keys().any(|field| whole.get(field).is_none()) {
        return bad_argument();
    }
    Ok(whole)
}

impl Kind for Names {
    fn copy(&self) -> Box<dyn Kind> {
        Box::new(self.clone())
    }

    fn config(&self) -> Value {
        Value::Null
    }

    fn call(&mut self, _cx: &mut Cx<'_>, method: &str, args: &Args) -> Result<Step, Refusal> {
        let name = name_of(&args.the_text("name")?)?;
        let record = args.value("record")?.map(|record| record_of(&record)).transpose()?;
        let place = self.names.iter().position(|known| known.0 == name);
        let before = place.map(|place| self.names[place].1.clone()).unwrap_or_default();
        let mut records = before.clone();
        match (method, record) {
            ("set", Some(record)) => records = vec![record],
            ("add", Some(record)) if !records.contains(&record) => records.push(record),
            ("add", Some(_)) => {}
            ("remove", Some(record)) => records.retain(|known| *known != record),
            ("remove", None) => records.clear(),
            _ => return bad_argument(),
        }
        let (count, changed) = (records.len(), method == "set" || records != before);
        self.names.retain(|known| known.0 != name);
        if count > 0 {
            self.names.push((name, records));
            self.names.sort_by(|one, other| one.0.cmp(&other.0));
        }
        Ok(Step::Done(json!({ "records": count, "changed": changed })))
    }

    fn query(&self, _view: &View<'_>, _method: &str, args: &Args) -> Answer {
        if args.has("name") {
            let name = name_of(&args.the_text("name")?)?;
            let known = self.names.iter().find(|known| known.0 == name);
            return Ok(json!({ "records": known.map(|known| known.1.clone()).unwrap_or_default() }));
        }
        let after = args.text("after")?.map(|after| after.to_ascii_lowercase());
        let limit = args.count("limit", ITEMS_PER_CALL as usize)?;
        let behind = self.names.iter().filter(|known| after.as_ref().is_none_or(|after| known.0 > *after));
        let behind: Vec<_> = behind.collect();
        let shown = behind.iter().take(limit);
        let shown: Vec<_> =
            shown.map(|(name, records)| json!({ "name": name, "records": records })).collect();
        let next = shown.last().filter(|_| behind.len() > shown.len()).map(|last| last["name"].clone());
        Ok(json!({ "names": shown, "next": next }))
    }

    fn is_default(&self) -> bool {
        self.names.is_empty()
    }
}
