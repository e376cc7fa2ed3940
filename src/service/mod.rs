#![doc = include_str!("README.md")]

mod base_url;
mod classify;
mod client;
mod connection;
mod kind;
mod outcome;
mod reader;
mod received;
pub mod retry;
mod unanswered;

#[cfg(test)]
pub(crate) use crate::service::unanswered::untrusted;
pub use base_url::BaseUrl;
pub(crate) use classify::CREATE_FIRST;
pub use classify::{Body, ServiceResponse, ServiceTrust, classify};
pub use client::{Client, Session};
pub use connection::{ClientConfig, ClientError};
pub use kind::NewToggle;
pub use outcome::{ErrorCode, Outcome};
pub use reader::{
    ByKey, EnvironmentInfo, EnvironmentReader, InvalidKey, ListedToggle, Listing, LiveReader,
    PayloadVersions, ProjectReader, ReadSession, SdkKeys, ToggleDemand, ToggleIndex,
};
