//! Between JSON and Python's values.

use rustpython_vm::builtins::{PyDict, PyFloat, PyInt, PyList, PyStr, PyTuple};
use rustpython_vm::{AsObject, PyObject, PyObjectRef, PyResult, VirtualMachine};
use serde_json::{Map, Number, Value};

pub(crate) fn to_python(value: Value, vm: &VirtualMachine) -> PyResult {
    Ok(match value {
        Value::Null => vm.ctx.none(),
        Value::Bool(is) => vm.ctx.new_bool(is).into(),
        Value::Number(number) => number_to_python(&number, vm),
        Value::String(text) => vm.ctx.new_str(text).into(),
        Value::Array(items) => {
            let items: PyResult<Vec<PyObjectRef>> =
                items.into_iter().map(|item| to_python(item, vm)).collect();
            vm.ctx.new_list(items?).into()
        }
        Value::Object(members) => {
            let dict = vm.ctx.new_dict();
            for (name, member) in members {
                dict.set_item(name.as_str(), to_python(member, vm)?, vm)?;
            }
            dict.into()
        }
    })
}

fn number_to_python(number: &Number, vm: &VirtualMachine) -> PyObjectRef {
    if let Some(int) = number.as_i64() {
        return vm.ctx.new_int(int).into();
    }
    if let Some(int) = number.as_u64() {
        return vm.ctx.new_int(int).into();
    }
    vm.ctx.new_float(number.as_f64().unwrap_or(f64::INFINITY)).into()
}

pub(crate) fn from_python(object: &PyObject, vm: &VirtualMachine) -> PyResult<Value> {
    vm.with_recursion("while making JSON of a value", || {
        if vm.is_none(object) {
            return Ok(Value::Null);
        }
        if object.class().is(vm.ctx.types.bool_type) {
            return Ok(Value::Bool(object.to_owned().is_true(vm)?));
        }
        if let Some(int) = object.downcast_ref::<PyInt>() {
            return int_from_python(int, vm);
        }
        if let Some(float) = object.downcast_ref::<PyFloat>() {
            let number = Number::from_f64(float.to_f64());
            return number.map(Value::Number).ok_or_else(|| vm.new_value_error("JSON has no such float"));
        }
        if let Some(text) = object.downcast_ref::<PyStr>() {
            return Ok(Value::String(text.to_string_lossy().into_owned()));
        }
        if let Some(list) = object.downcast_ref::<PyList>() {
            let items = list.borrow_vec().to_vec();
            return items_from_python(&items, vm);
        }
        if let Some(tuple) = object.downcast_ref::<PyTuple>() {
            return items_from_python(tuple.as_slice(), vm);
        }
        if let Some(dict) = object.downcast_ref::<PyDict>() {
            return dict_from_python(dict, vm);
        }
        let class = object.class().name().to_string();
        Err(vm.new_type_error(format!("a value of type {class} cannot be told in JSON")))
    })
}

fn int_from_python(int: &PyInt, vm: &VirtualMachine) -> PyResult<Value> {
    if let Ok(small) = int.try_to_primitive::<i64>(vm) {
        return Ok(small.into());
    }
    let wide = int.try_to_primitive::<u64>(vm).map(Value::from);
    wide.map_err(|_| vm.new_value_error("an integer beyond 64 bits cannot be told in JSON: make it a text"))
}

fn items_from_python(items: &[PyObjectRef], vm: &VirtualMachine) -> PyResult<Value> {
    let items: PyResult<Vec<Value>> = items.iter().map(|item| from_python(item, vm)).collect();
    Ok(Value::Array(items?))
}

fn dict_from_python(dict: &rustpython_vm::Py<PyDict>, vm: &VirtualMachine) -> PyResult<Value> {
    let mut members = Map::new();
    for (key, member) in dict {
        let Some(name) = key.downcast_ref::<PyStr>() else {
            return Err(vm.new_type_error("the keys of an object in JSON are texts"));
        };
        members.insert(name.to_string_lossy().into_owned(), from_python(&member, vm)?);
    }
    Ok(Value::Object(members))
}
