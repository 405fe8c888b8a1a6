//! A serialiser that writes canonical JSON into one buffer.

use std::io::Write as _;

use serde::ser::{self, Serialize};

use super::{CanonicalError, MAX_DEPTH, key};

type Done = Result<(), CanonicalError>;

/// 2^53 − 1, the largest integer that every JSON reader keeps.
const EXACT: u64 = (1 << 53) - 1;

/// The canonical JSON of `value`.
pub fn to_vec<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, CanonicalError> {
    let mut out = Vec::with_capacity(256);
    value.serialize(Writer { out: &mut out, depth: 0 })?;
    Ok(out)
}

struct Writer<'a> {
    out: &'a mut Vec<u8>,
    depth: usize,
}

impl<'a> Writer<'a> {
    fn raw(self, text: &[u8]) -> Done {
        self.out.extend_from_slice(text);
        Ok(())
    }

    fn integer(self, magnitude: u64, text: std::fmt::Arguments<'_>) -> Done {
        if magnitude > EXACT {
            return Err(CanonicalError::Inexact);
        }
        // Writing to a Vec has no error.
        let _ = self.out.write_fmt(text);
        Ok(())
    }

    fn array(self, close: &'static [u8]) -> Result<Array<'a>, CanonicalError> {
        let depth = deeper(self.depth)?;
        self.out.push(b'[');
        Ok(Array { start: self.out.len(), out: self.out, depth, close })
    }

    fn object(self, close: &'static [u8]) -> Result<Object<'a>, CanonicalError> {
        let depth = deeper(self.depth)?;
        self.out.push(b'{');
        Ok(Object { out: self.out, depth, members: Vec::new(), close })
    }

    /// Opens the object around an enum variant's content: `{"name":`.
    fn variant(self, name: &'static str) -> Result<Self, CanonicalError> {
        let depth = deeper(self.depth)?;
        self.out.push(b'{');
        string(self.out, name);
        self.out.push(b':');
        Ok(Self { out: self.out, depth })
    }
}

fn deeper(depth: usize) -> Result<usize, CanonicalError> {
    if depth < MAX_DEPTH { Ok(depth + 1) } else { Err(CanonicalError::Depth) }
}

/// Writes a JSON string with the shortest escapes.
fn string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|byte| matches!(byte, 0..0x20 | b'"' | b'\\')) {
        let Some((plain, [byte, after @ ..])) = rest.split_at_checked(at) else { break };
        out.extend_from_slice(plain);
        escape(out, *byte);
        rest = after;
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

fn escape(out: &mut Vec<u8>, byte: u8) {
    let short = match byte {
        8 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        12 => b'f',
        b'\r' => b'r',
        b'"' | b'\\' => byte,
        _ => {
            let _ = write!(out, "\\u{byte:04x}");
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

impl<'a> ser::Serializer for Writer<'a> {
    type Ok = ();
    type Error = CanonicalError;
    type SerializeSeq = Array<'a>;
    type SerializeTuple = Array<'a>;
    type SerializeTupleStruct = Array<'a>;
    type SerializeTupleVariant = Array<'a>;
    type SerializeMap = Object<'a>;
    type SerializeStruct = Object<'a>;
    type SerializeStructVariant = Object<'a>;

    fn serialize_bool(self, v: bool) -> Done {
        self.raw(if v { b"true" } else { b"false" })
    }

    fn serialize_i8(self, v: i8) -> Done {
        self.serialize_i64(v.into())
    }

    fn serialize_i16(self, v: i16) -> Done {
        self.serialize_i64(v.into())
    }

    fn serialize_i32(self, v: i32) -> Done {
        self.serialize_i64(v.into())
    }

    fn serialize_i64(self, v: i64) -> Done {
        self.integer(v.unsigned_abs(), format_args!("{v}"))
    }

    fn serialize_i128(self, v: i128) -> Done {
        self.serialize_i64(v.try_into().map_err(|_| CanonicalError::Inexact)?)
    }

    fn serialize_u8(self, v: u8) -> Done {
        self.serialize_u64(v.into())
    }

    fn serialize_u16(self, v: u16) -> Done {
        self.serialize_u64(v.into())
    }

    fn serialize_u32(self, v: u32) -> Done {
        self.serialize_u64(v.into())
    }

    fn serialize_u64(self, v: u64) -> Done {
        self.integer(v, format_args!("{v}"))
    }

    fn serialize_u128(self, v: u128) -> Done {
        self.serialize_u64(v.try_into().map_err(|_| CanonicalError::Inexact)?)
    }

    fn serialize_f32(self, v: f32) -> Done {
        self.serialize_f64(v.into())
    }

    fn serialize_f64(self, v: f64) -> Done {
        if !v.is_finite() {
            return Err(CanonicalError::NotFinite);
        }
        self.raw(ryu_js::Buffer::new().format_finite(v).as_bytes())
    }

    fn serialize_char(self, v: char) -> Done {
        self.serialize_str(v.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, v: &str) -> Done {
        string(self.out, v);
        Ok(())
    }

    fn serialize_bytes(self, v: &[u8]) -> Done {
        self.collect_seq(v)
    }

    fn serialize_none(self) -> Done {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, v: &T) -> Done {
        v.serialize(self)
    }

    fn serialize_unit(self) -> Done {
        self.raw(b"null")
    }

    fn serialize_unit_struct(self, _: &'static str) -> Done {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Done {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, v: &T) -> Done {
        v.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        v: &T,
    ) -> Done {
        let Writer { out, depth } = self.variant(variant)?;
        v.serialize(Writer { out, depth })?;
        out.push(b'}');
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Array<'a>, CanonicalError> {
        self.array(b"]")
    }

    fn serialize_tuple(self, _: usize) -> Result<Array<'a>, CanonicalError> {
        self.array(b"]")
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Array<'a>, CanonicalError> {
        self.array(b"]")
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Array<'a>, CanonicalError> {
        self.variant(variant)?.array(b"]}")
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Object<'a>, CanonicalError> {
        self.object(b"}")
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Object<'a>, CanonicalError> {
        self.object(b"}")
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Object<'a>, CanonicalError> {
        self.variant(variant)?.object(b"}}")
    }
}

/// An array that is being written.
struct Array<'a> {
    out: &'a mut Vec<u8>,
    /// Offset after the bracket.
    start: usize,
    depth: usize,
    close: &'static [u8],
}

impl Array<'_> {
    fn element<T: Serialize + ?Sized>(&mut self, v: &T) -> Done {
        if self.out.len() > self.start {
            self.out.push(b',');
        }
        v.serialize(Writer { out: self.out, depth: self.depth })
    }

    fn close(self) {
        self.out.extend_from_slice(self.close);
    }
}

/// An object that is being written: its members lie in `out` in the order in which they came,
/// each led by `{` or `,`, and are put in order at the end.
struct Object<'a> {
    out: &'a mut Vec<u8>,
    depth: usize,
    members: Vec<Member>,
    close: &'static [u8],
}

/// Offsets of one member.
#[derive(Clone, Copy)]
struct Member {
    start: usize,
    colon: usize,
    end: usize,
}

impl Member {
    /// The spelled key, between its quotes.
    fn key(self, out: &[u8]) -> &[u8] {
        out.get(self.start + 1..self.colon - 1).unwrap_or_default()
    }

    fn whole(self, out: &[u8]) -> &[u8] {
        out.get(self.start..self.end).unwrap_or_default()
    }
}

impl Object<'_> {
    fn key<T: Serialize + ?Sized>(&mut self, key: &T) -> Done {
        if !self.members.is_empty() {
            self.out.push(b',');
        }
        let start = self.out.len();
        key.serialize(Writer { out: self.out, depth: self.depth })?;
        match self.out.get(start) {
            Some(b'"') => {}
            Some(b'-' | b'0'..=b'9' | b't' | b'f') => {
                self.out.insert(start, b'"');
                self.out.push(b'"');
            }
            _ => return Err(CanonicalError::Key),
        }
        let colon = self.out.len();
        self.out.push(b':');
        self.members.push(Member { start, colon, end: colon });
        Ok(())
    }

    fn value<T: Serialize + ?Sized>(&mut self, v: &T) -> Done {
        v.serialize(Writer { out: self.out, depth: self.depth })?;
        if let Some(member) = self.members.last_mut() {
            member.end = self.out.len();
        }
        Ok(())
    }

    fn close(mut self) -> Done {
        self.order()?;
        self.out.extend_from_slice(self.close);
        Ok(())
    }

    fn order(&mut self) -> Done {
        let out = &*self.out;
        let order = |a: &Member, b: &Member| key::compare(a.key(out), b.key(out));
        if self.members.is_sorted_by(|a, b| order(a, b).is_lt()) {
            return Ok(());
        }
        let first = self.members.first().map_or(out.len(), |member| member.start);
        self.members.sort_by(order);
        if !self.members.is_sorted_by(|a, b| order(a, b).is_lt()) {
            return Err(CanonicalError::Duplicate);
        }
        let wholes: Vec<&[u8]> = self.members.iter().map(|member| member.whole(out)).collect();
        let ordered = wholes.join(&b',');
        self.out.truncate(first);
        self.out.extend_from_slice(&ordered);
        Ok(())
    }
}

impl ser::SerializeSeq for Array<'_> {
    type Ok = ();
    type Error = CanonicalError;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, v: &T) -> Done {
        self.element(v)
    }

    fn end(self) -> Done {
        self.close();
        Ok(())
    }
}

impl ser::SerializeTuple for Array<'_> {
    type Ok = ();
    type Error = CanonicalError;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, v: &T) -> Done {
        self.element(v)
    }

    fn end(self) -> Done {
        self.close();
        Ok(())
    }
}

impl ser::SerializeTupleStruct for Array<'_> {
    type Ok = ();
    type Error = CanonicalError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, v: &T) -> Done {
        self.element(v)
    }

    fn end(self) -> Done {
        self.close();
        Ok(())
    }
}

impl ser::SerializeTupleVariant for Array<'_> {
    type Ok = ();
    type Error = CanonicalError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, v: &T) -> Done {
        self.element(v)
    }

    fn end(self) -> Done {
        self.close();
        Ok(())
    }
}

impl ser::SerializeMap for Object<'_> {
    type Ok = ();
    type Error = CanonicalError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Done {
        self.key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, v: &T) -> Done {
        self.value(v)
    }

    fn end(self) -> Done {
        self.close()
    }
}

impl ser::SerializeStruct for Object<'_> {
    type Ok = ();
    type Error = CanonicalError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, v: &T) -> Done {
        self.key(key)?;
        self.value(v)
    }

    fn end(self) -> Done {
        self.close()
    }
}

impl ser::SerializeStructVariant for Object<'_> {
    type Ok = ();
    type Error = CanonicalError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, v: &T) -> Done {
        self.key(key)?;
        self.value(v)
    }

    fn end(self) -> Done {
        self.close()
    }
}
