//! Checks the variables that name the proxy for HTTPS. The client ignores a value that it cannot parse, and would connect
//! directly without a warning.

use std::ffi::OsString;

use hyper_util::client::proxy::matcher::Matcher;

/// A variable that does not name a proxy. Its value is not shown, because it may contain a password.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{0}` is not the address of a proxy")]
pub struct ProxySettingError(&'static str);

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
    let matcher = Matcher::builder().https(value.to_owned()).build();
    matcher.intercept(&target).is_some()
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
        ] {
            assert_eq!(checked(unusable), Err(ProxySettingError(name)), "{unusable:?}");
        }
        let bytes = |name: &str| (name == "HTTPS_PROXY").then(|| OsString::from_vec(vec![0xff]));
        assert_eq!(check(bytes), Err(ProxySettingError("HTTPS_PROXY")));
    }
}
