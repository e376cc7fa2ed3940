//! Addresses to which secrets are sent.

use url::Url;

/// Why a text is not such an address. Never quotes the text, which may contain a password.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum HttpsError {
    #[error("the URL must not have a query or a fragment")]
    Extra,
    #[error(
        "write `https://…`; `{0}` is refused, because it would send secrets unencrypted, also within a cluster and on loopback"
    )]
    Insecure(String),
    #[error("this is not a URL; write `https://…`")]
    NotUrl(#[from] url::ParseError),
    #[error("the URL must not contain a user or password")]
    User,
}

/// Whether an address may contain a user and a password.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum UrlUser {
    /// The whole address is a secret.
    Allowed,
    Refused,
}

/// Parses a URL to which secrets may be sent.
pub fn https(text: &str, user: UrlUser) -> Result<Url, HttpsError> {
    let url = Url::parse(text.trim())?;
    if user == UrlUser::Refused && (!url.username().is_empty() || url.password().is_some()) {
        return Err(HttpsError::User);
    }
    match url.scheme() {
        "https" => Ok(url),
        scheme => Err(HttpsError::Insecure(scheme.to_owned())),
    }
}

/// Parses the address of an API: `https`, a host, and optionally a port and a path, without a trailing slash.
pub(crate) fn https_address(text: &str) -> Result<Url, HttpsError> {
    let mut url = https(text, UrlUser::Refused)?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err(HttpsError::Extra);
    }
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(&path);
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_would_leak_secrets_is_refused() {
        for (text, error) in [
            ("http://toggles.example", HttpsError::Insecure("http".into())),
            ("http://127.0.0.1:8080", HttpsError::Insecure("http".into())),
            ("https://u:p@toggles.example", HttpsError::User),
            ("https://u@toggles.example", HttpsError::User),
            ("http://me:hunter2@t.example", HttpsError::User),
            ("https://toggles.example/?hunter2", HttpsError::Extra),
            ("https://toggles.example/#hunter2", HttpsError::Extra),
            ("toggles.example", HttpsError::NotUrl(url::ParseError::RelativeUrlWithoutBase)),
            ("https://", HttpsError::NotUrl(url::ParseError::EmptyHost)),
            ("", HttpsError::NotUrl(url::ParseError::RelativeUrlWithoutBase)),
        ] {
            assert!(!error.to_string().contains("hunter2"), "{error}");
            assert_eq!(https_address(text), Err(error), "{text}");
        }
        assert_eq!(https_address("https://t.example/a//").unwrap().as_str(), "https://t.example/a");
        assert_eq!(
            https("https://t.example/a?b", UrlUser::Refused).unwrap().as_str(),
            "https://t.example/a?b"
        );
        assert!(https("https://u:p@t.example", UrlUser::Allowed).is_ok());
        assert_eq!(https("http://u:p@t.example", UrlUser::Allowed), Err(HttpsError::Insecure("http".into())),);
    }
}
