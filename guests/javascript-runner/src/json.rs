//! Between JSON and JavaScript's values. Integers beyond 2^53 are `BigInt`s.

use rquickjs::atom::PredefinedAtom;
use rquickjs::object::Filter;
use rquickjs::{Array, BigInt, Ctx, Exception, IntoJs, Object, Result, Value as Js};
use serde_json::{Map, Number, Value};

/// The largest integer that a number of JavaScript tells from its neighbours.
const EXACT_MAX: u64 = (1 << 53) - 1;
/// Values within values, as in JSON that comes.
const DEPTH_MAX: usize = 120;

pub(crate) fn to_js<'js>(value: Value, ctx: &Ctx<'js>) -> Result<Js<'js>> {
    match value {
        Value::Null => Ok(Js::new_null(ctx.clone())),
        Value::Bool(is) => Ok(Js::new_bool(ctx.clone(), is)),
        Value::Number(number) => number_to_js(&number, ctx),
        Value::String(text) => text.into_js(ctx),
        Value::Array(items) => {
            let array = Array::new(ctx.clone())?;
            for (place, item) in items.into_iter().enumerate() {
                array.set(place, to_js(item, ctx)?)?;
            }
            Ok(array.into_value())
        }
        Value::Object(members) => {
            let object = Object::new(ctx.clone())?;
            for (name, member) in members {
                // Also `__proto__` is a member of its own, as in JSON.parse.
                object.prop(
                    name,
                    rquickjs::object::Property::from(to_js(member, ctx)?)
                        .writable()
                        .enumerable()
                        .configurable(),
                )?;
            }
            Ok(object.into_value())
        }
    }
}

fn number_to_js<'js>(number: &Number, ctx: &Ctx<'js>) -> Result<Js<'js>> {
    if let Some(int) = number.as_i64() {
        if int.unsigned_abs() > EXACT_MAX {
            return Ok(BigInt::from_i64(ctx.clone(), int)?.into_value());
        }
        return Ok(Js::new_number(ctx.clone(), int as f64));
    }
    if let Some(int) = number.as_u64() {
        return Ok(BigInt::from_u64(ctx.clone(), int)?.into_value());
    }
    Ok(Js::new_float(ctx.clone(), number.as_f64().unwrap_or(f64::NAN)))
}

/// What is undefined is null.
pub(crate) fn from_js(value: &Js<'_>) -> Result<Value> {
    told(value, 0)
}

fn told(value: &Js<'_>, depth: usize) -> Result<Value> {
    let ctx = value.ctx();
    if depth > DEPTH_MAX {
        return Err(Exception::throw_type(ctx, "a value that is too deep for JSON, or that holds itself"));
    }
    if value.is_null() || value.is_undefined() {
        return Ok(Value::Null);
    }
    if let Some(is) = value.as_bool() {
        return Ok(is.into());
    }
    if let Some(number) = value.as_number() {
        return number_from_js(number, ctx);
    }
    if let Some(int) = value.as_big_int() {
        return big_from_js(int);
    }
    if let Some(text) = value.as_string() {
        // A half of a pair of surrogates is no text.
        let text = text.to_string();
        return text.map(Value::String).map_err(|_| Exception::throw_type(ctx, "a text that is no Unicode"));
    }
    if let Some(array) = value.as_array() {
        let items: Result<Vec<Value>> =
            (0..array.len()).map(|place| told(&array.get(place)?, depth + 1)).collect();
        return items.map(Value::Array);
    }
    match value.as_object() {
        Some(object) if !object.is_function() => object_from_js(object, depth),
        _ => Err(untold(ctx, value.type_name())),
    }
}

fn untold(ctx: &Ctx<'_>, what: &str) -> rquickjs::Error {
    Exception::throw_type(ctx, &format!("a {what} cannot be told in JSON"))
}

fn number_from_js(number: f64, ctx: &Ctx<'_>) -> Result<Value> {
    if number.fract() == 0.0 && number.abs() <= EXACT_MAX as f64 {
        return Ok((number as i64).into());
    }
    let told = Number::from_f64(number).map(Value::Number);
    told.ok_or_else(|| Exception::throw_type(ctx, "JSON has no such number"))
}

fn big_from_js(int: &BigInt<'_>) -> Result<Value> {
    let ctx = int.ctx();
    // Small ones are equal as they are; of others this says nothing.
    let low = int.clone().to_i64()?;
    if BigInt::from_i64(ctx.clone(), low)? == *int {
        return Ok(low.into());
    }
    let text: String = ctx.globals().get::<_, rquickjs::Function<'_>>("String")?.call((int.clone(),))?;
    let signed = text.parse::<i64>().map(Value::from);
    let wide = signed.or_else(|_| text.parse::<u64>().map(Value::from));
    wide.map_err(|_| {
        Exception::throw_range(ctx, "an integer beyond 64 bits cannot be told in JSON: make it a text")
    })
}

fn object_from_js(object: &Object<'_>, depth: usize) -> Result<Value> {
    if let Some(tell) = object.get::<_, Js<'_>>(PredefinedAtom::ToJSON)?.into_function() {
        let value = tell.call((rquickjs::function::This(object.clone()),))?;
        return told(&value, depth + 1);
    }
    let mut members = Map::new();
    for property in object.own_props::<String, Js<'_>>(Filter::new().string().enum_only()) {
        let (name, member) = property?;
        if !member.is_undefined() {
            members.insert(name, told(&member, depth + 1)?);
        }
    }
    if members.is_empty() {
        refuse_collections(object)?;
    }
    Ok(Value::Object(members))
}

/// What holds its content elsewhere than in properties would be told as if it were empty.
fn refuse_collections(object: &Object<'_>) -> Result<()> {
    let Some(prototype) = object.get_prototype() else { return Ok(()) };
    let class = prototype.get::<_, Js<'_>>("constructor")?;
    let name: Option<String> = class.as_object().and_then(|class| class.get("name").ok());
    match name.as_deref() {
        Some(name @ ("Map" | "Set" | "WeakMap" | "WeakSet" | "Promise" | "RegExp")) => {
            Err(untold(object.ctx(), name))
        }
        _ => Ok(()),
    }
}
