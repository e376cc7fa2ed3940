//! What the tests are written with.

pub(crate) mod answer;
pub(crate) mod certificate;
pub(crate) mod command;
pub(crate) mod daemon;
pub(crate) mod document;
pub(crate) mod files;
pub(crate) mod git_host;
mod git_sync;
pub(crate) mod http;
pub(crate) mod live_service;
pub(crate) mod proxy;
pub(crate) mod ran;
pub(crate) mod remote;
pub(crate) mod repo;
mod request;
mod service;
pub(crate) mod small_disk;
mod sshd;
pub(crate) mod text;
pub(crate) mod wait;
pub(crate) mod world;

pub(crate) use answer::Answer;
pub(crate) use command::Gitoggle;
pub(crate) use daemon::{ADMIN, Daemon};
pub(crate) use document::{body, content, doc};
pub(crate) use git_sync::GitSync;
pub(crate) use live_service::{LiveService, targeting};
pub(crate) use remote::Remote;
pub(crate) use repo::Repo;
pub(crate) use request::Request;
pub(crate) use service::Service;
pub(crate) use small_disk::SmallDisk;
pub(crate) use sshd::Sshd;
pub(crate) use wait::eventually;
pub(crate) use world::{TOKEN, World};
