//! Arguments of a tool: described once; the schema that the model sees and the checks come from it.

use names::Span;
use serde_json::{Map, Value, json};

/// One argument.
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) required: bool,
    pub(crate) help: &'static str,
}

/// What an argument may be.
pub(crate) enum Kind {
    /// Text that is not empty.
    Text,
    /// Text.
    Content,
    /// A whole number from 0.
    Count,
    /// True or false.
    Flag,
    /// One of these.
    Choice(&'static [&'static str]),
    /// A list of texts.
    Texts,
    /// A list, not empty, of objects.
    Each(&'static [Parameter]),
}

pub(crate) const fn required(name: &'static str, kind: Kind, help: &'static str) -> Parameter {
    Parameter { name, kind, required: true, help }
}

pub(crate) const fn optional(name: &'static str, kind: Kind, help: &'static str) -> Parameter {
    Parameter { name, kind, required: false, help }
}

/// The JSON schema of an object with these.
pub(crate) fn schema(parameters: &[Parameter]) -> Value {
    let property = |parameter: &Parameter| {
        let mut schema = parameter.kind.schema();
        if let (Some(object), false) = (schema.as_object_mut(), parameter.help.is_empty()) {
            object.insert("description".to_owned(), parameter.help.into());
        }
        (parameter.name.to_owned(), schema)
    };
    let required = parameters.iter().filter(|parameter| parameter.required);
    json!({
        "type": "object",
        "properties": parameters.iter().map(property).collect::<Map<_, _>>(),
        "required": required.map(|parameter| parameter.name).collect::<Vec<_>>(),
        "additionalProperties": false,
    })
}

/// An object that has what these parameters say, and nothing else.
pub(crate) fn check(parameters: &[Parameter], given: Value) -> Result<Arguments, Vec<String>> {
    let Value::Object(mut given) = given else {
        return Err(vec!["the arguments are not a JSON object".to_owned()]);
    };
    // Some models spell an argument that they leave out as null.
    given.retain(|_, value| !value.is_null());
    let unknown = given.keys().filter(|key| !parameters.iter().any(|known| known.name == **key));
    let unknown =
        unknown.map(|key| format!("there is no argument `{}`", names::printable(key.as_bytes())));
    let wrong =
        parameters.iter().flat_map(|parameter| parameter.misfits(given.get(parameter.name)));
    let misfits: Vec<_> = unknown.chain(wrong).take(MOST_MISFITS).collect();
    if misfits.is_empty() { Ok(Arguments(given)) } else { Err(misfits) }
}

/// More than this helps nobody.
const MOST_MISFITS: usize = 5;

impl Parameter {
    fn misfits(&self, given: Option<&Value>) -> Vec<String> {
        let name = self.name;
        match given {
            None if self.required => vec![format!("`{name}` is missing")],
            None => Vec::new(),
            Some(value) if self.kind.fits(value) => self.kind.misfits_within(name, value),
            Some(_) => vec![format!("`{name}` must be {}", self.kind.wanted())],
        }
    }
}

impl Kind {
    fn schema(&self) -> Value {
        match self {
            Self::Text | Self::Content => json!({"type": "string"}),
            Self::Count => json!({"type": "integer"}),
            Self::Flag => json!({"type": "boolean"}),
            Self::Choice(choices) => json!({"enum": choices}),
            Self::Texts => json!({"type": "array", "items": {"type": "string"}}),
            Self::Each(parameters) => json!({"type": "array", "items": schema(parameters)}),
        }
    }

    fn fits(&self, value: &Value) -> bool {
        match self {
            Self::Text => value.as_str().is_some_and(|text| !text.is_empty()),
            Self::Content => value.is_string(),
            Self::Count => value.is_u64(),
            Self::Flag => value.is_boolean(),
            Self::Choice(choices) => value.as_str().is_some_and(|text| choices.contains(&text)),
            Self::Texts => value.as_array().is_some_and(|all| all.iter().all(Value::is_string)),
            Self::Each(_) => value.as_array().is_some_and(|all| !all.is_empty()),
        }
    }

    fn wanted(&self) -> String {
        match self {
            Self::Text => "text that is not empty".to_owned(),
            Self::Content => "text".to_owned(),
            Self::Count => "a whole number from 0".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Choice(choices) => format!("one of {}", choices.join(", ")),
            Self::Texts => "a list of texts".to_owned(),
            Self::Each(_) => "a list that is not empty".to_owned(),
        }
    }

    /// What is wrong with the objects of a list.
    fn misfits_within(&self, name: &str, value: &Value) -> Vec<String> {
        let (Self::Each(parameters), Some(items)) = (self, value.as_array()) else {
            return Vec::new();
        };
        let mut misfits = Vec::new();
        for (item, at) in items.iter().zip(1..) {
            // Cloned only to be looked at: the lists are as short as what a model writes.
            if let Err(wrong) = check(parameters, item.clone()) {
                let wrong = wrong.into_iter().map(|why| format!("item {at} of `{name}`: {why}"));
                misfits.extend(wrong);
            }
        }
        misfits
    }
}

/// Arguments that were checked; each can be taken once.
pub(crate) struct Arguments(Map<String, Value>);

impl Arguments {
    pub(crate) fn text(&mut self, name: &str) -> Result<String, String> {
        self.maybe(name).ok_or_else(|| format!("`{name}` is missing"))
    }

    pub(crate) fn maybe(&mut self, name: &str) -> Option<String> {
        match self.0.remove(name)? {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn count(&mut self, name: &str) -> Option<u64> {
        self.0.remove(name)?.as_u64()
    }

    pub(crate) fn seconds(&mut self, name: &str) -> Option<Span> {
        let millis = self.count(name)?.saturating_mul(1_000);
        Some(Span::from_millis(millis))
    }

    pub(crate) fn flag(&mut self, name: &str) -> bool {
        self.0.remove(name).and_then(|value| value.as_bool()).unwrap_or(false)
    }

    pub(crate) fn texts(&mut self, name: &str) -> Vec<String> {
        let Some(Value::Array(all)) = self.0.remove(name) else { return Vec::new() };
        let text = |value| match value {
            Value::String(text) => Some(text),
            _ => None,
        };
        all.into_iter().filter_map(text).collect()
    }

    pub(crate) fn each<T>(
        &mut self,
        name: &str,
        read: fn(Self) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        let Some(Value::Array(all)) = self.0.remove(name) else { return Ok(Vec::new()) };
        let object = |value| match value {
            Value::Object(mut object) => {
                object.retain(|_, value: &mut Value| !value.is_null());
                Some(Self(object))
            }
            _ => None,
        };
        all.into_iter().filter_map(object).map(read).collect()
    }
}
