//! Until when this server's own certificates hold: for metrics, and for a warning at the start while there is time.

use std::path::Path;
use std::sync::Arc;

use node_threads::calendar::short_date;
use parking_lot::Mutex;

use net_tls::TlsContext;

/// How long before its end a certificate is warned of, seconds.
const NOTICE_SECONDS: i64 = 30 * 86_400;

/// See the module.
#[derive(Default)]
pub(crate) struct CertificateEnds {
    /// What clients are shown.
    clients: Option<Arc<TlsContext>>,
    /// What other members are shown.
    members: Mutex<Option<i64>>,
}

impl CertificateEnds {
    pub(crate) fn new(clients: Option<Arc<TlsContext>>) -> Self {
        Self { clients, members: Mutex::new(None) }
    }

    /// The end of what other members are shown, seconds since 1970.
    pub(crate) fn set_members(&self, not_after: Option<i64>) {
        *self.members.lock() = not_after;
    }

    /// Each certificate's use and its end, seconds since 1970.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&'static str, i64)> {
        let clients = self.clients.as_ref().and_then(|context| context.not_after());
        let members = *self.members.lock();
        [("clients", clients), ("members", members)].into_iter().filter_map(|(used, end)| Some((used, end?)))
    }
}

/// What to say of a certificate that has ended or soon will. `now_s` is in seconds since 1970.
pub(crate) fn warning(used_for: &str, path: &Path, not_after: Option<i64>, now_s: i64) -> Option<String> {
    let end = not_after.filter(|end| *end < now_s + NOTICE_SECONDS)?;
    let (path, date) = (path.display(), short_date(end));
    let how = "put a new certificate in its place and send this server `SIGHUP`";
    Some(if end <= now_s {
        format!("`{path}`: the certificate for {used_for} expired on {date}: they refuse it; hint: {how}")
    } else {
        format!("`{path}`: the certificate for {used_for} expires on {date}; hint: {how} before that")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_of_a_certificate_is_warned_of_thirty_days_before() {
        let end = 1_770_841_080;
        let said = |days: i64| warning("members", Path::new("member-1.pem"), Some(end), end - days * 86_400);
        assert_eq!(said(31), None);
        let soon = said(29).expect("a warning");
        assert!(soon.contains("`member-1.pem`") && soon.contains("expires on 2026-02-11"), "{soon}");
        let over = said(0).expect("a warning");
        assert!(over.contains("expired on 2026-02-11") && over.contains("hint: "), "{over}");
        assert_eq!(warning("members", Path::new("x"), None, end), None);
    }
}
