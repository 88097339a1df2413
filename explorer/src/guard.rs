//! Which requests are answered.
//!
//! A page from elsewhere, open in the same browser, can send requests to this machine. It must not reach an app:
//!
//! - A request to the app must name, as its `Origin`, the page that this server has served. Browsers write this header
//!   themselves, into every `POST`.
//! - The name of another host can be made to lead to this machine, and its pages would then be of the same origin as
//!   what this server answers (DNS rebinding). Therefore `Host` must be the address at which this server listens, or
//!   `localhost`.
//! - The body must be declared as JSON, which a page from elsewhere can do only after asking with `OPTIONS`; the answer
//!   to that is a refusal.

use hyper::{
    HeaderMap,
    header::{CONTENT_TYPE, HOST, HeaderName, ORIGIN},
};
use std::net::{IpAddr, SocketAddr};

/// Why a request is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    /// It is for another host.
    Host,
    /// It comes from another page.
    Origin,
    /// It is not declared as JSON.
    ContentType,
}

impl Refusal {
    pub(crate) fn message(self) -> &'static str {
        match self {
            Self::Host => "This server has another name: open it at the address that it has printed.",
            Self::Origin => "Only the page of this server may ask the app.",
            Self::ContentType => "A request to the app has the content type application/json.",
        }
    }
}

/// The value of a header that is there once.
fn only(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

/// Checks that a request is meant for a server that listens at `own`. Returns the host.
pub(crate) fn check_host(headers: &HeaderMap, own: SocketAddr) -> Result<&str, Refusal> {
    let host = only(headers, HOST).ok_or(Refusal::Host)?;
    // Browsers leave the default port out.
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, port.parse().map_err(|_| Refusal::Host)?),
        _ => (host, 80),
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    let is_own = match name.parse::<IpAddr>() {
        // Only names can be made to lead elsewhere. A server for other machines has addresses that it does not know.
        Ok(ip) => ip == own.ip() || (own.ip().is_unspecified() || own.ip().is_loopback() && ip.is_loopback()),
        Err(_) => name.eq_ignore_ascii_case("localhost"),
    };
    if is_own && port == own.port() { Ok(host) } else { Err(Refusal::Host) }
}

/// Checks that a request to the app comes from the page that was served from `host`.
pub(crate) fn check_caller(headers: &HeaderMap, host: &str) -> Result<(), Refusal> {
    let origin = only(headers, ORIGIN).and_then(|origin| origin.strip_prefix("http://"));
    if !origin.is_some_and(|origin| origin.eq_ignore_ascii_case(host)) {
        return Err(Refusal::Origin);
    }
    let content_type = only(headers, CONTENT_TYPE).and_then(|kind| kind.split(';').next());
    if content_type.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json")) {
        Ok(())
    } else {
        Err(Refusal::ContentType)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(list: &[(&'static str, &str)]) -> HeaderMap {
        let list = list.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
        let mut headers = HeaderMap::new();
        for (name, value) in list {
            headers.append(name, value);
        }
        headers
    }

    fn host(own: &str, host: &str) -> bool {
        check_host(&headers(&[("host", host)]), own.parse().unwrap()).is_ok()
    }

    #[test]
    fn a_server_answers_to_its_own_address_only() {
        for good in ["127.0.0.1:9000", "localhost:9000", "LOCALHOST:9000", "[::1]:9000"] {
            assert!(host("127.0.0.1:9000", good), "{good}");
        }
        for bad in [
            "evil.example:9000",
            "127.0.0.1",
            "127.0.0.1:9001",
            "127.0.0.1.evil.example:9000",
            "localhost.evil.example:9000",
            "192.168.0.7:9000",
            "evil.example:127.0.0.1:9000",
            ":9000",
            "",
        ] {
            assert!(!host("127.0.0.1:9000", bad), "{bad}");
        }
        assert!(host("127.0.0.1:80", "localhost"));
        assert!(host("[::1]:80", "[::1]"));
        // For other machines: by any address, and no name.
        assert!(host("0.0.0.0:9000", "192.168.0.7:9000"));
        assert!(!host("0.0.0.0:9000", "evil.example:9000"));
        assert!(host("192.168.0.7:9000", "192.168.0.7:9000"));
        assert!(!host("192.168.0.7:9000", "127.0.0.1:9000"));
        let none = headers(&[]);
        assert_eq!(check_host(&none, "127.0.0.1:80".parse().unwrap()), Err(Refusal::Host));
        let two = headers(&[("host", "localhost"), ("host", "localhost")]);
        assert_eq!(check_host(&two, "127.0.0.1:80".parse().unwrap()), Err(Refusal::Host));
    }

    #[test]
    fn the_app_is_asked_by_the_page_of_the_server_only() {
        let check = |list: &[(&'static str, &str)]| check_caller(&headers(list), "localhost:9000");
        let json = ("content-type", "application/json; charset=utf-8");
        assert_eq!(check(&[("origin", "http://localhost:9000"), json]), Ok(()));
        for origin in ["null", "", "http://localhost", "https://localhost:9000", "http://evil.example:9000"] {
            assert_eq!(check(&[("origin", origin), json]), Err(Refusal::Origin), "{origin}");
        }
        assert_eq!(check(&[json]), Err(Refusal::Origin));
        let twice = [("origin", "http://localhost:9000"), ("origin", "http://evil.example"), json];
        assert_eq!(check(&twice), Err(Refusal::Origin));
        let own = ("origin", "http://localhost:9000");
        assert_eq!(check(&[own]), Err(Refusal::ContentType));
        assert_eq!(check(&[own, ("content-type", "text/plain")]), Err(Refusal::ContentType));
    }
}
