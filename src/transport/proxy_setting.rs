//! Checks the variables that name the proxy for HTTPS. The client ignores a value that it cannot parse, and would connect
//! directly without a warning. It would speak HTTP to a SOCKS proxy.

use std::ffi::OsString;

use hyper_util::client::proxy::matcher::Matcher;

/// Why the proxy of a variable cannot be used. The value is not shown, because it may contain a password.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ProxySettingError {
    /// It is not an address.
    #[error("`{0}` is not the address of a proxy")]
    Malformed(&'static str),
    /// It is a SOCKS proxy.
    #[error("`{0}` names a SOCKS proxy, and only HTTP proxies are supported")]
    Socks(&'static str),
}

/// Checks the first variable that is set, as the client looks for them. `variable` returns the value of a variable.
pub(super) fn check(variable: impl Fn(&str) -> Option<OsString>) -> Result<(), ProxySettingError> {
    // In a CGI program, a request sets such variables, so the client ignores all of them.
    if variable("REQUEST_METHOD").is_some() {
        return Ok(());
    }
    for names in [["HTTPS_PROXY", "https_proxy"], ["ALL_PROXY", "all_proxy"]] {
        let first = names.into_iter().find_map(|name| Some((name, variable(name)?)));
        match first {
            Some((_, value)) if value.is_empty() => {}
            Some((name, value)) => {
                return match scheme(&value) {
                    None => Err(ProxySettingError::Malformed(name)),
                    Some(scheme) if scheme.starts_with("socks") => Err(ProxySettingError::Socks(name)),
                    Some(_) => Ok(()),
                };
            }
            None => {}
        }
    }
    Ok(())
}

/// Returns the scheme of a proxy as the client reads it.
fn scheme(value: &OsString) -> Option<String> {
    let matcher = Matcher::builder().https(value.to_str()?.to_owned()).build();
    let proxy = matcher.intercept(&"https://host.example".parse().ok()?)?;
    Some(proxy.uri().scheme_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    fn checked(variables: &[(&str, &str)]) -> Result<(), ProxySettingError> {
        check(|name| {
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
            &[
                ("HTTPS_PROXY", "proxy.example"),
                ("ALL_PROXY", "socks5://proxy.example"),
            ],
            &[("HTTPS_PROXY", "proxy.example"), ("ALL_PROXY", "%%")],
            &[("HTTPS_PROXY", "proxy.example"), ("https_proxy", "%%")],
            &[("HTTPS_PROXY", "%%"), ("REQUEST_METHOD", "GET")],
            &[("HTTP_PROXY", "%%")],
        ] {
            assert_eq!(checked(usable), Ok(()), "{usable:?}");
        }
        let (malformed, socks) = (ProxySettingError::Malformed, ProxySettingError::Socks);
        for (unusable, error) in [
            (&[("HTTPS_PROXY", "http://")][..], malformed("HTTPS_PROXY")),
            (&[("https_proxy", "proxy example")], malformed("https_proxy")),
            (
                &[("HTTPS_PROXY", "ftp://proxy.example")],
                malformed("HTTPS_PROXY"),
            ),
            (
                &[("HTTPS_PROXY", ""), ("all_proxy", "/proxy")],
                malformed("all_proxy"),
            ),
            (
                &[("ALL_PROXY", "socks5h://proxy.example:1080")],
                socks("ALL_PROXY"),
            ),
            (
                &[("https_proxy", "socks4://a:b@proxy.example")],
                socks("https_proxy"),
            ),
        ] {
            assert_eq!(checked(unusable), Err(error), "{unusable:?}");
        }
        let bytes = |name: &str| (name == "HTTPS_PROXY").then(|| OsString::from_vec(vec![0xff]));
        assert_eq!(check(bytes), Err(malformed("HTTPS_PROXY")));
    }
}
