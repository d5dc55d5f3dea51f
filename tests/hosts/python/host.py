"""One released component under `wasmtime`, a fresh instance for every call.

The binding converts a list of bytes one byte at a time through `ctypes`,
which costs minutes at ten megabytes; here such a list is copied at once. A
list of more than 1,024 records comes back as its length, which is all that
the vectors ask of it.
"""

import ctypes
import functools

from wasmtime import Config, Engine, Store
from wasmtime import _ffi as ffi
from wasmtime.component import (
    Component, Linker, ListType, OptionType, Record, RecordType, ResultType, Variant, VariantType,
)

INTERFACE = "countersign:admission/profile@1.0.0"
LONG = 1_024

_VALUE = ffi.wasmtime_component_val_t
_SIZE = ctypes.sizeof(_VALUE)
_BYTE = _VALUE.of.offset
_lower, _lift = ListType.convert_to_c, ListType.convert_from_c


def _list_to_c(self, store, value, pointer):
    if not isinstance(value, bytes):
        _lower(self, store, value, pointer)
        return
    raw = ffi.wasmtime_component_vallist_t()
    ffi.wasmtime_component_vallist_new_uninit(raw, len(value))
    if value:
        first = _VALUE()
        first.kind = ffi.WASMTIME_COMPONENT_U8
        image = bytearray(bytes(first) * len(value))
        image[_BYTE::_SIZE] = value
        memory = (ctypes.c_char * len(image)).from_buffer(image)
        ctypes.memmove(raw.data, memory, len(image))
    pointer.contents.kind = ffi.WASMTIME_COMPONENT_LIST
    pointer.contents.of.list = raw


def _list_from_c(self, value):
    raw = value.of.list
    if self._is_bytes():
        found = ctypes.string_at(raw.data, raw.size * _SIZE)[_BYTE::_SIZE]
    elif raw.size > LONG:
        found = raw.size
    else:
        return _lift(self, value)
    ffi.wasmtime_component_vallist_delete(ctypes.byref(raw))
    return found


def _remembered(kind, name):
    """Makes a property of a type be asked for once."""
    original = getattr(kind, name)
    read = original.fget if isinstance(original, property) else original
    remembered = functools.cached_property(lambda self: read(self))
    if isinstance(original, property):
        setattr(kind, name, remembered)
        remembered.__set_name__(kind, name)
    else:
        remembered.__set_name__(kind, f"_remembered_{name}")
        setattr(kind, f"_remembered_{name}", remembered)
        setattr(kind, name, lambda self: getattr(self, f"_remembered_{name}"))


ListType.convert_to_c, ListType.convert_from_c = _list_to_c, _list_from_c
for _kind, _name in (
    (ListType, "element"), (RecordType, "fields"), (OptionType, "payload"), (OptionType, "_tagged"),
    (VariantType, "cases"), (VariantType, "_tagged"), (ResultType, "ok"), (ResultType, "err"),
    (ResultType, "_tagged"),
):
    _remembered(_kind, _name)


class Profile:
    """A component and its four functions."""

    def __init__(self, path):
        self._engine = Engine(Config())
        self._component = Component(self._engine, path.read_bytes())
        self._linker = Linker(self._engine)
        self._types = {}
        imports = self._component.type.imports(self._engine)
        if imports:
            raise ValueError(f"{path.name} imports {sorted(imports)}")

    def call(self, name, *arguments):
        """What `name` answers, in an instance that nothing ran in before."""
        store = Store(self._engine)
        instance = self._linker.instantiate(store, self._component)
        interface = instance.get_export_index(store, INTERFACE)
        function = instance.get_func(store, instance.get_export_index(store, name, interface))
        kind = self._types.get(name)
        if kind is None:
            found = function.type(store)
            kind = self._types[name] = _Type(found.params, found.result)
        function.type = lambda _store: kind
        return function(store, *arguments)


class _Type:
    def __init__(self, params, result):
        self.params = params
        self.result = result


def record(**fields):
    """A record whose fields are named with dashes."""
    made = Record()
    for name, value in fields.items():
        setattr(made, name.replace("_", "-"), value)
    return made


def field(value, name):
    return getattr(value, name.replace("_", "-"))


__all__ = ["Profile", "Record", "Variant", "field", "record"]
