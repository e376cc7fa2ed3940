//! Validates the base URL of the service and builds the URL of a toggle's targeting.

use std::fmt;
use std::str::FromStr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::{Digest, Sha256};
use url::Url;

use crate::transport::{HttpsError, https_address};

/// Everything but the unreserved characters of RFC 3986.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The address of a service: `https`, a host, and optionally a port and a path. Printed without a trailing
/// slash.
#[derive(Clone, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct BaseUrl(Url);

impl BaseUrl {
    /// Returns the host, without the port.
    pub fn host(&self) -> &str {
        self.0.host_str().expect("an https URL has a host")
    }

    /// Returns the host, and the port if it is not that of https.
    pub fn authority(&self) -> &str {
        self.0.authority()
    }

    /// Returns the default state name of this service: its host and eight digits of a hash of the whole
    /// address. The name is a valid file name and a valid component of a ref.
    pub fn name(&self) -> String {
        let digest = Sha256::digest(self.to_string());
        let short = crate::model::hex(&digest[..4]);
        let host: String = self
            .host()
            .chars()
            // An IPv6 address contains brackets and colons, which are not valid in a ref.
            .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-') { c } else { '-' })
            .collect();
        // A component of a ref must not begin with a dot.
        format!("{}-{short}", host.trim_matches(['.', '-']))
    }

    /// Returns the URL of a path below this one, given by its components.
    pub(super) fn below(&self, components: &[&str]) -> Url {
        // `Url::join` would replace the last component of the path of the base URL.
        let mut path = self.0.path().trim_end_matches('/').to_owned();
        for component in components {
            path.push('/');
            path.extend(utf8_percent_encode(component, ENCODED));
        }
        let mut url = self.0.clone();
        url.set_path(&path);
        url
    }
}

impl FromStr for BaseUrl {
    type Err = HttpsError;

    fn from_str(text: &str) -> Result<Self, HttpsError> {
        https_address(text).map(Self)
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str().trim_end_matches('/'))
    }
}

impl fmt::Debug for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ToggleId;

    fn base(text: &str) -> BaseUrl {
        text.parse().unwrap()
    }

    #[test]
    fn a_base_url_is_normalized() {
        for (text, printed) in [
            ("https://toggles.example", "https://toggles.example"),
            ("https://Toggles.Example:443/", "https://toggles.example"),
            ("https://toggles.example/fp//", "https://toggles.example/fp"),
            ("https://[::1]:8443/a/b/", "https://[::1]:8443/a/b"),
        ] {
            assert_eq!(base(text).to_string(), printed);
        }
    }

    #[test]
    fn a_toggles_address_is_below_the_base_path() {
        let id: ToggleId = "shop/prod_eu/new-payment.v2".parse().unwrap();
        for (text, url) in [
            (
                "https://t.example",
                "https://t.example/api/projects/shop/environments/prod_eu/toggles/new-payment.v2/targeting",
            ),
            (
                "https://t.example:8443/fp/",
                "https://t.example:8443/fp/api/projects/shop/environments/prod_eu/toggles/new-payment.v2/targeting",
            ),
        ] {
            assert_eq!(base(text).targeting(&id).as_str(), url);
        }
    }

    #[test]
    fn a_state_name_identifies_the_service_and_is_valid_in_a_ref() {
        let name = base("https://t.example/fp").name();
        assert!(name.starts_with("t.example-") && name.len() == "t.example-".len() + 8, "{name}");
        assert_eq!(name, base("https://T.example/fp/").name());
        assert_ne!(name, base("https://t.example").name());
        assert!(base("https://[::1]:8443").name().starts_with("1-"));
    }
}
