#![doc = include_str!("README.md")]

mod allow;
mod api;
mod authorize;
mod cache;
mod control;
mod health;
mod page;
mod response;
mod server;
mod signature;
mod state;
#[cfg(test)]
mod tests;
mod web;
mod webhook;

pub(crate) use server::serve;
pub(crate) use state::Admin;
