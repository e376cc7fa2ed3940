#![doc = include_str!("README.md")]

mod audience;
mod compiler;
mod condition;
mod evaluator;
#[cfg(test)]
mod tests;
mod users;

pub(crate) use audience::{Audience, Impact, UserImpact, Users};
pub(crate) use compiler::{
    Compiler, Definitions, PrerequisiteEnd, PrerequisiteTrace, ServePlace, ServeTrace, ToggleTrace,
};
pub(crate) use condition::{Doubt, Served, Truth, Verdict, misfit};
pub(crate) use evaluator::{Evaluator, JsonEquality, NumberComparison, SdkRules, TypeComparison, UnmetServe};
pub(crate) use users::count_users;
