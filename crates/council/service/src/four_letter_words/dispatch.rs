//! From a word to its answer.

use std::fmt::Write as _;

use super::{Word, render};
use crate::ensemble::EnsembleView;
use crate::inspect::Inspect;
use crate::metrics::flat;
use crate::version::version;

/// The answer to a word that is allowed. `argument` is what followed `stmk`.
pub(crate) fn answer(word: Word, argument: Option<i64>, server: &dyn Inspect) -> String {
    match word {
        Word::Ruok => String::from("imok"),
        Word::Envi => render::envi(&server.environment()),
        Word::Gtmk => server.trace_mask().to_string(),
        Word::Stmk => argument.map_or_else(String::new, |mask| {
            server.set_trace_mask(mask);
            mask.to_string()
        }),
        Word::Isro if !server.is_serving() => String::from("null"),
        _ if !server.is_serving() => String::from(render::NOT_SERVING),
        word => of_the_tree(word, server),
    }
}

/// The answer to a word that is answered only while clients are served.
fn of_the_tree(word: Word, server: &dyn Inspect) -> String {
    match word {
        Word::Conf => render::conf(&server.configuration()),
        Word::Cons => render::cons(&server.connections()),
        Word::Crst => {
            server.reset_connection_statistics();
            String::from("Connection stats reset.\n")
        }
        Word::Srst => {
            server.reset_server_statistics();
            String::from("Server stats reset.\n")
        }
        Word::Dirs => render::dirs(&server.configuration()),
        Word::Dump => render::dump(&server.dump()),
        Word::Isro => String::from("rw"),
        Word::Mntr => mntr(server),
        Word::Srvr => render::srvr(version(), &server.server()),
        Word::Stat => render::stat(version(), &server.server(), &server.connections()),
        Word::Wchc => render::wchc(&server.watches()),
        Word::Wchp => render::wchp(&server.watches()),
        Word::Wchs => render::wchs(server.watch_summary()),
        Word::Hash => render::hash(&server.digests()),
        Word::Ruok | Word::Envi | Word::Gtmk | Word::Stmk => String::new(),
    }
}

fn mntr(server: &dyn Inspect) -> String {
    let mut out = format!("zk_version\t{}\nzk_server_state\t{}\n", version(), server.server().mode);
    for (name, value) in server.ensemble().iter().flat_map(EnsembleView::monitor) {
        let _ = writeln!(out, "zk_{name}\t{value}");
    }
    flat::mntr(&server.samples(), &mut out);
    out
}
