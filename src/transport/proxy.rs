//! The variables that name a proxy, and the faults of a proxy.

use std::error::Error;
use std::ffi::OsString;
use std::fmt;

use hyper_util::client::proxy::matcher::Matcher;

use super::failure::{Reason, chain, reason};
use crate::model::escaped;

/// A variable that does not name a proxy. Its value is not shown, because it may contain a password.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{0}` is not the address of a proxy")]
pub struct ProxySettingError(&'static str);

/// Checks the first variable that is set, as the client looks for them. `variable` returns the value of a
/// variable.
pub(super) fn check_proxies(variable: impl Fn(&str) -> Option<OsString>) -> Result<(), ProxySettingError> {
    // In a CGI program, a request sets such variables, so the client ignores all of them.
    if variable("REQUEST_METHOD").is_some() {
        return Ok(());
    }
    for names in [["HTTPS_PROXY", "https_proxy"], ["ALL_PROXY", "all_proxy"]] {
        let first = names.into_iter().find_map(|name| Some((name, variable(name)?)));
        match first {
            Some((_, value)) if value.is_empty() => {}
            Some((name, value)) => return is_proxy(&value).then_some(()).ok_or(ProxySettingError(name)),
            None => {}
        }
    }
    Ok(())
}

fn is_proxy(value: &OsString) -> bool {
    let (Some(value), Ok(target)) = (value.to_str(), "https://host.example".parse()) else {
        return false;
    };
    // The client takes what precedes such a character for the host, and prints it: a part of a password.
    let after_scheme = value.split_once("://").map_or(value, |(_, rest)| rest);
    let credentials = after_scheme.rsplit_once('@').map_or("", |(credentials, _)| credentials);
    let matcher = Matcher::builder().https(value.to_owned()).build();
    !credentials.contains(['/', '?', '#', '@']) && matcher.intercept(&target).is_some()
}

/// A proxy that did not connect to the target.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ProxyFault {
    /// The address, without credentials.
    proxy: String,
    fault: TunnelFault,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum TunnelFault {
    /// It ended the connection without a response.
    Closed,
    /// Status 407.
    Credentials,
    /// Any other status or a malformed response.
    Refused,
    /// It is a SOCKS proxy, to which the client spoke HTTP.
    Socks,
    TimedOut,
    Unreachable(Reason),
}

impl fmt::Display for ProxyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let proxy = escaped(&self.proxy);
        match &self.fault {
            TunnelFault::Closed => write!(f, "the proxy `{proxy}` closed the connection"),
            TunnelFault::Credentials => write!(f, "the proxy `{proxy}` requires credentials (407)"),
            TunnelFault::Refused => write!(f, "the proxy `{proxy}` refused to connect to it"),
            TunnelFault::Socks => {
                write!(f, "`{proxy}` is a SOCKS proxy, and only HTTP proxies are supported")
            }
            TunnelFault::TimedOut => write!(f, "the connection through the proxy `{proxy}` timed out"),
            TunnelFault::Unreachable(why) => write!(f, "the proxy `{proxy}` is unreachable: {why}"),
        }
    }
}

/// Returns why the proxy did not connect to the target, if the request failed there.
pub fn proxy_fault(error: &reqwest::Error) -> Option<ProxyFault> {
    if !error.is_connect() && !error.is_timeout() {
        return None;
    }
    // The client does not report the proxy that it used, so the same rules are applied again.
    let proxy = proxy_for(error.url()?)?;
    let fault = match chain(error).find_map(tunnel_fault) {
        _ if proxy.starts_with("socks") => TunnelFault::Socks,
        Some(fault) => fault,
        // The error of a timeout while connecting does not contain the error of the tunnel.
        None if error.is_connect() && error.is_timeout() => TunnelFault::TimedOut,
        None => return None,
    };
    Some(ProxyFault { proxy, fault })
}

/// Returns the address of the proxy that requests to `target` go through, without credentials.
fn proxy_for(target: &url::Url) -> Option<String> {
    let intercept = Matcher::from_env().intercept(&target.as_str().parse().ok()?)?;
    let uri = intercept.uri();
    Some(format!("{}://{}", uri.scheme_str()?, uri.authority()?))
}

/// Classifies the client's error for a tunnel by its text, because its type is private.
fn tunnel_fault(error: &(dyn Error + 'static)) -> Option<TunnelFault> {
    let text = error.to_string();
    let fault = match text.strip_prefix("tunnel error: ")? {
        "failed to create underlying connection" => TunnelFault::Unreachable(reason(error)),
        "proxy authorization required" => TunnelFault::Credentials,
        "unexpected end of file" | "io error establishing tunnel" => TunnelFault::Closed,
        _ => TunnelFault::Refused,
    };
    Some(fault)
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    fn checked(variables: &[(&str, &str)]) -> Result<(), ProxySettingError> {
        check_proxies(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.into())
        })
    }

    #[test]
    fn the_variable_that_the_client_uses_names_a_proxy() {
        for usable in [
            &[][..],
            &[("HTTPS_PROXY", "")],
            &[("HTTPS_PROXY", "http://proxy.example:3128")],
            &[("https_proxy", "proxy.example:3128")],
            &[("HTTPS_PROXY", "http://user:secret@proxy.example:3128/")],
            &[("ALL_PROXY", "socks5h://proxy.example:1080")],
            &[("HTTPS_PROXY", "proxy.example"), ("ALL_PROXY", "%%")],
            &[("HTTPS_PROXY", "proxy.example"), ("https_proxy", "%%")],
            &[("HTTPS_PROXY", "%%"), ("REQUEST_METHOD", "GET")],
            &[("HTTP_PROXY", "%%")],
        ] {
            assert_eq!(checked(usable), Ok(()), "{usable:?}");
        }
        for (unusable, name) in [
            (&[("HTTPS_PROXY", "http://")][..], "HTTPS_PROXY"),
            (&[("https_proxy", "proxy example")], "https_proxy"),
            (&[("HTTPS_PROXY", "ftp://proxy.example")], "HTTPS_PROXY"),
            (&[("HTTPS_PROXY", ""), ("all_proxy", "/proxy")], "all_proxy"),
            (&[("HTTPS_PROXY", "http://user:se#cret@proxy.example:3128")], "HTTPS_PROXY"),
            (&[("HTTPS_PROXY", "http://user:se/cret@proxy.example:3128")], "HTTPS_PROXY"),
            (&[("HTTPS_PROXY", "http://user:se@cret@proxy.example:3128")], "HTTPS_PROXY"),
            (&[("HTTPS_PROXY", "user:se?cret@proxy.example:3128")], "HTTPS_PROXY"),
        ] {
            assert_eq!(checked(unusable), Err(ProxySettingError(name)), "{unusable:?}");
        }
        let bytes = |name: &str| (name == "HTTPS_PROXY").then(|| OsString::from_vec(vec![0xff]));
        assert_eq!(check_proxies(bytes), Err(ProxySettingError("HTTPS_PROXY")));
    }
}
