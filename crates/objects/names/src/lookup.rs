//! From a query to the records that answer it: aliases followed, what leads elsewhere accompanied by its addresses.

use hickory_proto::op::ResponseCode;
use hickory_proto::rr::rdata::HINFO;
use hickory_proto::rr::{Name, RData, Record, RecordType};

use crate::found::Found;
use crate::place::Place;
use crate::query::Query;
use crate::records::{NEGATIVE_TTL, Reader, soa};
use crate::view::View;
use crate::zone::Zone;

/// So many aliases are followed in a row.
pub const HOPS_MAX: usize = 8;
const ANY_TTL: u32 = 60;

/// Looks a query up. Without a view it cannot be answered here. Records begin with another one for each `rotation`.
#[must_use]
pub fn look_up(zone: &Zone, query: &Query, view: Option<&View<'_>>, rotation: u32) -> Found {
    let found = Found {
        code: ResponseCode::NoError,
        answers: Vec::new(),
        authorities: Vec::new(),
        additionals: Vec::new(),
    };
    let Some(view) = view else { return Found { code: ResponseCode::ServFail, ..found } };
    let mut search = Search { reader: Reader { zone, view, rotation }, found };
    search.follow(query.name().clone(), query.kind());
    search.accompany();
    search.found
}

struct Search<'a> {
    reader: Reader<'a>,
    found: Found,
}

impl Search<'_> {
    /// Answers with the records of a name, or follows it where it is an alias.
    fn follow(&mut self, mut name: Name, kind: RecordType) {
        for _ in 0..HOPS_MAX {
            let Some(place) = self.reader.zone.inside(&name).map(|labels| Place::of(&labels)) else {
                return;
            };
            let Some(records) = self.reader.records(&place, kind) else {
                self.found.code = ResponseCode::NXDomain;
                return self.negative();
            };
            let alias = records.iter().find_map(|(ttl, data)| match data {
                RData::CNAME(target) => Some((*ttl, target.clone())),
                _ => None,
            });
            match alias {
                Some((ttl, target)) => {
                    let own = core::mem::replace(&mut name, target.0.clone());
                    self.found.answers.push(Record::from_rdata(own, ttl, RData::CNAME(target)));
                    // What is asked for is the alias itself, or it leads where it was before.
                    let is_known = self.found.answers.iter().any(|record| record.name == name);
                    if matches!(kind, RecordType::CNAME | RecordType::ANY) || is_known {
                        return;
                    }
                }
                None if kind == RecordType::ANY => {
                    let data = RData::HINFO(HINFO::new(String::from("RFC8482"), String::new()));
                    return self.found.answers.push(Record::from_rdata(name, ANY_TTL, data));
                }
                None if records.is_empty() => return self.negative(),
                None => {
                    let record = |(ttl, data)| Record::from_rdata(name.clone(), ttl, data);
                    return self.found.answers.extend(records.into_iter().map(record));
                }
            }
        }
    }

    /// Says for how long it may be kept that there is nothing.
    fn negative(&mut self) {
        let data = soa(&self.reader);
        let name = self.reader.zone.name().clone();
        self.found.authorities.extend(data.map(|data| Record::from_rdata(name, NEGATIVE_TTL, data)));
    }

    /// Adds the addresses of what the answers lead to, if they are of this zone.
    fn accompany(&mut self) {
        let mut targets: Vec<Name> = Vec::new();
        for answer in &self.found.answers {
            let target = match &answer.data {
                RData::SRV(service) => &service.target,
                RData::NS(server) => &server.0,
                _ => continue,
            };
            if !targets.contains(target) {
                targets.push(target.clone());
            }
        }
        for target in targets {
            let Some(place) = self.reader.zone.inside(&target).map(|labels| Place::of(&labels)) else {
                continue;
            };
            for kind in [RecordType::A, RecordType::AAAA] {
                for (ttl, data) in self.reader.records(&place, kind).unwrap_or_default() {
                    if data.record_type() == kind {
                        self.found.additionals.push(Record::from_rdata(target.clone(), ttl, data));
                    }
                }
            }
        }
    }
}
