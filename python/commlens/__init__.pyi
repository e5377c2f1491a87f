from commlens.api import history
from commlens.api.records import Records, read
from commlens.api.running import RunError, run
from commlens.base.errors import CommlensError
from commlens.model import Record

__all__ = [
    "CommlensError",
    "Record",
    "Records",
    "RunError",
    "__version__",
    "history",
    "read",
    "run",
]

__version__: str
