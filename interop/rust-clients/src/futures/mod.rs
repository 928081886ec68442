//! The crate `zookeeper-client`: futures, watchers as values, a lock recipe.

mod deaths;
mod locks;
mod nodes;
mod outage;
mod sessions;
mod transactions;
mod watches;

use std::io::Read;
use std::time::Duration;

use tokio::runtime::Runtime;
use zookeeper_client::{Acls, Client, CreateMode, CreateOptions, Error, SessionState, Stat};

use crate::harness::{Test, WAIT, connect, members_die};

const OPEN: CreateOptions<'static> = CreateMode::Persistent.with_acls(Acls::anyone_all());
const EPHEMERAL: CreateOptions<'static> = CreateMode::Ephemeral.with_acls(Acls::anyone_all());

pub fn tests() -> Vec<Test> {
    [
        nodes::tests(),
        transactions::tests(),
        watches::tests(),
        locks::tests(),
        sessions::tests(),
        outage::tests(),
        if members_die() { deaths::tests() } else { Vec::new() },
    ]
    .concat()
}

/// One test's client, and its empty node.
struct Context {
    zk: Client,
    path: String,
}

/// Runs one test on a runtime of its own.
fn run<F: Future<Output = ()>>(body: fn(Context) -> F, path: &str) {
    let runtime = Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let zk = client().await;
        made(async || zk.mkdir(path, &OPEN).await).await;
        body(Context { zk, path: path.to_owned() }).await;
    });
    runtime.shutdown_background();
}

async fn client() -> Client {
    client_at(&connect(), 10_000).await
}

async fn client_at(address: &str, timeout_ms: u64) -> Client {
    let connector = Client::connector().with_session_timeout(Duration::from_millis(timeout_ms));
    connector.connect(address).await.expect("a connection")
}

async fn authenticated(user: &str) -> Client {
    Client::connector().with_auth("digest", user.as_bytes()).connect(&connect()).await.expect("a connection")
}

/// Fails when the future takes too long.
async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(WAIT, future).await {
        Ok(value) => value,
        Err(_) => panic!("waited {WAIT:?} for {what}"),
    }
}

impl Context {
    fn at(&self, name: &str) -> String {
        format!("{}/{name}", self.path)
    }

    async fn node(&self, name: &str, data: &str) -> String {
        self.zk.create(&self.at(name), data.as_bytes(), &OPEN).await.expect("a node");
        self.at(name)
    }

    async fn stat(&self, name: &str) -> Option<Stat> {
        self.zk.check_stat(&self.at(name)).await.expect("exists")
    }

    async fn data(&self, name: &str) -> String {
        String::from_utf8(self.zk.get_data(&self.at(name)).await.expect("data").0).expect("text")
    }

    /// Waits until the node is gone.
    async fn gone(&self, name: &str) {
        soon(&format!("the end of {name}"), async {
            loop {
                let (stat, watcher) = self.zk.check_and_watch_stat(&self.at(name)).await.expect("exists");
                if stat.is_none() {
                    return;
                }
                watcher.changed().await;
            }
        })
        .await;
    }
}

/// Waits until the client is in this state.
async fn state(watcher: &mut zookeeper_client::StateWatcher, expected: SessionState) {
    soon(&expected.to_string(), async { while watcher.changed().await != expected {} }).await;
}

/// Makes a node whatever happens; one that is there already is the one of the first try.
async fn made<T>(mut create: impl AsyncFnMut() -> Result<T, Error>) {
    loop {
        match create().await {
            Ok(_) | Err(Error::NodeExists) => return,
            Err(error) if members_die() && is_lost(&error) => {}
            Err(error) => panic!("the test's node: {error}"),
        }
    }
}

/// Whether nobody knows if a request was heard. A connection that is reset shows as the system's own error.
fn is_lost(error: &Error) -> bool {
    matches!(error, Error::ConnectionLoss | Error::Custom(_))
}

/// Repeats what the loss of a connection interrupted.
async fn retried<T, F: Future<Output = Result<T, Error>>>(mut request: impl FnMut() -> F) -> T {
    soon("an answer", async {
        loop {
            match request().await {
                Ok(value) => return value,
                Err(error) if is_lost(&error) => {}
                Err(error) => panic!("failed: {error}"),
            }
        }
    })
    .await
}

/// A client in a process of its own that can be stopped like one that hangs: it prints `ready` when
/// its ephemeral stands, then each state of its session, and ends with its input.
pub fn held(path: &str) {
    let runtime = Runtime::new().expect("a runtime");
    let zk = runtime.block_on(client_at(&connect(), 1_000));
    runtime.block_on(zk.create(path, b"", &EPHEMERAL)).expect("an ephemeral");
    println!("ready");
    let mut watcher = zk.state_watcher();
    runtime.spawn(async move {
        loop {
            let state = watcher.changed().await;
            println!("{state}");
            if state.is_terminated() {
                return;
            }
        }
    });
    let _ = std::io::stdin().read(&mut [0]);
}
