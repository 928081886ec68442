//! The console: a page that shows objects, calls their methods and follows their events, by the public routes alone.
//!
//! It is three files in this program. They hold nothing that a stranger may not see; what is asked through them is judged by the token
//! that a person enters. No other page may frame it, and its own may run no script but this one.

use crate::message::HttpResponse;

const PAGE: &str = include_str!("objects.html");
const STYLE: &str = include_str!("objects.css");
const SCRIPT: &str = include_str!("objects.js");

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

/// The response to a request for a part of the console.
pub(crate) fn page(method: &str, target: &str) -> Option<HttpResponse> {
    if target.starts_with("/v1/") || !matches!(method, "GET" | "HEAD") {
        return None;
    }
    let (content_type, body) = match target.split('?').next()? {
        "/console/objects" => ("text/html; charset=utf-8", PAGE),
        "/console/objects.css" => ("text/css; charset=utf-8", STYLE),
        "/console/objects.js" => ("text/javascript; charset=utf-8", SCRIPT),
        "/" | "/console" | "/console/" => {
            let response = HttpResponse::json(303, String::from("{}"));
            return Some(response.with("location", "/console/objects"));
        }
        _ => return None,
    };
    let response = HttpResponse { content_type, ..HttpResponse::json(200, body.into()) };
    Some(
        response
            .with("cache-control", "no-cache")
            .with("content-security-policy", POLICY)
            .with("referrer-policy", "no-referrer")
            .with("x-content-type-options", "nosniff"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_runs_nothing_but_its_own_script() {
        let page = page("GET", "/console/objects").map(|response| response.body).unwrap_or_default();
        let scripts = page.matches("<script").count();
        assert!(scripts == 1 && page.contains("<script src=\"/console/objects.js\" defer></script>"));
        for inline in ["style=", "onclick=", "onload=", "onsubmit=", "onerror=", "javascript:"] {
            assert!(!page.contains(inline), "{inline}");
        }
    }

    #[test]
    fn script_makes_no_html_of_what_members_say() {
        for forbidden in
            ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"]
        {
            assert!(!SCRIPT.contains(forbidden), "{forbidden}");
        }
    }

    #[test]
    fn other_targets_are_no_part_of_it() {
        for target in ["/console/objects/", "/console/other", "/v1/live", "", "/console/objects.js.map"] {
            assert_eq!(page("GET", target), None, "{target}");
        }
        assert_eq!(page("POST", "/console/objects"), None);
        assert_eq!(page("GET", "/").map(|response| response.status), Some(303));
    }
}
