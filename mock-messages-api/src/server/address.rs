//! What a request's path means.

use hyper::Method;
use percent_encoding::percent_decode_str;

/// Whom a request belongs to and what it asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    /// The session; empty for the root.
    pub(crate) session: String,
    pub(crate) client: Option<String>,
    pub(crate) route: Route,
}

/// What a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    Message,
    CountTokens,
    Models,
    Model(String),
    Unknown,
}

impl Address {
    /// Reads `[/<session>[/<client>]]/v1/…`.
    pub(crate) fn new(method: &Method, path: &str) -> Self {
        let segments: Vec<String> = path
            .split('/')
            .filter(|segment| !segment.is_empty())
            .map(|segment| percent_decode_str(segment).decode_utf8_lossy().into_owned())
            .collect();
        let version = segments.iter().rposition(|segment| segment == "v1");
        let (prefix, rest) = segments.split_at(version.unwrap_or(segments.len()));
        let mut prefix = prefix.iter().cloned();
        let session = prefix.next().unwrap_or_default();
        let client = prefix.next();
        let route = match prefix.next() {
            Some(_) => Route::Unknown,
            None => route(method, rest),
        };
        Self {
            session,
            client,
            route,
        }
    }
}

fn route(method: &Method, segments: &[String]) -> Route {
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    match (method, &segments[..]) {
        (&Method::POST, ["v1", "messages"]) => Route::Message,
        (&Method::POST, ["v1", "messages", "count_tokens"]) => Route::CountTokens,
        (&Method::GET, ["v1", "models"]) => Route::Models,
        (&Method::GET, ["v1", "models", id]) => Route::Model((*id).to_owned()),
        _ => Route::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(session: &str, client: Option<&str>, route: Route) -> Address {
        Address {
            session: session.to_owned(),
            client: client.map(str::to_owned),
            route,
        }
    }

    #[test]
    fn reads_session_and_client_from_the_prefix() {
        let post = |path| Address::new(&Method::POST, path);
        assert_eq!(post("/v1/messages"), address("", None, Route::Message));
        assert_eq!(
            post("/cell/v1/messages"),
            address("cell", None, Route::Message)
        );
        assert_eq!(
            post("/kill%20it/spawn-1/v1/messages/count_tokens"),
            address("kill it", Some("spawn-1"), Route::CountTokens)
        );
    }

    #[test]
    fn knows_only_the_messages_routes() {
        for (method, path) in [
            (Method::GET, "/cell/spawn-1/v1/messages"),
            (Method::POST, "/cell/spawn-1/v1/complete"),
            (Method::POST, "/cell/spawn-1/more/v1/messages"),
            (Method::HEAD, "/cell/spawn-1"),
        ] {
            assert_eq!(
                Address::new(&method, path).route,
                Route::Unknown,
                "{method} {path}"
            );
        }
    }
}
