"""Collectives of mpi4py on GPU memory: rerouted.py LIBRARY_OF_THE_GPU. Rank r has r + 1."""

import ctypes
import sys

from mpi4py import MPI

COUNT = 1000
gpu = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)  # the fake of NCCL needs it
world = MPI.COMM_WORLD
gpu.fake_gpu_use(world.rank)


class Array:
    """As those of CuPy and Numba, of doubles."""

    def __init__(self, count: int, value: float = 0) -> None:
        data = ctypes.c_void_p()
        gpu.cuMemAlloc_v2(ctypes.byref(data), ctypes.c_size_t(8 * count))
        self.values = (ctypes.c_double * count).from_address(data.value or 0)
        self.values[:] = [value] * count
        self.__cuda_array_interface__ = {
            "version": 3, "shape": (count,), "typestr": "<f8", "data": (data.value, False),
        }  # fmt: skip


def require(array: Array, expected: list[float]) -> None:
    assert [*array.values] == expected, (array.values[0], expected[0])


mine, sums, all_values = Array(COUNT, world.rank + 1), Array(COUNT), Array(COUNT * world.size)
total = world.size * (world.size + 1) / 2
for _ in range(3):
    world.Allreduce(mine, sums)
    require(sums, COUNT * [total])
    world.Allgather(mine, all_values)
    require(all_values, [float(1 + at // COUNT) for at in range(COUNT * world.size)])
    in_place = Array(COUNT, world.rank + 1)
    world.Allreduce(MPI.IN_PLACE, in_place, MPI.MAX)
    require(in_place, COUNT * [world.size])
    world.Bcast(in_place, root=0)
print("good", flush=True)
