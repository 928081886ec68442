//! Finds the page of a path.

use std::io::Read;
use std::sync::Arc;

use net_http::{Hosts, Kind, Request, Response, Site};

use crate::registry::Registry;

const FOREIGN_HOST: &str = "the header `Host` names another machine than this one\n\
    hint: ask by address or by `localhost`, or name this host in `admin.hosts`\n";

/// The pages of one service below one path.
pub trait Section: Send + Sync {
    /// The answer to a request for `name`, which is what stands behind the section's path, without slashes around it.
    /// Only `GET`, `HEAD` and `POST` come here.
    fn answer(&self, name: &str, request: &Request, body: &mut dyn Read) -> Response;
}

/// Whether a service can do what it is there for.
type Ready = Arc<dyn Fn() -> bool + Send + Sync>;

/// The pages that are served at one address.
#[derive(Default)]
pub struct Pages {
    /// `/metrics`, `/livez`, `/readyz`.
    metrics: Option<Registry>,
    ready: Vec<Ready>,
    sections: Vec<(String, Hosts, Arc<dyn Section>)>,
}

impl Pages {
    /// Serves these figures, and the probes.
    #[must_use]
    pub fn metrics(mut self, registry: Registry) -> Self {
        self.metrics = Some(registry);
        self
    }

    /// `/readyz` is positive only while this is true, too.
    #[must_use]
    pub fn ready(mut self, ready: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.ready.push(Arc::new(ready));
        self
    }

    /// Serves a service's pages below `path`, to requests that use one of these host names.
    #[must_use]
    pub fn section(mut self, path: &str, hosts: Hosts, section: Arc<dyn Section>) -> Self {
        self.sections.push((path.trim_end_matches('/').to_owned(), hosts, section));
        self
    }

    fn index(&self) -> String {
        let metrics: &[&str] = if self.metrics.is_some() { &["/metrics", "/livez", "/readyz"] } else { &[] };
        let sections = self.sections.iter().map(|(path, ..)| path.as_str());
        let pages = metrics.iter().copied().chain(sections);
        pages.map(|page| format!("<a href=\"{page}\">{page}</a>\n<br/>\n")).collect()
    }
}

impl Site for Pages {
    fn kind(&self, path: &str) -> Kind {
        match path {
            "/livez" | "/readyz" => Kind::Probe,
            "/metrics" => Kind::Metrics,
            _ => Kind::Command,
        }
    }

    fn answer(&self, request: &Request, body: &mut dyn Read) -> Response {
        for (path, hosts, section) in &self.sections {
            let rest = request.path.strip_prefix(path.as_str());
            let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with('/')) else { continue };
            if !["GET", "HEAD", "POST"].contains(&request.method.as_str()) {
                return Response::text(405, "only GET and POST are answered here\n");
            }
            if !hosts.allow(request.host.as_deref()) {
                return Response::text(403, FOREIGN_HOST);
            }
            return section.answer(rest.trim_matches('/'), request, body);
        }
        if request.method != "GET" && request.method != "HEAD" {
            return Response::text(405, "only GET is answered here\n");
        }
        match (request.path.as_str(), &self.metrics) {
            ("/metrics", Some(registry)) => {
                Response::of_text(200, "text/plain; version=0.0.4; charset=utf-8", registry.prometheus())
            }
            ("/livez", Some(_)) => Response::text(200, "ok\n"),
            ("/readyz", Some(_)) if self.ready.iter().all(|ready| ready()) => Response::text(200, "ok\n"),
            ("/readyz", Some(_)) => Response::text(503, "not serving\n"),
            ("/", _) => Response::html(self.index()),
            _ => Response::text(404, "no such page\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    struct Echo;

    impl Section for Echo {
        fn answer(&self, name: &str, _: &Request, _: &mut dyn Read) -> Response {
            Response::text(200, name)
        }
    }

    fn ask(pages: &Pages, method: &str, path: &str) -> (u16, String) {
        let request = Request::new(method, path, IpAddr::from([127, 0, 0, 1]));
        let response = pages.answer(&request, &mut std::io::empty());
        let net_http::Body::Text(text) = response.body else { panic!("no text") };
        (response.status, text)
    }

    fn hosts() -> Hosts {
        Hosts::new("127.0.0.1:7000".parse().expect("an address"), [])
    }

    #[test]
    fn a_section_is_reached_below_its_path_alone() {
        let pages = Pages::default().section("/commands/", hosts(), Arc::new(Echo));
        assert_eq!(ask(&pages, "GET", "/commands/ruok"), (200, String::from("ruok")));
        assert_eq!(ask(&pages, "POST", "/commands"), (200, String::new()));
        assert_eq!(ask(&pages, "GET", "/commandsx").0, 404);
        assert_eq!(ask(&pages, "DELETE", "/commands/x").0, 405);
        assert_eq!(ask(&pages, "GET", "/metrics").0, 404, "it is not served here");
    }

    #[test]
    fn a_server_is_ready_once_all_its_services_are() {
        let (one, other) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicBool::new(false)));
        let asks = |flag: &Arc<AtomicBool>| {
            let flag = Arc::clone(flag);
            move || flag.load(Ordering::Relaxed)
        };
        let pages = Pages::default().metrics(Registry::default()).ready(asks(&one)).ready(asks(&other));
        assert_eq!((ask(&pages, "GET", "/livez").0, ask(&pages, "GET", "/readyz").0), (200, 503));
        other.store(true, Ordering::Relaxed);
        assert_eq!(ask(&pages, "GET", "/readyz").0, 200);
        assert!(ask(&pages, "GET", "/metrics").1.contains("process_cpu_seconds_total"));
    }
}
