//! Requests to the API and answers: bodies by shape, pages, errors in their two shapes, and dates.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

/// A request that arrived at a sandbox of kind `featureprobe`, whatever the response was.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ApiCall {
    pub method: String,
    /// Its path with the query, as sent.
    pub path: String,
    pub body: Bytes,
}

/// The account of the person who set the service up.
const ADMIN: &str = "Admin";

pub(super) struct Call {
    pub(super) sent: ApiCall,
    pub(super) method: Method,
    pub(super) authorization: String,
    pub(super) accept_language: Option<String>,
    content_type: Option<String>,
    pub(super) account: String,
    pub(super) at: Timestamp,
}

impl Call {
    pub(super) fn new(method: Method, path: String, headers: &HeaderMap, body: Bytes, at: Timestamp) -> Self {
        let header = |name| Some(headers.get(name)?.to_str().ok()?.trim().to_owned());
        Self {
            sent: ApiCall { method: method.to_string(), path, body },
            method,
            authorization: header(header::AUTHORIZATION).unwrap_or_default(),
            accept_language: header(header::ACCEPT_LANGUAGE),
            content_type: header(header::CONTENT_TYPE),
            account: ADMIN.to_owned(),
            at,
        }
    }

    /// A request of the person who set the service up, with a body of JSON.
    pub(super) fn by_admin(method: Method, path: String, body: &Value, at: Timestamp) -> Self {
        let mut headers = HeaderMap::new();
        let json = HeaderValue::from_static("application/json");
        headers.insert(header::CONTENT_TYPE, json);
        Self::new(method, path, &headers, body.to_string().into(), at)
    }

    /// Returns the path without its query.
    pub(super) fn path(&self) -> &str {
        self.sent.path.split('?').next().unwrap_or_default()
    }

    /// Returns the components of the path, without percent-encoding.
    pub(super) fn components(&self) -> Vec<String> {
        self.path()
            .split('/')
            .skip(1)
            .map(|one| percent_decode_str(one).decode_utf8_lossy().into_owned())
            .collect()
    }

    /// Returns a parameter of the query. Empty ones count as absent.
    pub(super) fn parameter(&self, name: &str) -> Option<String> {
        let (_, query) = self.sent.path.split_once('?')?;
        url::form_urlencoded::parse(query.as_bytes())
            .find(|(known, value)| known == name && !value.is_empty())
            .map(|(_, value)| value.into_owned())
    }

    /// Returns a parameter that is not text.
    pub(super) fn typed<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, ApiRefusal> {
        let parsed = self.parameter(name).map(|text| text.parse());
        parsed.transpose().map_err(|_| ApiRefusal::UNREADABLE)
    }

    /// Reads the body, which must be there.
    pub(super) fn json(&self, shape: &Shape) -> Result<Value, ApiRefusal> {
        let is_json = self.content_type.as_deref().is_some_and(|kind| {
            let kind = kind.split(';').next().unwrap_or_default().trim();
            kind.eq_ignore_ascii_case("application/json")
        });
        if !is_json && (self.content_type.is_some() || !self.sent.body.is_empty()) {
            return Err(ApiRefusal::Framework(StatusCode::UNSUPPORTED_MEDIA_TYPE));
        }
        // The service ignores what follows the first value.
        let mut values = serde_json::Deserializer::from_slice(&self.sent.body).into_iter();
        let value = values.next().and_then(Result::ok).ok_or(ApiRefusal::UNREADABLE)?;
        match shape.read(value)? {
            Value::Null => Err(ApiRefusal::UNREADABLE),
            value => Ok(value),
        }
    }
}

/// Returns the two members that a new resource needs.
pub(super) fn name_and_key(request: &Value) -> Result<(&str, &str), ApiRefusal> {
    let needed = |name: &str| {
        let text = request[name].as_str().unwrap_or_default();
        (!text.trim().is_empty()).then_some(text).ok_or(ApiRefusal::UNREADABLE)
    };
    Ok((needed("name")?, needed("key")?))
}

/// An answer as it is sent.
#[derive(Debug)]
pub(super) struct ApiReply {
    pub(super) status: StatusCode,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) body: String,
}

impl ApiReply {
    pub(super) fn new(answer: ApiAnswer, call: &Call) -> Self {
        match answer {
            Ok(Value::Null) => Self::empty(StatusCode::OK),
            Ok(value) => Self::typed(StatusCode::OK, "application/json", value.to_string()),
            Err(refusal) => Self::refused(&refusal, call),
        }
    }

    pub(super) fn empty(status: StatusCode) -> Self {
        Self::untyped(status, String::new())
    }

    /// A page with the status 200.
    pub(super) fn page(html: String) -> Self {
        Self::typed(StatusCode::OK, "text/html;charset=utf-8", html)
    }

    /// An error of the security layer.
    pub(super) fn unauthorized(status: StatusCode, code: &str, message: &str) -> Self {
        let body = json!({ "code": code, "message": message });
        Self::typed(status, "application/json;charset=UTF-8", body.to_string())
    }

    fn typed(status: StatusCode, content_type: &'static str, body: String) -> Self {
        Self::untyped(status, body).with(header::CONTENT_TYPE, HeaderValue::from_static(content_type))
    }

    fn untyped(status: StatusCode, body: String) -> Self {
        Self { status, headers: Vec::new(), body }
    }

    pub(super) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(super) fn response(self) -> Response {
        let mut response = Response::new(Body::from(self.body));
        *response.status_mut() = self.status;
        response.headers_mut().extend(self.headers);
        response
    }

    fn refused(refusal: &ApiRefusal, call: &Call) -> Self {
        let bundle = Bundle::of(call);
        match refusal {
            ApiRefusal::Conflict => Self::business("conflict", &bundle.message("resource.error.conflict")),
            ApiRefusal::Empty(status) => Self::empty(*status),
            ApiRefusal::Framework(status) => Self::framework(*status, call),
            ApiRefusal::Invalid(key) => Self::business("invalid_request", &bundle.message(key)),
            ApiRefusal::InvalidText(text) => Self::business("invalid_request", text),
            ApiRefusal::NotFound(kind, key) => Self::business("not_found", &bundle.not_found(kind, key)),
        }
    }

    fn business(code: &str, message: &str) -> Self {
        let body = json!({ "code": code, "message": message });
        // Application errors have no content type.
        Self::untyped(StatusCode::BAD_REQUEST, body.to_string())
    }

    fn framework(status: StatusCode, call: &Call) -> Self {
        let body = json!({
            "timestamp": timestamp(call.at),
            "status": status.as_u16(),
            "error": status.canonical_reason().unwrap_or_default(),
            "path": call.path(),
        });
        Self::typed(status, "application/json", body.to_string())
    }
}

/// The texts for an `Accept-Language`.
enum Bundle {
    English,
    /// A language without texts: the service sends the key of a message in its place.
    Keys,
}

impl Bundle {
    fn of(call: &Call) -> Self {
        match call.accept_language.as_deref() {
            None | Some("" | "*") => Self::English,
            Some(language) if language.to_ascii_lowercase().starts_with("en-us") => Self::English,
            Some(_) => Self::Keys,
        }
    }

    fn message(&self, key: &str) -> String {
        let text = match (self, key) {
            (Self::Keys, key) => key,
            (_, "resource.error.conflict") => "This resource already exists, please modify",
            (_, "validate.approval.disable") => "Approval is not enabled.",
            (_, "validate.approval.repeat") => {
                "This toggle is already under approval, please do not repeat approval again."
            }
            (_, "validate.conflict_request") => "Request conflict, please try again",
            (_, "validate.datetime_format_error") => "Invalid datetime",
            (_, "validate.number_format_error") => "Invalid number",
            (_, "validate.targeting_content_over_limit") => "Rule content length exceeded (<1M).",
            (_, "validate.version_format_error") => "Invalid version",
            (_, key) => key,
        };
        text.to_owned()
    }

    fn not_found(&self, kind: &str, key: &str) -> String {
        match self {
            Self::English => format!("{kind} {key} not found"),
            Self::Keys => "resource.error.not_found".to_owned(),
        }
    }
}

/// What a request to the API comes to. An empty success is null.
pub(super) type ApiAnswer = Result<Value, ApiRefusal>;

/// Why a request is not carried out.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ApiRefusal {
    /// The key or name is taken.
    Conflict,
    /// A status without a body.
    Empty(StatusCode),
    /// An error of the framework: a status without a code.
    Framework(StatusCode),
    /// An invalid request: the key of the message.
    Invalid(&'static str),
    /// An invalid request with a text of the platform.
    InvalidText(String),
    /// This kind of resource has nothing with this key.
    NotFound(&'static str, String),
}

impl ApiRefusal {
    /// An uncaught exception.
    pub(super) const INTERNAL: Self = Self::Framework(StatusCode::INTERNAL_SERVER_ERROR);
    /// A body or parameter that the framework cannot read.
    pub(super) const UNREADABLE: Self = Self::Framework(StatusCode::BAD_REQUEST);

    pub(super) fn not_found(kind: &'static str, key: impl Into<String>) -> Self {
        Self::NotFound(kind, key.into())
    }
}

impl From<Misshapen> for ApiRefusal {
    fn from(_: Misshapen) -> Self {
        Self::UNREADABLE
    }
}

pub(super) struct PageRequest {
    index: usize,
    size: usize,
}

impl PageRequest {
    pub(super) fn of(call: &Call) -> Result<Self, ApiRefusal> {
        let number = |name, default| Ok::<_, ApiRefusal>(call.typed::<i32>(name)?.unwrap_or(default));
        let refused = |text: &str| ApiRefusal::InvalidText(text.to_owned());
        Ok(Self {
            index: usize::try_from(number("pageIndex", 0)?)
                .map_err(|_| refused("Page index must not be less than zero!"))?,
            size: usize::try_from(number("pageSize", 10)?)
                .ok()
                .filter(|size| *size > 0)
                .ok_or_else(|| refused("Page size must not be less than one!"))?,
        })
    }

    /// Returns this page of `all`, with each element written by `write`.
    pub(super) fn of_list<T>(
        &self,
        all: &[T],
        write: impl Fn(&T) -> Result<Value, ApiRefusal>,
    ) -> Result<Value, ApiRefusal> {
        let Self { index, size } = *self;
        let total = all.len();
        let offset = index.saturating_mul(size);
        let content: Vec<Value> = all.iter().skip(offset).take(size).map(write).collect::<Result<_, _>>()?;
        let pages = total.div_ceil(size);
        let sort = json!({ "empty": false, "unsorted": false, "sorted": true });
        Ok(json!({
            "numberOfElements": content.len(),
            "empty": content.is_empty(),
            "content": content,
            "pageable": {
                "sort": sort,
                "offset": offset,
                "pageNumber": index,
                "pageSize": size,
                "paged": true,
                "unpaged": false,
            },
            "totalPages": pages,
            "totalElements": total,
            "last": index + 1 >= pages,
            "size": size,
            "number": index,
            "sort": sort,
            "first": index == 0,
        }))
    }
}

/// The form of a JSON value, with members in the order in which the service writes them.
pub(super) enum Shape {
    Bool,
    /// 32 bits.
    Integer,
    List(&'static Shape),
    /// 64 bits.
    Long,
    Object(&'static [(&'static str, Shape)]),
    Text,
}

/// A value that does not fit its shape, which the service answers with 400.
#[derive(Debug)]
pub(super) struct Misshapen;

impl Shape {
    /// Returns the members of `value` that the service keeps. Elements of lists may be null.
    pub(super) fn read(&self, value: Value) -> Result<Value, Misshapen> {
        match (self, value) {
            (_, Value::Null) => Ok(Value::Null),
            (Self::Object(members), Value::Object(given)) => object(members, given).map(Value::Object),
            (Self::List(element), Value::Array(given)) => {
                given.into_iter().map(|one| element.read(one)).collect()
            }
            (Self::Text, Value::String(text)) => Ok(Value::String(text)),
            (Self::Text, value @ (Value::Bool(_) | Value::Number(_))) => Ok(Value::String(value.to_string())),
            (Self::Bool, value) => boolean(&value),
            (Self::Integer, value) => integer(&value, i64::from(i32::MIN)..=i64::from(i32::MAX)),
            (Self::Long, value) => integer(&value, i64::MIN..=i64::MAX),
            _ => Err(Misshapen),
        }
    }

    /// Writes `value` with its members in the order of the shape.
    pub(super) fn write(&self, value: &Value) -> String {
        match (self, value) {
            (Self::Object(members), Value::Object(given)) => {
                let present = members.iter().filter_map(|(name, shape)| {
                    let value = given.get(*name)?;
                    Some(format!("\"{name}\":{}", shape.write(value)))
                });
                format!("{{{}}}", present.collect::<Vec<_>>().join(","))
            }
            (Self::List(element), Value::Array(given)) => {
                let written: Vec<_> = given.iter().map(|one| element.write(one)).collect();
                format!("[{}]", written.join(","))
            }
            _ => value.to_string(),
        }
    }
}

fn object(
    members: &[(&'static str, Shape)],
    mut given: Map<String, Value>,
) -> Result<Map<String, Value>, Misshapen> {
    let mut kept = Map::new();
    for (name, shape) in members {
        let value = shape.read(given.remove(*name).unwrap_or_default())?;
        if !value.is_null() {
            kept.insert((*name).to_owned(), value);
        }
    }
    Ok(kept)
}

fn boolean(value: &Value) -> Result<Value, Misshapen> {
    match value {
        Value::Bool(value) => Ok((*value).into()),
        Value::Number(number) => Ok((number.as_i64().ok_or(Misshapen)? != 0).into()),
        Value::String(text) => match text.trim() {
            "" => Ok(Value::Null),
            "true" | "True" | "TRUE" => Ok(true.into()),
            "false" | "False" | "FALSE" => Ok(false.into()),
            _ => Err(Misshapen),
        },
        _ => Err(Misshapen),
    }
}

fn integer(value: &Value, range: std::ops::RangeInclusive<i64>) -> Result<Value, Misshapen> {
    let number = match value {
        Value::Number(number) => number.as_i64().or_else(|| truncated(number.as_f64()?)),
        Value::String(text) if text.trim().is_empty() => return Ok(Value::Null),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.filter(|number| range.contains(number)).map(Value::from).ok_or(Misshapen)
}

/// Drops the fraction, as the service does.
fn truncated(number: f64) -> Option<i64> {
    format!("{:.0}", number.trunc()).parse().ok()
}

/// Returns the date with milliseconds and the service's time zone.
pub(super) fn timestamp(at: Timestamp) -> String {
    at.to_zoned(TimeZone::fixed(Offset::constant(8))).strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string()
}

/// Returns the date as its column keeps it: whole seconds.
pub(super) fn kept(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).expect("a second of a valid time is valid")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SHAPE: Shape = Shape::Object(&[
        ("text", Shape::Text),
        ("flag", Shape::Bool),
        ("count", Shape::Integer),
        ("list", Shape::List(&Shape::Text)),
    ]);

    #[test]
    fn unknown_and_null_members_are_dropped_and_scalars_converted() {
        for (given, kept) in [
            (json!({"text": "a", "other": 1}), json!({"text": "a"})),
            (json!({"text": null, "list": null}), json!({})),
            (
                json!({"text": 1.5, "flag": "true", "count": "7"}),
                json!({"text": "1.5", "flag": true, "count": 7}),
            ),
            (
                json!({"text": true, "flag": 0, "count": 1.9}),
                json!({"text": "true", "flag": false, "count": 1}),
            ),
            (json!({"count": "", "flag": ""}), json!({})),
            (json!({"list": ["a", null, 1]}), json!({"list": ["a", null, "1"]})),
        ] {
            assert_eq!(SHAPE.read(given).unwrap(), kept);
        }
    }

    #[test]
    fn a_value_of_another_shape_is_refused() {
        for given in [
            json!([]),
            json!("text"),
            json!({"text": {}}),
            json!({"text": []}),
            json!({"flag": "yes"}),
            json!({"count": "many"}),
            json!({"count": 3_000_000_000_i64}),
            json!({"list": "a"}),
        ] {
            assert!(SHAPE.read(given.clone()).is_err(), "{given}");
        }
    }

    #[test]
    fn values_are_written_in_the_order_of_the_shape() {
        let value = json!({"list": ["b", "a"], "count": 1, "text": "x"});
        assert_eq!(SHAPE.write(&value), r#"{"text":"x","count":1,"list":["b","a"]}"#);
    }

    #[test]
    fn dates_have_milliseconds_and_the_services_offset() {
        let at: Timestamp = "2026-11-21T15:25:57.7979Z".parse().unwrap();
        assert_eq!(timestamp(at), "2026-11-21T23:25:57.797+08:00");
        assert_eq!(timestamp(kept(at)), "2026-11-21T23:25:57.000+08:00");
    }
}
