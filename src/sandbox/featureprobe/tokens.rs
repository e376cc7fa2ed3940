//! Tokens and SDK keys.

use serde_json::{Value, json};

use super::call::{Account, AccountRole, Call};
use super::errors::{ApiAnswer, ApiRefusal};
use super::shape::Shape;
use super::state::World;

const TOKEN: Shape = Shape::Object(&[
    ("name", Shape::Text),
    ("type", Shape::Text),
    ("role", Shape::Text),
]);

const LOGIN: Shape = Shape::Object(&[("account", Shape::Text), ("password", Shape::Text)]);

/// A wrong password.
pub(super) struct Denied;

/// `POST /tokens`: a token of the caller, or of a new account.
pub(super) fn create(world: &mut World, call: &Call) -> ApiAnswer {
    let request = call.json(&TOKEN)?;
    let text = |name: &str| request[name].as_str().unwrap_or_default();
    let role = match text("role") {
        "WRITER" => AccountRole::Writer,
        // The default of the column.
        "" | "OWNER" => AccountRole::Owner,
        _ => return Err(ApiRefusal::UNREADABLE),
    };
    let account = match (text("name"), text("type")) {
        ("", _) => return Err(ApiRefusal::UNREADABLE),
        (_, "PERSON") => call.account.clone(),
        (name, "APPLICATION") => Account {
            name: format!("api:{name}"),
            role,
        },
        _ => return Err(ApiRefusal::UNREADABLE),
    };
    let is_application = text("type") == "APPLICATION";
    if is_application && world.accounts.values().any(|known| known.name == account.name) {
        return Err(ApiRefusal::Conflict);
    }
    let token = random("api-");
    world.accounts.insert(token.clone(), account);
    Ok(json!({ "token": Value::from(token) }))
}

/// `POST /login`: a session of a person. Every name is known, and the password is the sandbox's token.
pub(super) fn log_in(world: &mut World, call: &Call) -> Result<ApiAnswer, Denied> {
    let request = match call.json(&LOGIN) {
        Ok(request) => request,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let text = |name: &str| request[name].as_str().unwrap_or_default();
    let (name, password) = (text("account"), text("password"));
    if name.is_empty() || !world.accounts.contains_key(password) {
        return Err(Denied);
    }
    let account = Account {
        name: name.to_owned(),
        ..Account::admin()
    };
    let token = random("session.");
    let answer = json!({ "account": name, "role": "OWNER", "organizeId": 1, "token": token });
    world.accounts.insert(format!("Bearer {token}"), account);
    Ok(Ok(answer))
}

/// Returns a new random key.
pub(super) fn random(prefix: &str) -> String {
    let digits = (0..40).map(|_| fastrand::digit(16));
    prefix.chars().chain(digits).collect()
}
