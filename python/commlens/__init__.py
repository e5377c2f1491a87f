"""commlens: measures what communication costs, and shows what the hardware can give.

The API is documented in docs/python.md. Each name is imported on first use, so that the command
line starts quickly. Their types are in __init__.pyi.
"""

from pkgutil import resolve_name

__version__ = "0.1.0"

_PLACES = {
    "CommlensError": "commlens.base.errors:CommlensError",
    "Record": "commlens.model:Record",
    "Records": "commlens.api.records:Records",
    "RunError": "commlens.api.running:RunError",
    "history": "commlens.api.history",
    "read": "commlens.api.records:read",
    "run": "commlens.api.running:run",
}
__all__ = ["__version__", *_PLACES]


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module 'commlens' has no attribute '{name}'")
    return resolve_name(_PLACES[name])


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
