//! The thread that answers four-letter words, for a shard that asked the others itself could wait for ever: they may
//! be asking it. It also looks after changed key files.

use node_threads::Mailbox;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use crate::four_letter_words::{Word, dispatch};
use crate::inspect::Inspect;
use crate::messages::{ShardMail, WordRequest};
use net_tls::TlsContext;

/// How often key files are looked at.
const RELOAD_INTERVAL: Duration = Duration::from_secs(2);

/// Answers words until nobody can ask any more.
pub(crate) fn run(
    requests: &Receiver<WordRequest>,
    server: &dyn Inspect,
    shards: &[Arc<Mailbox<ShardMail>>],
    tls: Option<&TlsContext>,
) {
    loop {
        match requests.recv_timeout(RELOAD_INTERVAL) {
            Ok(request) => answer(request, server, shards),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if let Some(context) = tls.filter(|context| context.reloads()) {
            reload(context);
        }
    }
}

fn answer(request: WordRequest, server: &dyn Inspect, shards: &[Arc<Mailbox<ShardMail>>]) {
    let WordRequest { shard, conn, word, argument } = request;
    let text =
        Word::from_bytes(word).map_or_else(String::new, |word| dispatch::answer(word, argument, server));
    if let Some(shard) = shards.get(usize::from(shard)) {
        shard.put(ShardMail::Word { conn, text: text.into_bytes(), last: true });
    }
}

fn reload(context: &TlsContext) {
    match context.reload_if_changed() {
        Ok(true) => tracing::info!("certificates were read anew: connections that begin now use them"),
        Ok(false) => {}
        Err(error) => {
            tracing::error!(%error, "changed certificates cannot be used; those read before stay in force");
        }
    }
}
