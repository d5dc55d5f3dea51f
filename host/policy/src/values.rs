//! From JSON values to Cedar's, one by one, as restricted expressions.
//!
//! Nothing is parsed here and nothing is given to Cedar as JSON, so no text
//! that a caller writes can become an entity or an extension value.

use std::collections::BTreeMap;

use cedar_policy::{Entities, Entity, EntityUid, RestrictedExpression as Expression};
use countersign_canon::document::{Item, Kind};
use countersign_canon::view::Cursor;
use countersign_canon::{Document, Limits, Value, View};
use countersign_catalog::{Field, Shape};

use crate::keys::Keys;
use crate::names::{self, Types};
use crate::reads::Reads;
use crate::{Agent, Number, Tool};

/// A fact that is not of its form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// The Cedar value that a tag or an attribute holds.
type Member = (String, Expression);

/// The entities of one request.
pub(crate) struct Store<'a> {
    types: &'a Types,
    keys: &'a Keys,
    entities: Vec<Entity>,
}

impl<'a> Store<'a> {
    pub(crate) fn new(types: &'a Types, keys: &'a Keys) -> Self {
        Self {
            types,
            keys,
            entities: Vec::with_capacity(5),
        }
    }

    pub(crate) fn finish(self) -> Result<Entities, Malformed> {
        Entities::from_entities(self.entities, None).map_err(|_| Malformed)
    }

    pub(crate) fn agent(&mut self, agent: Agent<'_>) -> Result<EntityUid, Malformed> {
        let uid = self.types.agent(agent);
        let attributes = [
            text("method", agent.method),
            text("issuer", agent.issuer),
            text("subject", agent.subject),
        ];
        self.add(uid, attributes, [], Vec::new())
    }

    pub(crate) fn tool(&mut self, tool: Tool<'_>) -> Result<EntityUid, Malformed> {
        let uid = self.types.action(names::action_id(tool));
        let server = format!("{}{}", names::SERVER_GROUP, tool.server);
        let groups = names::groups(tool.class).iter().copied();
        let parents = groups
            .chain([server.as_str()])
            .map(|group| self.types.action(group));
        let parents: Vec<EntityUid> = parents.collect();
        self.add(uid, [], parents, Vec::new())
    }

    pub(crate) fn view(&mut self, view: &View) -> Result<EntityUid, Malformed> {
        let mut tags = Vec::new();
        let mut fault = None;
        self.keys
            .find(view.root(), |key, cursor| match of_cursor(cursor) {
                Ok(value) => tags.push((key.to_owned(), value)),
                Err(malformed) => fault = Some(malformed),
            });
        fault.map_or(Ok(()), Err)?;
        self.add(self.types.view("at"), [], [], tags)
    }

    /// A view over a canonical object; `read` says whether any policy reads it.
    pub(crate) fn object(
        &mut self,
        id: &'static str,
        canonical: &[u8],
        read: bool,
    ) -> Result<EntityUid, Malformed> {
        let mut tags = Vec::new();
        if read {
            let document = Document::read(canonical, Limits::STANDARD).map_err(|_| Malformed)?;
            if document.root().kind() != Kind::Object {
                return Err(Malformed);
            }
            let mut fault = None;
            self.keys
                .find(document.root(), |key, item| match of_item(item) {
                    Ok(value) => tags.push((key.to_owned(), value)),
                    Err(malformed) => fault = Some(malformed),
                });
            fault.map_or(Ok(()), Err)?;
        }
        self.add(self.types.view(id), [], [], tags)
    }

    fn add(
        &mut self,
        uid: EntityUid,
        attributes: impl IntoIterator<Item = Member>,
        parents: impl IntoIterator<Item = EntityUid>,
        tags: Vec<Member>,
    ) -> Result<EntityUid, Malformed> {
        let entity =
            Entity::new_with_tags(uid.clone(), attributes, parents, tags).map_err(|_| Malformed)?;
        self.entities.push(entity);
        Ok(uid)
    }
}

/// One string attribute.
pub(crate) fn text(name: &str, value: &str) -> Member {
    (name.to_owned(), Expression::new_string(value.to_owned()))
}

/// What is read of the arguments, by their shape; absent ones are an object
/// without members. A value that does not have its type, read or not, was not
/// held against its schema.
pub(crate) fn args(
    shape: &Shape,
    value: Option<Cursor<'_>>,
    reads: &Reads,
) -> Result<Expression, Malformed> {
    let Some(value) = value else {
        return match shape {
            Shape::Object(fields) if fields.values().all(|field| !field.required) => {
                Expression::new_record([]).map_err(|_| Malformed)
            }
            _ => Err(Malformed),
        };
    };
    Ok(match (shape, value.value()) {
        (Shape::Text, Value::Text(text)) => Expression::new_string(text.clone()),
        (Shape::Boolean, Value::Boolean(value)) => Expression::new_bool(*value),
        (Shape::Integer, Value::Integer(value)) => Expression::new_long(*value),
        (Shape::Number, Value::Integer(value)) => number(&value.to_string())?,
        (Shape::Number, Value::Number(lexeme)) => number(lexeme)?,
        (Shape::Array(items), Value::Array(_)) if reads.whole() => {
            let items = value.children().map(|item| args(items, Some(item), reads));
            Expression::new_set(items.collect::<Result<Vec<_>, _>>()?)
        }
        (Shape::Array(_), Value::Array(_)) => {
            typed(shape, value)?;
            Expression::new_set([])
        }
        (Shape::Object(fields), Value::Object(_)) => {
            let mut members = Vec::new();
            each(fields, value, |name, shape, member| {
                match reads.member(name) {
                    Some(reads) => {
                        members.push((name.to_owned(), args(shape, Some(member), reads)?));
                    }
                    None => typed(shape, member)?,
                }
                Ok(())
            })?;
            Expression::new_record(members).map_err(|_| Malformed)?
        }
        _ => return Err(Malformed),
    })
}

/// Whether a value has its type, where nobody reads it.
fn typed(shape: &Shape, value: Cursor<'_>) -> Result<(), Malformed> {
    match (shape, value.value()) {
        (Shape::Text, Value::Text(_))
        | (Shape::Boolean, Value::Boolean(_))
        | (Shape::Integer | Shape::Number, Value::Integer(_)) => Ok(()),
        (Shape::Number, Value::Number(lexeme)) => Number::of(lexeme).map(drop).ok_or(Malformed),
        (Shape::Array(items), Value::Array(_)) => {
            value.children().try_for_each(|item| typed(items, item))
        }
        (Shape::Object(fields), Value::Object(_)) => {
            each(fields, value, |_, shape, member| typed(shape, member))
        }
        _ => Err(Malformed),
    }
}

/// Each member that has a shape; an object that lacks a required one does not
/// have its type.
fn each<'v>(
    fields: &BTreeMap<String, Field>,
    value: Cursor<'v>,
    mut member_of: impl FnMut(&str, &Shape, Cursor<'v>) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    let mut missing = fields.values().filter(|field| field.required).count();
    for member in value.children() {
        let name = member.name().unwrap_or_default();
        if let Some(field) = fields.get(name) {
            member_of(name, &field.shape, member)?;
            missing = missing.saturating_sub(usize::from(field.required));
        }
    }
    if missing == 0 { Ok(()) } else { Err(Malformed) }
}

fn of_cursor(cursor: Cursor<'_>) -> Result<Expression, Malformed> {
    match cursor.value() {
        Value::Null => scalar("null", []),
        Value::Boolean(value) => boolean(*value),
        Value::Integer(value) => integer(*value),
        Value::Number(lexeme) => fraction(lexeme),
        Value::Text(value) => string(value),
        Value::Array(count) => container("array", i64::from(*count)),
        Value::Object(count) => container("object", i64::from(*count)),
    }
}

fn of_item(item: Item<'_>) -> Result<Expression, Malformed> {
    match item.kind() {
        Kind::Null => scalar("null", []),
        Kind::True => boolean(true),
        Kind::False => boolean(false),
        Kind::Number => match (item.integer(), item.lexeme()) {
            (Some(value), _) => integer(value),
            (None, Some(lexeme)) => fraction(lexeme),
            (None, None) => Err(Malformed),
        },
        Kind::String => string(&item.text().ok_or(Malformed)?),
        Kind::Array => container("array", count(item.count())),
        Kind::Object => container("object", count(item.count())),
    }
}

fn boolean(value: bool) -> Result<Expression, Malformed> {
    scalar(
        "boolean",
        [("bool".to_owned(), Expression::new_bool(value))],
    )
}

fn integer(value: i64) -> Result<Expression, Malformed> {
    let number = number(&value.to_string())?;
    let long = ("long".to_owned(), Expression::new_long(value));
    scalar("integer", [long, ("number".to_owned(), number)])
}

fn fraction(lexeme: &str) -> Result<Expression, Malformed> {
    scalar("number", [("number".to_owned(), number(lexeme)?)])
}

fn string(value: &str) -> Result<Expression, Malformed> {
    let letters = (
        "len".to_owned(),
        Expression::new_long(count(value.chars().count())),
    );
    scalar("text", [text("text", value), letters])
}

fn container(kind: &str, count: i64) -> Result<Expression, Malformed> {
    scalar(kind, [("len".to_owned(), Expression::new_long(count))])
}

fn scalar<const N: usize>(kind: &str, members: [Member; N]) -> Result<Expression, Malformed> {
    let members = members.into_iter().chain([text("kind", kind)]);
    Expression::new_record(members).map_err(|_| Malformed)
}

fn number(lexeme: &str) -> Result<Expression, Malformed> {
    let Number {
        floor,
        ceil,
        decimal,
    } = Number::of(lexeme).ok_or(Malformed)?;
    let decimal = decimal.map(|decimal| ("decimal".to_owned(), Expression::new_decimal(decimal)));
    let members = [
        text("lexeme", lexeme),
        ("floor".to_owned(), Expression::new_long(floor)),
        ("ceil".to_owned(), Expression::new_long(ceil)),
    ];
    Expression::new_record(members.into_iter().chain(decimal)).map_err(|_| Malformed)
}

fn count(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
