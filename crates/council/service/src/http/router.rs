//! Which page a path is.

use std::io::Read;
use std::sync::Arc;

use super::admin;
use super::host::Hosts;
use super::response::{Request, Response};
use crate::inspect::Inspect;

const FOREIGN_HOST: &str = "the header `Host` names another machine than this one\n\
    hint: ask by address or by `localhost`, or name this host in `admin.hosts`\n";

/// The pages that one listener serves.
#[derive(Clone)]
pub(crate) struct Router {
    pub(crate) server: Arc<dyn Inspect>,
    /// `/metrics`, `/livez`, `/readyz`.
    pub(crate) metrics: bool,
    /// The path under which the AdminServer's commands are, if they are.
    pub(crate) commands: Option<String>,
    /// The names under which the commands may be asked for.
    pub(crate) hosts: Hosts,
}

impl Router {
    /// The answer to a request.
    pub(crate) fn route(&self, request: &Request, body: &mut dyn Read) -> Response {
        if let Some(url) = &self.commands
            && let Some(rest) = request.path.strip_prefix(url.as_str())
            && (rest.is_empty() || rest.starts_with('/'))
        {
            if !["GET", "HEAD", "POST"].contains(&request.method.as_str()) {
                return Response::text(405, "only GET and POST are answered here\n");
            }
            if !self.hosts.allow(request.host.as_deref()) {
                return Response::text(403, FOREIGN_HOST);
            }
            return admin::route(self.server.as_ref(), url, rest.trim_matches('/'), request, body);
        }
        if request.method != "GET" && request.method != "HEAD" {
            return Response::text(405, "only GET is answered here\n");
        }
        match request.path.as_str() {
            "/metrics" if self.metrics => {
                let page = node_metrics::prometheus(&self.server.samples());
                Response::of_text(200, "text/plain; version=0.0.4; charset=utf-8", page)
            }
            "/livez" if self.metrics => Response::text(200, "ok\n"),
            "/readyz" if self.metrics && self.server.is_serving() => Response::text(200, "ok\n"),
            "/readyz" if self.metrics => Response::text(503, "not serving\n"),
            "/" => Response::html(self.index()),
            _ => Response::text(404, "no such page\n"),
        }
    }

    fn index(&self) -> String {
        let metrics: &[&str] = if self.metrics { &["/metrics", "/livez", "/readyz"] } else { &[] };
        let pages = metrics.iter().copied().chain(self.commands.as_deref());
        pages.map(|page| format!("<a href=\"{page}\">{page}</a>\n<br/>\n")).collect()
    }
}
