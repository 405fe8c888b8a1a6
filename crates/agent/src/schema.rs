//! A strict subset of JSON Schema, to hold a last message to.
//!
//! What it knows it checks; a keyword that it does not know is an error when the schema is read,
//! so that nothing is promised that is not checked.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Map, Value};

/// A schema that was read.
#[derive(Debug, Clone)]
pub struct Schema {
    source: Value,
    root: Node,
    definitions: BTreeMap<String, Node>,
}

/// Why a schema can't be used, or a value does not fit it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// Where: a path of members and positions; empty: the whole.
    pub at: String,
    /// What is wrong there.
    pub why: String,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at.as_str() {
            "" => f.write_str(&self.why),
            at => write!(f, "{at}: {}", self.why),
        }
    }
}

impl std::error::Error for Misfit {}

#[derive(Debug, Clone, Default)]
struct Node {
    /// No value fits.
    never: bool,
    types: Option<Vec<Type>>,
    choices: Option<Vec<Value>>,
    any_of: Vec<Node>,
    reference: Option<String>,
    properties: BTreeMap<String, Node>,
    required: Vec<String>,
    others: Option<Box<Node>>,
    items: Option<Box<Node>>,
    numbers: Numbers,
    length: Range,
    count: Range,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

#[derive(Debug, Clone, Copy, Default)]
struct Numbers {
    least: Option<f64>,
    most: Option<f64>,
    above: Option<f64>,
    below: Option<f64>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Range {
    least: Option<u64>,
    most: Option<u64>,
}

/// Deepest nesting that is looked into.
const DEEPEST: usize = 64;
/// Members that say something to people and nothing about values.
const NOTES: &[&str] =
    &["title", "description", "default", "examples", "$schema", "$id", "$comment", "deprecated"];

impl Schema {
    /// Reads a schema.
    ///
    /// # Errors
    /// The first thing in it that is wrong or not known.
    pub fn read(source: &Value) -> Result<Self, Misfit> {
        let root = Node::read(source, "", 0)?;
        let mut definitions = BTreeMap::new();
        for group in ["$defs", "definitions"] {
            let Some(all) = source.get(group) else { continue };
            for (name, node) in object(all, group)? {
                let at = format!("{group}.{name}");
                definitions.insert(format!("#/{group}/{name}"), Node::read(node, &at, 0)?);
            }
        }
        let schema = Self { source: source.clone(), root, definitions };
        schema.broken_reference().map_or(Ok(schema), Err)
    }

    /// As it was read.
    #[must_use]
    pub fn source(&self) -> &Value {
        &self.source
    }

    /// What about a value does not fit; nothing if it fits.
    #[must_use]
    pub fn misfits(&self, value: &Value) -> Vec<Misfit> {
        let mut found = Vec::new();
        self.look(&self.root, value, "", 0, &mut found);
        found
    }

    /// A text that has to be JSON that fits.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn fit(&self, text: &str) -> Result<Value, Vec<Misfit>> {
        let value = serde_json::from_str(text).map_err(|error| {
            vec![Misfit { at: String::new(), why: format!("it is not JSON: {error}") }]
        })?;
        let misfits = self.misfits(&value);
        if misfits.is_empty() { Ok(value) } else { Err(misfits) }
    }

    /// A reference to nothing, or one that comes back to itself without looking at a smaller value:
    /// checking it would never end.
    fn broken_reference(&self) -> Option<Misfit> {
        let all = std::iter::once(&self.root).chain(self.definitions.values());
        let mut references = Vec::new();
        all.for_each(|node| node.references(&mut references));
        let is_missing = |name: &&&String| !self.definitions.contains_key(**name);
        if let Some(missing) = references.iter().find(is_missing) {
            return Some(misfit("$ref", format!("there is no {missing}")));
        }
        let circle = self.definitions.keys().find(|name| self.means_itself(name))?;
        Some(misfit("$ref", format!("{circle} means itself")))
    }

    fn means_itself(&self, name: &str) -> bool {
        let mut known = BTreeSet::new();
        let mut next = vec![name];
        while let Some(node) = next.pop().and_then(|name| self.definitions.get(name)) {
            let mut same = Vec::new();
            node.same_value(&mut same);
            next.extend(same.into_iter().filter(|name| known.insert(*name)));
        }
        known.contains(name)
    }

    fn look(&self, node: &Node, value: &Value, at: &str, depth: usize, to: &mut Vec<Misfit>) {
        if depth > DEEPEST {
            to.push(misfit(at, "it is nested too deep"));
            return;
        }
        if let Some(named) = node.reference.as_ref().and_then(|name| self.definitions.get(name)) {
            self.look(named, value, at, depth + 1, to);
        }
        to.extend(node.itself(value).into_iter().map(|why| misfit(at, why)));
        if !node.any_of.is_empty() && !node.any_of.iter().any(|one| self.fits(one, value, depth)) {
            to.push(misfit(at, "it fits none of the choices"));
        }
        match value {
            Value::Object(members) => self.look_at_members(node, members, at, depth, to),
            Value::Array(items) => {
                let Some(item) = &node.items else { return };
                for (value, position) in items.iter().zip(0_usize..) {
                    self.look(item, value, &format!("{at}[{position}]"), depth + 1, to);
                }
            }
            _ => {}
        }
    }

    fn look_at_members(
        &self,
        node: &Node,
        members: &Map<String, Value>,
        at: &str,
        depth: usize,
        to: &mut Vec<Misfit>,
    ) {
        for (name, value) in members {
            let at = below(at, name);
            match (node.properties.get(name), &node.others) {
                (Some(known), _) => self.look(known, value, &at, depth + 1, to),
                (None, Some(others)) => self.look(others, value, &at, depth + 1, to),
                (None, None) => {}
            }
        }
    }

    fn fits(&self, node: &Node, value: &Value, depth: usize) -> bool {
        let mut found = Vec::new();
        self.look(node, value, "", depth + 1, &mut found);
        found.is_empty()
    }
}

impl Node {
    fn read(source: &Value, at: &str, depth: usize) -> Result<Self, Misfit> {
        if depth > DEEPEST {
            return Err(misfit(at, "it is nested too deep"));
        }
        let members = match source {
            Value::Bool(any) => return Ok(Self { never: !any, ..Self::default() }),
            other => object(other, at)?,
        };
        let mut node = Self::default();
        for (key, value) in members {
            node.take(key, value, &below(at, key), depth + 1)?;
        }
        Ok(node)
    }

    fn take(&mut self, key: &str, value: &Value, at: &str, depth: usize) -> Result<(), Misfit> {
        match key {
            "type" => self.types = Some(types(value, at)?),
            "enum" => self.choices = Some(array(value, at)?.clone()),
            "const" => self.choices = Some(vec![value.clone()]),
            "anyOf" => {
                self.any_of = array(value, at)?
                    .iter()
                    .map(|one| Self::read(one, at, depth))
                    .collect::<Result<_, _>>()?;
            }
            "$ref" => self.reference = Some(text(value, at)?),
            "properties" => {
                for (name, property) in object(value, at)? {
                    let node = Self::read(property, &below(at, name), depth)?;
                    self.properties.insert(name.clone(), node);
                }
            }
            "required" => {
                let names = array(value, at)?.iter().map(|name| text(name, at));
                self.required = names.collect::<Result<_, _>>()?;
            }
            "additionalProperties" => self.others = Some(Box::new(Self::read(value, at, depth)?)),
            "items" => self.items = Some(Box::new(Self::read(value, at, depth)?)),
            "minimum" => self.numbers.least = Some(number(value, at)?),
            "maximum" => self.numbers.most = Some(number(value, at)?),
            "exclusiveMinimum" => self.numbers.above = Some(number(value, at)?),
            "exclusiveMaximum" => self.numbers.below = Some(number(value, at)?),
            "minLength" => self.length.least = Some(count(value, at)?),
            "maxLength" => self.length.most = Some(count(value, at)?),
            "minItems" => self.count.least = Some(count(value, at)?),
            "maxItems" => self.count.most = Some(count(value, at)?),
            "$defs" | "definitions" if depth == 1 => {}
            note if NOTES.contains(&note) => {}
            _ => return Err(misfit(at, "this keyword is not supported")),
        }
        Ok(())
    }

    fn references<'a>(&'a self, to: &mut Vec<&'a String>) {
        to.extend(&self.reference);
        let inner = self.any_of.iter().chain(self.properties.values());
        let inner = inner.chain(self.others.as_deref()).chain(self.items.as_deref());
        inner.for_each(|node| node.references(to));
    }

    /// The definitions that have to fit the same value.
    fn same_value<'a>(&'a self, to: &mut Vec<&'a str>) {
        to.extend(self.reference.as_deref());
        self.any_of.iter().for_each(|one| one.same_value(to));
    }

    /// What is wrong with a value, but for what is within it.
    fn itself(&self, value: &Value) -> Vec<String> {
        if self.never {
            return vec!["it must not be there".to_owned()];
        }
        let mut wrong = Vec::new();
        if let Some(types) = &self.types
            && !types.iter().any(|one| one.fits(value))
        {
            let names: Vec<_> = types.iter().map(|one| one.name()).collect();
            wrong.push(format!("it must be {}", names.join(" or ")));
        }
        if let Some(choices) = &self.choices
            && !choices.contains(value)
        {
            let choices: Vec<_> = choices.iter().map(Value::to_string).collect();
            wrong.push(format!("it must be one of {}", choices.join(", ")));
        }
        match value {
            Value::Object(members) => {
                let missing = self.required.iter().filter(|name| !members.contains_key(*name));
                wrong.extend(missing.map(|name| format!("`{name}` is missing")));
            }
            Value::Array(items) => wrong.extend(self.count.misfit(items.len(), "items")),
            Value::String(text) => {
                wrong.extend(self.length.misfit(text.chars().count(), "characters"));
            }
            Value::Number(number) => wrong.extend(self.numbers.misfit(number.as_f64())),
            _ => {}
        }
        wrong
    }
}

impl Type {
    const ALL: [Self; 7] = [
        Self::Null,
        Self::Boolean,
        Self::Integer,
        Self::Number,
        Self::String,
        Self::Array,
        Self::Object,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }

    fn fits(self, value: &Value) -> bool {
        match self {
            Self::Null => value.is_null(),
            Self::Boolean => value.is_boolean(),
            // 1.0 is an integer (JSON Schema core, section 4.2.3).
            Self::Integer => {
                value.is_i64()
                    || value.is_u64()
                    || value.as_f64().is_some_and(|number| number.fract() == 0.0)
            }
            Self::Number => value.is_number(),
            Self::String => value.is_string(),
            Self::Array => value.is_array(),
            Self::Object => value.is_object(),
        }
    }
}

impl Numbers {
    fn misfit(&self, number: Option<f64>) -> Option<String> {
        let number = number?;
        let wrong = |bound: Option<f64>, holds: fn(f64, f64) -> bool, word: &str| {
            let bound = bound.filter(|bound| !holds(number, *bound))?;
            Some(format!("it must be {word} {bound}"))
        };
        wrong(self.least, |number, bound| number >= bound, "at least")
            .or_else(|| wrong(self.most, |number, bound| number <= bound, "at most"))
            .or_else(|| wrong(self.above, |number, bound| number > bound, "more than"))
            .or_else(|| wrong(self.below, |number, bound| number < bound, "less than"))
    }
}

impl Range {
    fn misfit(self, count: usize, what: &str) -> Option<String> {
        let count = count as u64;
        let few = self.least.filter(|least| count < *least);
        let many = self.most.filter(|most| count > *most);
        few.map(|least| format!("it must have at least {least} {what}"))
            .or_else(|| many.map(|most| format!("it must have at most {most} {what}")))
    }
}

fn misfit(at: &str, why: impl Into<String>) -> Misfit {
    Misfit { at: at.to_owned(), why: why.into() }
}

fn below(at: &str, name: &str) -> String {
    let name = names::printable(name.as_bytes());
    if at.is_empty() { name } else { format!("{at}.{name}") }
}

fn object<'a>(value: &'a Value, at: &str) -> Result<&'a Map<String, Value>, Misfit> {
    value.as_object().ok_or_else(|| misfit(at, "it must be an object"))
}

fn array<'a>(value: &'a Value, at: &str) -> Result<&'a Vec<Value>, Misfit> {
    let array = value.as_array().filter(|array| !array.is_empty() || at.ends_with("required"));
    array.ok_or_else(|| misfit(at, "it must be a list that is not empty"))
}

fn text(value: &Value, at: &str) -> Result<String, Misfit> {
    value.as_str().map(str::to_owned).ok_or_else(|| misfit(at, "it must be text"))
}

fn number(value: &Value, at: &str) -> Result<f64, Misfit> {
    value.as_f64().ok_or_else(|| misfit(at, "it must be a number"))
}

fn count(value: &Value, at: &str) -> Result<u64, Misfit> {
    value.as_u64().ok_or_else(|| misfit(at, "it must be a whole number from 0"))
}

fn types(value: &Value, at: &str) -> Result<Vec<Type>, Misfit> {
    let one = |value: &Value| {
        let name = text(value, at)?;
        let known = Type::ALL.into_iter().find(|one| one.name() == name);
        known.ok_or_else(|| misfit(at, "there is no such type"))
    };
    match value {
        Value::Array(all) => all.iter().map(one).collect(),
        other => Ok(vec![one(other)?]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Schema {
        Schema::read(&json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "verdict": {"enum": ["good", "bad"]},
                "count": {"type": "integer", "minimum": 0, "exclusiveMaximum": 10},
                "names": {"type": "array", "items": {"$ref": "#/$defs/name"}, "maxItems": 2},
                "note": {"anyOf": [{"type": "string", "maxLength": 3}, {"type": "null"}]},
            },
            "required": ["verdict"],
            "additionalProperties": false,
            "$defs": {"name": {"type": "string", "minLength": 2}},
        }))
        .unwrap()
    }

    #[test]
    fn what_fits_fits() {
        for fit in [
            json!({"verdict": "good"}),
            json!({"verdict": "bad", "count": 9, "names": ["ab", "äö"], "note": null}),
            json!({"verdict": "bad", "count": 3.0, "note": "abc"}),
        ] {
            assert_eq!(schema().misfits(&fit), []);
        }
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let value = json!({"count": 10, "names": ["a", 1, "cc"], "note": "long", "x": {}});
        let misfits = schema().misfits(&value).iter().map(Misfit::to_string).collect::<Vec<_>>();
        insta::assert_snapshot!(misfits.join("\n"), @r#"
        `verdict` is missing
        count: it must be less than 10
        names: it must have at most 2 items
        names[0]: it must have at least 2 characters
        names[1]: it must be string
        note: it fits none of the choices
        x: it must not be there
        "#);
        assert!(schema().fit("```json\n{}\n```").is_err());
        assert!(schema().fit("").is_err());
    }

    #[test]
    fn a_schema_that_could_not_be_held_is_refused() {
        let unfit = [
            json!([]),
            json!({"type": "text"}),
            json!({"pattern": "x"}),
            json!({"properties": {"a": {"oneOf": []}}}),
            json!({"$ref": "#/$defs/none"}),
            json!({"items": {"$defs": {}}}),
            json!({"enum": []}),
        ];
        let said: Vec<_> =
            unfit.iter().map(|bad| Schema::read(bad).unwrap_err().to_string()).collect();
        insta::assert_snapshot!(said.join("\n"), @r#"
        it must be an object
        type: there is no such type
        pattern: this keyword is not supported
        properties.a.oneOf: this keyword is not supported
        $ref: there is no #/$defs/none
        items.$defs: this keyword is not supported
        enum: it must be a list that is not empty
        "#);
    }

    #[test]
    fn a_schema_may_mean_itself_only_for_smaller_values() {
        let two = json!({"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]});
        let around = json!({"$ref": "#/$defs/a", "$defs": {"a": two}});
        let refused = Schema::read(&around).unwrap_err().to_string();
        assert_eq!(refused, "$ref: #/$defs/a means itself");
        let list = json!({"type": "object", "properties": {"next": {"$ref": "#/$defs/list"}}});
        let list = Schema::read(&json!({"$ref": "#/$defs/list", "$defs": {"list": list}})).unwrap();
        assert_eq!(list.misfits(&json!({"next": {"next": {}}})), []);
        assert_eq!(list.misfits(&json!({"next": {"next": 1}})).len(), 1);
    }
}
