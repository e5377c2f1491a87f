# A column of `commlens compare`: the samples of both sides, of all launches together.
from commlens.compare.verdicts import Row
from commlens.render.table import Column


def samples(row: Row) -> int:
    sides = (row.case.baseline, row.case.other)
    return sum(len(record.samples.values_s) for records in sides for record in records)


SAMPLES = Column("samples", samples, format="{:,}".format, optional=True, key="samples")
