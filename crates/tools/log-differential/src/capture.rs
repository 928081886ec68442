//! Writes what the real broker was asked and answered: one small text file an API, with a request and a reply in each version,
//! as bytes and in words.
//!
//! `# ` begins a comment; `version N`, then `request` and `response` with a frame in hexadecimal, without its length. The
//! indented line below says the same for people. Ids and times are as they came.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use tools_testbed::PeerError;

use crate::hex::to_hex;
use crate::pair::{self, Contestants};
use crate::play::{Exchange, Seen, Stage, codes, play};
use crate::run::scripts;
use crate::schema::{Schemas, decode_body};
use crate::script::{Fixture, Script};
use crate::served::Served;

/// A dialogue is read by people: the longest below this is taken.
const BYTES_MAX: usize = 1_200;

/// One exchange for each API, by its number, and version.
type Chosen = BTreeMap<(i16, i16), Exchange>;

/// See the module; returns the number of files.
///
/// # Errors
/// The broker does not start, or a file cannot be written.
pub fn capture(
    contestants: &Contestants,
    seed: u64,
    workers: usize,
    folder: &Path,
) -> Result<usize, PeerError> {
    let Contestants { software, schemas, deadline, .. } = contestants;
    let broker = pair::start(&software[0], contestants.folder.clone(), false)?;
    let served = Served::ask(schemas, broker.address(), *deadline).map_err(pair::failed)?;
    let addresses = [broker.address()];
    let runs = AtomicU64::new(1);
    let stage = || Stage {
        schemas,
        addresses: &addresses,
        cluster: None,
        deadline: *deadline,
        run: runs.fetch_add(1, Ordering::Relaxed),
        now: pair::now(),
    };
    play(&pair::first_answers(&served, schemas, Fixture::Alone), &stage()).map_err(pair::failed)?;
    let (all, _) = scripts(seed, 1, (&served, schemas), |_| true);
    let all: Vec<_> = all.into_iter().filter(|script| script.fixture == Fixture::Alone).collect();
    let (next, chosen) = (AtomicUsize::new(0), Mutex::new(Chosen::new()));
    let work = || -> Result<(), PeerError> {
        while let Some(script) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            let record = play(script, &stage()).map_err(pair::failed)?;
            let mut chosen = chosen.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            choose(&mut chosen, schemas, script, record.steps);
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..workers.max(1)).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or(Ok(())))
    })?;
    let chosen = chosen.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    write(schemas, &chosen, folder)
}

fn choose(chosen: &mut Chosen, schemas: &Schemas, script: &Script, steps: Vec<Seen>) {
    for (call, seen) in script.asked().into_iter().zip(steps) {
        let (Some(call), Seen::Reply(exchange)) = (call, seen) else { continue };
        let Some(api) = schemas.named(&call.api).filter(|_| call.spoil.is_none()) else { continue };
        let place = chosen.entry((api.key, call.version));
        place
            .and_modify(|best| {
                if worth(&exchange) > worth(best) {
                    *best = exchange.clone();
                }
            })
            .or_insert(exchange);
    }
}

/// Without errors, then short enough, then long.
fn worth(exchange: &Exchange) -> (bool, bool, i64) {
    let bytes = exchange.request.len() + exchange.response.len();
    let is_short = bytes <= BYTES_MAX;
    let length = i64::try_from(bytes).unwrap_or(i64::MAX);
    (codes(&exchange.body).iter().all(|code| *code == 0), is_short, if is_short { length } else { -length })
}

fn write(schemas: &Schemas, chosen: &Chosen, folder: &Path) -> Result<usize, PeerError> {
    fs::create_dir_all(folder).map_err(PeerError::io(folder))?;
    let mut files: BTreeMap<&str, String> = BTreeMap::new();
    for ((key, version), exchange) in chosen {
        let Some(api) = schemas.api(*key) else { continue };
        let text = files.entry(&api.name).or_insert_with(|| {
            format!(
                "# {}: what a real Apache Kafka 4.3.1 was asked and answered in each version.\n",
                api.name
            )
        });
        let flexible = api.request.flexible.has(*version);
        let body = body(&exchange.request, flexible);
        let asked = decode_body(&api.request, *version, body);
        let asked = asked.map_or_else(|unfit| unfit.to_string(), |body| body.to_string());
        let _ = write!(
            text,
            "\nversion {version}\nrequest {}\n  {asked}\nresponse {}\n  {}\n",
            to_hex(&exchange.request),
            to_hex(&exchange.response),
            exchange.body
        );
    }
    for (name, text) in &files {
        let file = folder.join(name).with_extension("txt");
        fs::write(&file, text).map_err(PeerError::io(file))?;
    }
    Ok(files.len())
}

/// A request without its header: API, version, correlation id, client id, and in flexible versions no tagged fields.
fn body(request: &[u8], flexible: bool) -> &[u8] {
    let length = request.get(8..10).map_or(0, |length| i16::from_be_bytes([length[0], length[1]]));
    let start = 10 + usize::try_from(length).unwrap_or(0) + usize::from(flexible);
    request.get(start..).unwrap_or_default()
}
