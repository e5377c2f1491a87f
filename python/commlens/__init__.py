"""commlens: measures what communication costs, and shows what the hardware can give.

docs/python.md says what programs may call. Each name is imported when it is first used: the command
line starts in a tenth of the time that all of them take. Their types are in __init__.pyi.
"""

from importlib import import_module

__version__ = "0.1.0"

_PLACES = {
    "CommlensError": "commlens.base.errors",
    "Record": "commlens.model",
    "Records": "commlens.api.records",
    "RunError": "commlens.api.running",
    "history": "commlens.api.history",  # the module itself
    "read": "commlens.api.records",
    "run": "commlens.api.running",
}
__all__ = ["__version__", *_PLACES]


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module 'commlens' has no attribute '{name}'")
    module = import_module(_PLACES[name])
    return getattr(module, name, module)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
