//! Evaluates toggles as the SDKs do: what a user is served, and why.
//!
//! Pure: takes targetings and users, returns verdicts. It follows `featureprobe-behaviour.md`, section 6 (the Rust SDK from
//! 2.3), bit by bit: hash, number syntax, the meaning of missing attributes.
//!
//! # What it does not claim
//!
//! An evaluation is three-valued. What the repository does not define is never guessed: segments, toggles without a
//! document, types and predicates outside the vocabulary, the current time unless it is given, and the bucket of a user
//! without a key. Such a condition is [`Truth::Unknown`], and conditions combine by Kleene's logic: a known false condition
//! decides a rule. The verdict is [`Verdict::CannotSay`] unless every possible continuation serves the same variation.
//!
//! # How it is fast
//!
//! A [`Compiler`] resolves everything that does not depend on the user once: attribute names become slots, the texts of
//! `is one of` become numbers, regular expressions and versions are parsed. A [`Person`](condition::Person) parses each attribute once. An
//! evaluation allocates nothing.

mod audience;
mod compiler;
mod condition;
mod evaluator;
#[cfg(test)]
mod tests;
mod users;

pub(crate) use audience::{Audience, Impact, UserImpact, Users};
pub(crate) use compiler::{Compiler, Definitions, PrerequisiteTrace, ServePlace, ServeTrace, ToggleTrace};
pub(crate) use condition::{Doubt, Served, Truth, Verdict, misfit};
pub(crate) use evaluator::Evaluator;
pub(crate) use users::count_users;
